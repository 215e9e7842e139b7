import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentCaller } from '../../contracts/gate.ts'
import type { Turn, TurnEvent, TurnTaker } from '../../contracts/turn.ts'
import { askInClient } from './permission.ts'
import { methods, type AgentContext, type SessionUpdate } from './sdk.ts'
import { openTelling } from './telling.ts'

/** What the agent is asked to do with a prompt. */
export const modes = {
  auto: 'Decide by itself whether to answer, plan or act',
  answer: 'Answer, and touch nothing',
  plan: 'Look, and end in a plan',
  act: 'Do it',
} as const
export type Mode = keyof typeof modes

export interface SessionParts {
  sessionId: string
  caller: AgentCaller
  project: string
  taker: TurnTaker
  forms: ClientForms
}

/** One conversation: one turn at a time, which the client can cancel at any moment. */
export class AcpSession {
  mode: Mode = 'auto'
  private readonly parts: SessionParts
  private running: AbortController | undefined

  constructor(parts: SessionParts) {
    this.parts = parts
  }

  get busy(): boolean {
    return this.running !== undefined
  }

  cancel(): void {
    this.running?.abort()
  }

  async prompt(client: Pick<AgentContext, 'request' | 'notify'>, text: string, mode: Mode): Promise<'end_turn' | 'cancelled'> {
    const { sessionId, caller, taker } = this.parts
    const running = (this.running = new AbortController())
    /** In order, and all of it out before the turn is said to have ended. */
    let sending: Promise<unknown> = Promise.resolve()
    const asking = new Set<Promise<void>>()
    const update = (one: SessionUpdate): void => {
      sending = sending
        .then(() => client.notify(methods.client.session.update, { sessionId, update: one }))
        .catch(() => undefined)
    }
    const told = openTelling(this.parts.project, update)
    const tell = (event: TurnEvent): void => {
      told(event)
      if (event.type !== 'approval' || running.signal.aborted) return
      const { id, name, input, approval } = event
      const ask = async (): Promise<void> => {
        await sending
        const question = { sessionId, id, name, input, approval }
        await askInClient(client, this.parts.forms, caller, this.parts.project, question, running.signal)
      }
      const one = ask()
        .catch(() => undefined)
        .finally(() => asking.delete(one))
      asking.add(one)
    }
    const turn: Turn & { caller: AgentCaller; mode?: Exclude<Mode, 'auto'> } = {
      speaker: { session_id: sessionId, user_id: caller.client, channel: 'acp' },
      messages: [{ role: 'user', type: 'message', text }],
      caller,
      ...(mode !== 'auto' && { mode }),
    }
    try {
      await taker.take(turn, tell, running.signal)
      return running.signal.aborted ? 'cancelled' : 'end_turn'
    } catch (fault) {
      if (running.signal.aborted) return 'cancelled'
      throw fault
    } finally {
      this.running = undefined
      // What is still asked here is asked in vain.
      running.abort()
      await Promise.all(asking)
      await sending
    }
  }
}
