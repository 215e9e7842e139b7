import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { endsOf } from './peer.ts'

/**
 * Whether a connection to a port of this machine comes from this user, or from root, who may do everything anyway. A port on loopback is open to every user
 * of the machine: what asks for no credential there would show another user the person's files. Linux says whose each end is; elsewhere
 * nobody can tell, and everybody is let in.
 */
export function openOwnUser(us = process.geteuid?.()): (socket: Socket) => Promise<boolean> {
  const found = new WeakMap<Socket, Promise<boolean>>()
  /** One reading for all who came before it began. */
  let next: Promise<string> | undefined
  const tables = (): Promise<string> =>
    (next ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      next = undefined
      return Promise.all(['tcp', 'tcp6'].map((kind) => readFile(`/proc/net/${kind}`, 'latin1').catch(() => ''))).then((read) =>
        read.join(''),
      )
    }))
  const look = async (socket: Socket): Promise<boolean> => {
    const ends = endsOf(socket)
    if (us === undefined || process.platform !== 'linux' || ends === undefined) return true
    const table = await tables()
    const owner = ownerIn(table, ends)
    // Where our own end is not told of either, nothing is told here at all.
    if (owner === undefined) return ownerIn(table, ends.split(' ').toReversed().join(' ')) === undefined
    return owner === us || owner === 0
  }
  return (socket) => {
    const known = found.get(socket) ?? look(socket)
    found.set(socket, known)
    return known
  }
}

/** Who has the end of a connection that is written so; an address of the older kind may be held by a socket of the newer one. */
function ownerIn(table: string, ends: string): number | undefined {
  const mapped = ends.replaceAll(/\b([\dA-F]{8}):/g, '0000000000000000FFFF0000$1:')
  for (const one of new Set([ends, mapped])) {
    const at = table.indexOf(`: ${one} `)
    if (at < 0) continue
    // State, queues, timer, retransmits, then the user, a timeout and the file. One that is closed has no file any more, and root's number.
    const [, uid, file] = /^: \S+ \S+ \S+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) /.exec(table.slice(at, at + 300)) ?? []
    if (uid !== undefined && file !== '0') return Number(uid)
  }
  return undefined
}
