import type { Effect } from '../contracts/stage.ts'
import type { Mark } from './marks.ts'
import type { WorldPort } from './ports.ts'
import type { States } from './states.ts'

/** More of them than anybody makes: then it is a yes to the whole project as it is. */
const mostFollowed = 200

/** What stands where new links lead. */
export interface BehindLinks {
  states: States
  /** Where each of them ends in the project; those that lead out of it, or are too many, are not there. */
  ends: ReadonlyMap<string, string>
}

/**
 * What stands where links lead that a person is asked about: under such a name it runs as if it stood there, so a yes to the link is one
 * to this. What the same program put there is in the card itself.
 */
export async function behindLinks(
  world: WorldPort,
  effects: readonly Effect[],
  marks: readonly Mark[],
  signal?: AbortSignal,
): Promise<BehindLinks> {
  const asked = new Set(marks.flatMap(({ path, asks }) => (asks === 'never' ? [] : [path])))
  const made = effects.flatMap(({ path, form, targets }) => {
    const target = form === 'link' && asked.has(path) ? targets?.[1] : undefined
    return target ? [{ path, target }] : []
  })
  const ends = new Map<string, string>()
  if (made.length === 0) return { states: {}, ends }
  if (made.length > mostFollowed) return { states: { '': await world.fingerprint('', signal) }, ends }
  const { leadsTo } = await world.links(made)
  const states: States = Object.create(null) as States
  for (const { path } of made) {
    const at = leadsTo(path)
    if (at === path) continue
    ends.set(path, at)
    // A link to the project itself gives all of it another name.
    const state = at === '' ? 'folder' : await stateAt(world, at)
    states[at] = state === 'folder' ? await world.fingerprint(at, signal) : state
  }
  return { states, ends }
}

/** What may not be looked at is no agent's to change either. */
async function stateAt(world: WorldPort, path: string): Promise<string | null> {
  try {
    return (await world.states([path]))[path] ?? null
  } catch {
    return 'not to be seen'
  }
}
