import type { Speaker } from '../../contracts/turn.ts'
import { contentHash } from '../../kernel/digest.ts'
import { holderOf } from '../../text/eviction.ts'
import { Coded } from '../envelope.ts'

/** Which session in the record a caller's words stand for. */
export interface GatewaySessions {
  /** Throws where every name is held by somebody else who is there. */
  of(speaker: Speaker, peer: string): string
}

const bounds = { all: 10_000, one: 1_000 }
/** So many processes are looked at for one that is over; whoever comes next looks at others. */
const looks = 32

/**
 * A session has the name that its callers give it, in three words, which are anybody's to say. So it is held by the process that says them, for as
 * long as that runs: whoever says the same meanwhile has a session of its own. When its process is over the next one goes on with it, as a
 * program that is started anew for each call has to. Those whose process nobody sees cannot be told apart: they follow each other, and
 * nobody who is seen follows them. However many names one makes up, it loses its own by that and nobody else's.
 */
export function openGatewaySessions(isOver: (peer: string) => boolean, most = bounds): GatewaySessions {
  const holders = new Map<string, string>()
  /** The names each holds, the one that was used last at the end. */
  const held = new Map<string, Set<string>>()
  const hides = (peer: string): boolean => holderOf(peer) !== peer
  const follows = (peer: string, holder: string): boolean => (hides(holder) ? hides(peer) : isOver(holder))

  const drop = (name: string): void => {
    const holder = holderOf(holders.get(name) ?? '')
    holders.delete(name)
    const names = held.get(holder)
    names?.delete(name)
    if (names?.size === 0) held.delete(holder)
  }
  const hold = (name: string, peer: string): void => {
    const holder = holderOf(peer)
    holders.set(name, peer)
    held.set(holder, (held.get(holder) ?? new Set()).add(name))
  }
  const dropOldestOf = (names: ReadonlySet<string> | undefined): void => {
    for (const name of names ?? []) return drop(name)
  }
  /** Those that are over go first; whoever is there is looked at again after all others. */
  const sweep = (): void => {
    for (const [holder, names] of [...held].slice(0, looks)) {
      held.delete(holder)
      if (hidden !== holder && isOver(holder)) for (const name of names) holders.delete(name)
      else held.set(holder, names)
    }
  }
  const makeRoom = (holder: string): void => {
    const mine = held.get(holder)
    if ((mine?.size ?? 0) >= most.one) return dropOldestOf(mine)
    if (holders.size < most.all) return
    sweep()
    if (holders.size < most.all) return
    let largest = ''
    for (const [one, { size }] of held) if (size > (held.get(largest)?.size ?? 0)) largest = one
    // Nobody takes a session from a process that is there.
    if (largest !== holder && largest !== hidden) throw everyNameHeld()
    dropOldestOf(held.get(largest))
  }
  return {
    of({ session_id, user_id, channel }, peer) {
      const words = ['gateway', session_id, user_id, channel]
      const name = nameOf(words)
      const holder = holders.get(name)
      if (holder !== undefined && holder !== peer && !follows(peer, holder)) return nameOf([...words, peer])
      if (holder === undefined) makeRoom(holderOf(peer))
      else drop(name)
      hold(name, peer)
      return name
    },
  }
}

const hidden = holderOf('connection 0')

const everyNameHeld = (): Coded =>
  new Coded({
    status: 503,
    code: 'unavailable',
    message: 'Too many sessions are held by other programs. Use one that you began, or try again when some of them have ended.',
  })

const nameOf = (words: readonly string[]): string => `sess_${contentHash(JSON.stringify(words)).slice(0, 16)}`
