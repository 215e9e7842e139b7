import type { Touch } from '../contracts/tool.ts'
import type { WorldPort } from './ports.ts'

/** The state of what a call touches, in a word by path; null is "nothing there". */
export type States = Record<string, string | null>

export function statesOf(world: WorldPort, touches: readonly Touch[]): States {
  // No prototype: `__proto__` is a file name like any other.
  const states = Object.create(null) as States
  for (const touch of touches) if ('path' in touch) states[touch.path] = world.state(touch.path)
  return states
}
