import type { Effect } from '../contracts/stage.ts'
import type { Mark } from './marks.ts'
import type { WorldPort } from './ports.ts'
import type { States } from './states.ts'

/** More of them than anybody makes: then it is a yes to the whole project as it is. */
const mostFollowed = 200

/**
 * What stands where links lead that a person is asked about: under such a name it runs as if it stood there, so a yes to the link is one
 * to this. What the same program put there is in the card itself.
 */
export async function behindLinks(
  world: WorldPort,
  effects: readonly Effect[],
  marks: readonly Mark[],
  signal?: AbortSignal,
): Promise<States> {
  const asked = new Set(marks.flatMap(({ path, asks }) => (asks === 'never' ? [] : [path])))
  const made = effects.flatMap(({ path, form, targets }) => {
    const target = form === 'link' && asked.has(path) ? targets?.[1] : undefined
    return target ? [{ path, target }] : []
  })
  if (made.length === 0) return {}
  if (made.length > mostFollowed) return { '': await world.fingerprint('', signal) }
  const { leadsTo } = await world.links(made)
  const found: States = Object.create(null) as States
  for (const { path } of made) {
    const at = leadsTo(path)
    if (at === path) continue
    const state = await stateAt(world, at)
    found[at] = state === 'folder' ? await world.fingerprint(at, signal) : state
  }
  return found
}

/** What may not be looked at is no agent's to change either. */
async function stateAt(world: WorldPort, path: string): Promise<string | null> {
  try {
    return (await world.states([path]))[path] ?? null
  } catch {
    return 'not to be seen'
  }
}
