import type { Readable, Writable } from 'node:stream'
import type { Operator } from '../contracts/operator.ts'
import { serveAcp } from '../surfaces/acp/acp.ts'

/** The agent inside an editor: its conversations are the agent's own, and can be taken up again. */
export async function serveAcpFor(operator: Operator, input?: Readable, output?: Writable): Promise<void> {
  const { gate, forms, project } = operator
  const { taker, sessions } = await operator.agent(gate)
  const history = (session: string) =>
    sessions
      .load(session)
      ?.messages.flatMap((one) =>
        (one.role === 'user' || one.role === 'assistant') && 'text' in one && one.text !== ''
          ? [{ role: one.role, text: one.text }]
          : [],
      )
  const usage = (session: string) => {
    const used = sessions.load(session)?.usage
    return used && { used: used.input + used.output, size: operator.config.agent.contextTokens }
  }
  await serveAcp({ gate, forms, project, taker, history, usage }, input, output)
}
