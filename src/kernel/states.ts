import type { Touch } from '../contracts/tool.ts'
import type { WorldPort } from './ports.ts'

/** The state of what a call touches, as a fingerprint by path; null is "nothing there". */
export type States = Record<string, string | null>

export function statesOf(world: WorldPort, touches: readonly Touch[]): States | Promise<States> {
  return world.states(touches.flatMap((touch) => ('path' in touch ? [touch.path] : [])))
}
