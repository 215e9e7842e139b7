import type { Touch } from '../contracts/tool.ts'
import type { WorldPort } from './ports.ts'

/** The state of what a call touches, as a fingerprint by path; null is "nothing there". */
export type States = Record<string, string | null>

export function statesOf(world: WorldPort, touches: readonly Touch[]): States | Promise<States> {
  const paths: string[] = []
  for (const touch of touches) if ('path' in touch) paths.push(touch.path)
  return world.states(paths)
}
