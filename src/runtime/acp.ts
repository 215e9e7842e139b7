import type { Operator } from '../contracts/operator.ts'
import type { TurnTaker } from '../contracts/turn.ts'
import { serveAcp } from '../surfaces/acp/acp.ts'

/** What the runtime has of an agent, where it has one. */
type WithAgent = Operator & { agent?: (gate: Operator['gate']) => Promise<{ taker: TurnTaker }> }

/** The agent inside an editor. */
export async function serveAcpFor(operator: WithAgent): Promise<void> {
  const { gate, forms, project } = operator
  const taker = (await operator.agent?.(gate))?.taker ?? nobody
  await serveAcp({ gate, forms, project, taker })
}

const nobody: TurnTaker = {
  async take(_, tell) {
    const error = { status: 400, code: 'provider_not_configured', message: 'No model is configured here, so nobody can answer.' }
    tell({ type: 'failed', step: 1, error })
  },
}
