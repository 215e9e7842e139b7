import { randomUUID } from 'node:crypto'
import type { Chats } from '../../contracts/chat.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { Speaker, ToolRequest, Turn, TurnError, TurnEvent, TurnTaker } from '../../contracts/turn.ts'
import { oneLine } from '../../text/printable.ts'
import { redact } from '../../text/redact/redact.ts'
import { Coded } from '../envelope.ts'
import { logFault } from '../log-fault.ts'
import { callInDialect } from '../dialect-call.ts'
import { plainPayload, limitResult, shown, type PayloadLimit } from './payload-limits.ts'
import { dialectFor, rows } from './dialect.ts'
import type { ClientAnswer } from './request.ts'
import { largeBytes, type AnswerSlot } from './answer-slots.ts'
import type { GatewaySessions } from './sessions.ts'

/** What turns are made with. It serves agents: a gate, the history, and the one thing about forms that decides nothing. */
export interface TurnContext {
  gate: AgentGate
  sessions: GatewaySessions
  chats: Pick<Chats, 'add'>
  forms: Pick<ClientForms, 'question' | 'wavedAway'>
  /** Who answers where no tool is named. Without, or where it has no model: nobody, and that is said. */
  agent?: TurnTaker
  hasModel?: () => boolean
}

export interface Turns {
  /** Throws, before anything is told, where the turn cannot begin. */
  mayBegin(turn: Turn & { answer?: ClientAnswer }): void
  /** Tells what happens, to its end; what was said is kept. */
  take(
    turn: Turn & { answer?: ClientAnswer },
    peer: string,
    tell: (event: TurnEvent) => void,
    signal: AbortSignal,
    slot?: TurnLimits,
  ): Promise<void>
}

/** How much the answer may carry, and its place among those that carry much. */
export type TurnLimits = Pick<AnswerSlot, 'hold' | 'release'> & { payload: PayloadLimit }

const noLimits: TurnLimits = { payload: plainPayload, hold: () => Promise.resolve(), release: () => undefined }

const mostKnown = 1_000

export function openTurns({ gate, sessions, chats, forms, agent, hasModel = () => true }: TurnContext): Turns {
  /** Sessions that were opened here already. */
  const known = new Set<string>()
  const callerOf = (speaker: Speaker, peer: string): AgentCaller => {
    const session = sessions.of(speaker, peer)
    const client = oneLine(`${speaker.user_id}@${speaker.channel}`, 120)
    if (!known.has(session)) {
      gate.openSession({ id: session, surface: 'gateway', client })
      if (known.size >= mostKnown) known.clear()
      known.add(session)
    }
    return { surface: 'gateway', client, session, peer, role: 'agent' }
  }

  return {
    mayBegin({ tool, answer }) {
      if (tool && !Object.hasOwn(rows, tool.name)) throw unknownTool(tool.name)
      if (!tool && !answer && !(agent && hasModel())) throw nobodyAnswers()
    },
    async take(turn, peer, tell, signal, slot = noLimits) {
      const { speaker, messages, tool, answer } = turn
      let reply: { text: string; metadata?: Record<string, unknown> } = { text: '' }
      const heard = (event: TurnEvent): void => {
        if (event.type === 'completed') reply = { ...reply, text: event.reply }
        if (event.type === 'tool_result') reply = { text: '', metadata: { tool: event.name, ok: event.result.ok } }
        if (event.type === 'failed')
          reply = { text: event.error.message, metadata: { ...(tool && { tool: tool.name }), error: event.error.code } }
        tell(event)
      }
      try {
        const caller = callerOf(speaker, peer)
        if (answer) note(forms, caller, answer, heard)
        else if (tool) await useTool(gate, caller, tool, heard, signal, slot)
        else if (agent) await agent.take({ ...turn, caller }, heard, signal)
        else throw nobodyAnswers()
      } catch (thrown) {
        if (!(thrown instanceof Coded)) logFault('handrail: gateway:', thrown)
        heard({ type: 'failed', step: 1, error: thrown instanceof Coded ? thrown.error : unexpected })
      }
      // Both halves at once: however a turn ends, what was asked stands there with what came of it.
      chats.add(speaker, [
        ...(messages.length > 0 ? messages : [{ role: 'user', type: 'message', text: tool ? `(${tool.name})` : '' }]),
        { role: 'assistant', type: 'message', ...reply },
      ])
    },
  }
}

/** One step: the tool is called as it was named, and no model has a say. */
async function useTool(
  gate: AgentGate,
  caller: AgentCaller,
  tool: ToolRequest,
  tell: (event: TurnEvent) => void,
  signal: AbortSignal,
  { payload, hold, release }: TurnLimits,
): Promise<void> {
  const { name } = tool
  const input = shown(tool.input)
  const step = 1
  const id = `call_${randomUUID()}`
  tell({ type: 'step', step })
  tell({ type: 'tool_call', step, id, name, input })
  const asked = name === 'read_file' ? { name, input: readWithin(tool.input, payload) } : tool
  // Before anything is read: what waits for a place must not wait in memory.
  if (Number(asked.input['max_bytes']) >= largeBytes) await hold()
  const outcome = await callInDialect(dialectFor(tool), gate, asked, caller, {
    signal,
    // What it answers is kept with the chat, which whoever has the token can read.
    sharesAnswer: true,
    answerBy: Date.now() + gate.waits.answerWithinMs,
    onApproval: (approval) => {
      // A person may take long.
      release()
      tell({ type: 'approval', step, id, name, input, approval })
    },
  })
  if ('error' in outcome) return tell({ type: 'failed', step, error: outcome.error })
  const result = limitResult(outcome.result, payload)
  tell({ type: 'tool_result', step, id, name, result })
  // As the contract's own gateway has it: a result without words is told whole.
  const reply = result.text === '' ? JSON.stringify(result) : result.text
  tell({ type: 'delta', step, delta: reply })
  tell({ type: 'completed', step, reply })
}

/** No more is read than can be told. */
function readWithin(input: ToolRequest['input'], { most }: PayloadLimit): ToolRequest['input'] {
  const { max_bytes: wanted } = input
  return Number.isInteger(wanted) && (wanted as number) > most ? { ...input, max_bytes: most } : input
}

/** Whoever has the agent's token can say it: it is recorded as the client's, and the question stands. */
function note(
  forms: TurnContext['forms'],
  caller: AgentCaller,
  { approval, approve, reason }: ClientAnswer,
  tell: (event: TurnEvent) => void,
): void {
  tell({ type: 'step', step: 1 })
  const asked = forms.question(approval, caller.session)
  if (!asked)
    return tell({
      type: 'failed',
      step: 1,
      error: { status: 404, code: 'not_found', message: 'This session has asked no such question.' },
    })
  const said = reason === undefined ? '' : `: ${oneLine(redact(reason), 200)}`
  forms.wavedAway(approval, caller, `the client of the agent says ${approve ? 'approve' : 'deny'}${said}`)
  const reply = `Your answer was written down, and decides nothing: it came with the token that agents have. ${
    asked.state === 'pending' ? 'The question stands' : `The question is ${asked.state}`
  }; a person answers it with \`handrail approvals show ${approval}\`, on the approvals page, or with their key at /api/approvals/${approval}. Then make the same call again.`
  tell({ type: 'delta', step: 1, delta: reply })
  tell({ type: 'completed', step: 1, reply })
}

const unexpected: TurnError = {
  status: 500,
  code: 'tool_error',
  message: 'Handrail met an unexpected fault. Nothing is known to be half done.',
}

const unknownTool = (name: string): Coded =>
  new Coded({
    status: 404,
    code: 'tool_not_found',
    message: `No such tool: ${name.slice(0, 100)}`,
    details: { tools: Object.keys(rows) },
  })

const nobodyAnswers = (): Coded =>
  new Coded({
    status: 400,
    code: 'provider_not_configured',
    message: 'No model is configured here, so nobody can answer. Name a tool in biz_params.tool.',
    details: { tools: Object.keys(rows) },
  })
