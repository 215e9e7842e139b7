import { ToolError } from '../contracts/errors.ts'
import type { Touch } from '../contracts/tool.ts'
import { contentHash } from './digest.ts'
import type { WorldPort } from './ports.ts'

/** The state of what a call touches: content hash by path; null is "no such file". */
export type States = Record<string, string | null>

export function statesOf(world: WorldPort, touches: readonly Touch[]): States {
  // No prototype: `__proto__` is a file name like any other.
  const states = Object.create(null) as States
  for (const touch of touches) {
    if (!('path' in touch)) continue
    const content = contentOf(world, touch)
    states[touch.path] = content === undefined ? null : contentHash(content)
  }
  return states
}

/** A folder that is only read has no content of its own. */
function contentOf(world: WorldPort, touch: { path: string; access: 'read' | 'write' }): Buffer | undefined {
  try {
    return world.read(touch.path)
  } catch (fault) {
    if (touch.access === 'read' && fault instanceof ToolError && fault.code === 'E_IO') return undefined
    throw fault
  }
}
