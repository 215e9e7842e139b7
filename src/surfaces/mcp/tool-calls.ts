import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { CallOptions } from '../../contracts/call.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import { actIn, namesIn } from '../../contracts/dialect.ts'
import { asFault, Fault, wordsWith } from '../../contracts/faults/fault.ts'
import type { Approval } from '../../contracts/approval.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { Attachment } from '../../contracts/tool.ts'
import { digest } from '../../kernel/digest.ts'
import { holderOf } from '../../text/giving-way.ts'
import { logFault } from '../log-fault.ts'
import {
  askApproval,
  askQuestion,
  askWhy,
  decisionIn,
  longestQuestion,
  wordsOf,
  type ElicitationAnswer,
  type Elicitation,
  type ElicitationSupport,
} from './elicitation.ts'
import { mcp } from './dialect.ts'
import type { Progress } from './progress.ts'

/** Where a connection's calls come from. The session is opened with its first call. */
export interface Connection {
  surface: AgentCaller['surface']
  session: (client: string) => string
  /** The process that calls, where it is known: it has one share of what there is, however many sessions it opens. */
  peer?: string
  /** Where a person can answer in a browser, if such a page is served. */
  page?: () => string | undefined
}

/** One `tools/call`, as it came in. */
export interface ToolCall {
  name: string
  input: unknown
  client: { name?: string; version?: string } | undefined
  elicitation: ElicitationSupport
  signal: AbortSignal
  /** Absent where the client did not ask for it. */
  progress?: Progress | undefined
  /** When the client must have its answer, by this machine's clock; run time and waiting count together. */
  answerBy?: number | undefined
  /** Present when this is the same call again, with what came back from a form. */
  answered?: ElicitationAnswer | undefined
}

/** Either the answer, or a question to the person that comes first. */
export type Reply = { result: Record<string, unknown> } | { question: Elicitation }

export interface ToolCallHandler {
  reply(call: ToolCall): Promise<Reply>
  /** Takes what came back from a form; gives the form that comes next, where a no is to be explained. */
  settle(answered: ElicitationAnswer, client: ToolCall['client']): Elicitation | undefined
  /** Approvals whose forms stayed open after their call was answered: the person may still be reading. */
  readonly reading: Set<string>
}

/** A question nobody answered may be put once more; one that was waved away is not. */
const mostAsked = 2
const mostRemembered = 10_000

/** Answers calls: translates, and carries questions to the person. Checking, deciding and recording are the kernel's. */
export function createToolCallHandler(
  { gate, forms }: { gate: AgentGate; forms: ClientForms },
  connection: Connection,
  open: (client: ToolCall['client']) => AgentCaller,
): ToolCallHandler {
  const outstanding = new Set<string>()
  const asked = new Map<string, number>()
  const reading = new Set<string>()

  const put = (question: Elicitation): Reply => {
    remember(outstanding, question.state.nonce)
    return { question }
  }

  /** What may be shown at this client for an approval. */
  const reachFor = (given: ElicitationSupport, risk?: Approval['risk']): ElicitationSupport => {
    const { form, url } = forms.reach(connection.surface, risk)
    return { form: given.form && form, url: given.url && url && connection.page?.() !== undefined }
  }

  const settle: ToolCallHandler['settle'] = ({ state, action, content }, info) => {
    const caller = open(info)
    const approval = state.approval === undefined ? undefined : forms.question(state.approval, caller.session)
    if (approval?.state !== 'pending') return undefined
    const filled = state.mode === 'form' && action === 'accept'
    const decision = state.why ? 'decline' : filled ? decisionIn(content) : undefined
    if (decision === undefined) {
      // Nobody answered, or a page was opened.
      if (action === 'none' || (state.mode === 'url' && action === 'accept')) return undefined
      // Clients decline and cancel by themselves within milliseconds: that is theirs, and the question stays open.
      asked.set(approval.id, mostAsked)
      forms.wavedAway(approval.id, caller, action === 'accept' ? 'not filled in as asked' : action)
      return undefined
    }
    if (decision === 'ask why')
      return reachFor({ form: true, url: false }, approval.risk).form ? askWhy(approval, state.about) : undefined
    const note = wordsOf({ state, action, content }, 'why')
    forms.answer(approval.id, caller, { approve: decision === 'approve', ...(note !== undefined && { note }) })
    return undefined
  }

  /** The form or link for an approval that waits, unless it was put often enough. */
  const questionFor = (
    approval: Approval | undefined,
    about: () => string,
    given: ElicitationSupport,
  ): Elicitation | undefined => {
    const times = asked.get(approval?.id ?? '') ?? 0
    if (approval?.state !== 'pending' || times >= mostAsked) return undefined
    const question = askApproval(approval, about(), reachFor(given, approval.risk), connection.page?.())
    if (question) asked.set(approval.id, times + 1)
    if (asked.size > mostRemembered) asked.delete(asked.keys().next().value as string)
    return question
  }

  const reply = async (call: ToolCall): Promise<Reply> => {
    const { name, input, elicitation: given, signal, progress, answered } = call
    const caller = open(call.client)
    const about = (): string => digest(caller.session, name, input)
    if (answered && (answered.state.about !== about() || !outstanding.delete(answered.state.nonce))) throw invalidState()
    const attachments: Attachment[] = []
    let rest: (() => void) | undefined
    const answer = wordsOf(answered, 'answer')
    const perform = async (waits: boolean): Promise<Reply> => {
      const options: CallOptions = {
        signal,
        onAttachment: (attachment) => void attachments.push(attachment),
        answerBy: call.answerBy ?? Date.now() + gate.waits.answerWithinMs,
        ...(progress && { onProgress: progress.step }),
        ...(waits ? { onApproval: () => void (rest ??= progress?.wait(waitingForPerson)) } : { approvalWaitMs: 0 }),
        ...(answer !== undefined && { answer }),
      }
      const act = actIn(mcp, name, input)
      const { output, callId } = await gate.call(act.tool, act.input, caller, options)
      return { result: mcp.answer(act.result(output), { callId, attachments }) }
    }
    const tool = gate.tools.find((one) => one.name === name)
    const { form, url } = reachFor(given)
    try {
      const mayAsk = tool?.asks && given.form && !answered && gate.accepts(name, input)
      const question = mayAsk ? tool.asks?.(input) : undefined
      // A question nobody would read is not put; the tool says why.
      if (question !== undefined && question.length <= longestQuestion) return put(askQuestion(question, about(), caller.client))
      const next = answered && settle(answered, call.client)
      if (next) return put(next)
      const opened = answered?.state.mode === 'url' && answered.action === 'accept'
      return await perform(opened || !(form || url || answered))
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown
      let fault = asFault(thrown)
      if (fault.reason === 'unknown-tool') throw unknownTool(name)
      const id = fault.reason === 'needs-approval' ? fault.details?.['approvalId'] : undefined
      const approval = typeof id === 'string' ? forms.question(id, caller.session) : undefined
      if (approval && reading.has(approval.id) && !answered && approval.state === 'pending') {
        // The form for it is still open: one question is one form, so this call waits for that one.
        try {
          return await perform(true)
        } catch (again) {
          fault = asFault(again)
        }
      } else if (!answered) {
        const question = questionFor(approval, about, given)
        if (question) return put(question)
      }
      if (fault.reason === 'internal') logFault('handrail:', fault.cause ?? fault)
      const closed = answered?.state.approval !== undefined && approval?.state === 'pending' && answered.action !== 'none'
      return { result: mcp.failure(closed ? unansweredForm(fault) : fault, namesIn(mcp)) }
    } finally {
      rest?.()
    }
  }
  return { reply, settle, reading }
}

export const waitingForPerson = "waiting for a person's answer"

/** A form that was closed is no answer, and a model must not take it for one. */
function unansweredForm(fault: Fault): Fault {
  return new Fault(fault.reason, fault.message, {
    details: { ...fault.details, form: 'closed without an answer' },
    hint: (name) =>
      `The form was closed without an answer, by the client itself or by the person: that is neither a yes nor a no. Tell the person. ${wordsWith(fault.hint ?? '', name)}`,
  })
}

/** Who calls, in a session that is opened with the first call. */
export function openCaller(gate: AgentGate, connection: Connection): (client: ToolCall['client']) => AgentCaller {
  const opened = new Set<string>()
  return (info) => {
    const client = `${info?.name ?? 'unknown'}/${info?.version ?? '?'}`.slice(0, 120)
    const session = connection.session(client)
    if (!opened.has(session)) {
      gate.openSession({ id: session, surface: connection.surface, client })
      remember(opened, session)
    }
    const { surface, peer } = connection
    return { surface, client, session, role: 'agent', ...(peer !== undefined && { peer: holderOf(peer) }) }
  }
}

/** In the words of the SDK, which checks the seal before we get to see it. */
export function invalidState(): ProtocolError {
  const reason = 'invalid_request_state'
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', { reason })
}

function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`)
}

function remember(set: Set<string>, value: string): void {
  set.add(value)
  if (set.size > mostRemembered) set.delete(set.values().next().value as string)
}
