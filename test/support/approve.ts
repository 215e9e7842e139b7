import { Fault } from '../../src/contracts/faults/fault.ts'
import type { Card } from '../../src/contracts/tool.ts'
import type { World } from './world.ts'

/** The answer of a call that a person agrees to as often as they are asked, and the cards they saw. */
export async function agreed<T = Record<string, unknown>>(
  world: World,
  tool: string,
  input: unknown,
): Promise<{ answer: T; cards: Card[] }> {
  const cards: Card[] = []
  for (;;) {
    try {
      return { answer: await world.call<T>(tool, input, { approvalWaitMs: 0 }), cards }
    } catch (fault) {
      const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
      if (typeof id !== 'string' || cards.length > 3) throw fault
      const asked = world.runtime.approvals.get(id)
      if (asked?.state !== 'pending') throw fault
      cards.push(asked.card)
      world.runtime.approvals.decide(id, { approve: true, by: 'the person', unread: true })
    }
  }
}
