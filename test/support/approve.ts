import { Fault } from '../../src/contracts/faults/fault.ts'
import type { Card } from '../../src/contracts/tool.ts'
import { openConnection } from '../../src/host/database.ts'
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

/** The time of a question, or of its yes, is over: not by waiting for it, which on a busy machine may be over before the test has come to its point. */
export function lapseNow({ state }: World, id: string): void {
  const store = openConnection(state('handrail.db'))
  try {
    store.prepare('UPDATE approvals SET expires_at = 1 WHERE id = ?').run(id)
  } finally {
    store.close()
  }
}
