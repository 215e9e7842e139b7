import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { CallOptions } from '../../contracts/call.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import { actIn, namesIn } from '../../contracts/dialect.ts'
import { asFault, Fault, wordsWith } from '../../contracts/faults/fault.ts'
import type { Approval } from '../../contracts/approval.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { Asked, Attachment } from '../../contracts/tool.ts'
import { digest } from '../../kernel/digest.ts'
import { onAbort } from '../../text/aborts.ts'
import { holderOf } from '../../text/eviction.ts'
import { idOfWire, isMountedId } from '../../text/mount-names.ts'
import { logFault } from '../log-fault.ts'
import {
  askApproval,
  askQuestion,
  askWhy,
  chosenIn,
  decisionIn,
  longestQuestion,
  wordsOf,
  type ElicitationAnswer,
  type Elicitation,
  type ElicitationSupport,
} from './elicitation.ts'
import { failureOf, mcp, toMountedResult } from './dialect.ts'
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
  traceparent?: string | undefined
  /** When the client must have its answer, by this machine's clock; run time and waiting count together. */
  answerBy?: number | undefined
  /** Present when this is the same call again, with what came back from a form. */
  answered?: ElicitationAnswer | undefined
  /** Puts a form to the person while the call waits; absent where the client is answered first, and makes the call again. */
  openForm?: ((question: Elicitation) => Form) | undefined
}

/** A form at the client. */
export interface Form {
  said: Promise<Pick<ElicitationAnswer, 'action' | 'content'>>
  close(): void
}

/** Either the answer, or a question to the person that comes first. */
export type Reply = { result: Record<string, unknown> } | { question: Elicitation }

export interface ToolCallHandler {
  reply(call: ToolCall): Promise<Reply>
}

/** A question nobody answered may be put once more; one that was waved away is not. */
const mostAsked = 2
const mostRemembered = 10_000
/** Forms that stay open after their calls were answered, for one client. */
const mostReading = 16
/** Before a call must be answered, a no is taken without its words. */
const withoutWordsMs = 250

/** Answers calls: translates, and carries questions to the person. Checking, deciding and recording are the kernel's. */
export function createToolCallHandler(
  { gate, forms }: { gate: AgentGate; forms: ClientForms },
  connection: Connection,
  open: (client: ToolCall['client']) => AgentCaller,
): ToolCallHandler {
  const outstanding = new Set<string>()
  const asked = new Map<string, number>()
  /** Approvals whose forms stayed open after their call was answered: the person may still be reading. */
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

  /** Takes what came back from a form; gives the form that comes next, where a no is to be explained. */
  const settle = ({ state, action, content }: ElicitationAnswer, info: ToolCall['client']): Elicitation | undefined => {
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

  /**
   * Asks at the client while the call waits, one form after the other. A decision wakes the call by itself; where none is made, nobody
   * waits any longer. A form that is open when the call has been answered stays open: a late answer counts.
   */
  const converse = (
    call: ToolCall,
    first: Elicitation,
    openForm: (question: Elicitation) => Form,
    until: number,
  ): Conversation => {
    const conversation: Conversation = { wavedAway: false, over: new AbortController(), leave: () => undefined }
    const id = first.state.approval as string
    const isPending = (one: string): boolean => forms.question(one, open(call.client).session)?.state === 'pending'
    let shown: Form | undefined
    const talk = async (): Promise<void> => {
      let next: Elicitation | undefined = first
      while (next) {
        const { state }: Elicitation = next
        shown = openForm(next)
        const stopListening = onAbort(call.signal, () => shown?.close())
        // The no is said: only its words are waited for.
        const late = state.why && setTimeout(() => shown?.close(), Math.max(1, until - Date.now() - withoutWordsMs)).unref()
        const said = await shown.said
        if (late) clearTimeout(late)
        stopListening()
        next = settle({ state, ...said }, call.client)
        const isElsewhere = state.mode === 'url' && said.action === 'accept'
        if (next || isElsewhere) continue
        conversation.wavedAway = said.action !== 'none'
        if (isPending(id)) conversation.over.abort()
      }
    }
    const talking = talk()
      .catch((fault: unknown) => {
        logFault('handrail: mcp: an answer could not be kept:', fault)
        conversation.over.abort()
      })
      .finally(() => (shown = undefined))
    conversation.leave = () => {
      if (!shown) return
      // Taken back before the call is answered: there may be no way to say so later.
      const isOver = call.signal.aborted || !isPending(id)
      if (isOver || reading.size >= mostReading) return shown.close()
      reading.add(id)
      void talking.finally(() => reading.delete(id))
    }
    return conversation
  }

  const toolNamed = (name: string) => gate.tools.find((one) => one.name === name)
  /** The kernel's name for what a client names. A tool of a mounted server is there where it is offered onwards, under its name on the wire. */
  const kernelName = (name: string): string => {
    const mounted = idOfWire(name)
    if (mounted !== undefined && gate.wraps && toolNamed(mounted)) return mounted
    if (isMountedId(name)) throw unknownTool(name)
    return name
  }

  /** What a call asks in words. A question nobody would read is not put; the tool says why. */
  const askedBy = (name: string, input: unknown): Asked | undefined => {
    const tool = toolNamed(name)
    const asked = tool?.asks && gate.accepts(name, input) ? tool.asks(input) : undefined
    return asked && asked.text.length <= longestQuestion ? asked : undefined
  }

  /** The form of a question in words, or what it brought; neither where the person has answered it in another place. */
  const formFor = (
    asked: Asked,
    answered: ElicitationAnswer | undefined,
    about: () => string,
    caller: AgentCaller,
  ): { question: Elicitation } | { answer?: string } => {
    const chosen = chosenIn(answered, asked.options)
    if (answered && chosen !== 'own') {
      const answer = chosen?.option ?? wordsOf(answered, 'answer')
      return answer === undefined ? {} : { answer }
    }
    const { id, answer } = forms.words.put(asked, caller)
    if (answer !== undefined) return {}
    return { question: askQuestion(chosen === 'own' ? { ...asked, options: [] } : asked, id, about(), caller.client) }
  }

  const reply = async (call: ToolCall): Promise<Reply> => {
    const { input, elicitation: given, signal, progress, answered } = call
    const name = kernelName(call.name)
    const caller = open(call.client)
    const about = (): string => digest(caller.session, name, input)
    if (answered && (answered.state.about !== about() || !outstanding.delete(answered.state.nonce))) throw invalidState()
    const attachments: Attachment[] = []
    const opened = answered?.state.mode === 'url' && answered.action === 'accept'
    const answerBy = call.answerBy ?? Date.now() + gate.waits.answerWithinMs
    let rest: (() => void) | undefined
    let question: Elicitation | undefined
    let conversation: Conversation | undefined
    /** A person is needed, and the kernel waits: they are asked at the client, or nobody waits, or it is left to the other places. */
    const onApproval = (id: string): AbortSignal | undefined => {
      rest ??= progress?.wait(waitingForPerson)
      const { form, url } = reachFor(given)
      // One question is one form.
      if (opened || !(form || url || answered) || (reading.has(id) && !answered)) return undefined
      question =
        answered?.state.approval === undefined ? questionFor(forms.question(id, caller.session), about, given) : undefined
      if (!question || !call.openForm) return AbortSignal.abort()
      const until = Math.min(answerBy, Date.now() + gate.waits.approvalWaitMs)
      conversation = converse(call, question, call.openForm, until)
      return conversation.over.signal
    }
    try {
      const asked = given.form ? askedBy(name, input) : undefined
      const form = asked && formFor(asked, answered, about, caller)
      if (form && 'question' in form) return put(form.question)
      const next = answered && settle(answered, call.client)
      if (next) return put(next)
      const options: CallOptions = {
        signal,
        onAttachment: (attachment) => void attachments.push(attachment),
        answerBy,
        onApproval,
        ...(progress && { onProgress: progress.step }),
        traceparent: call.traceparent,
        ...(form?.answer !== undefined && { answer: form.answer }),
      }
      const act = actIn(mcp, name, input)
      const { output, callId } = await gate.call(act.tool, act.input, caller, options)
      if (isMountedId(name)) return { result: toMountedResult(output, callId, attachments) }
      return { result: mcp.answer(act.result(output), { callId, attachments }) }
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown
      const fault = asFault(thrown)
      if (fault.reason === 'unknown-tool') throw unknownTool(name)
      const id = fault.reason === 'needs-approval' ? fault.details?.['approvalId'] : undefined
      const isPending = typeof id === 'string' && forms.question(id, caller.session)?.state === 'pending'
      if (isPending && question?.state.approval === id && !call.openForm) return put(question as Elicitation)
      if (fault.reason === 'internal') logFault('handrail:', fault.cause ?? fault)
      const wavedAway = conversation?.wavedAway || (answered?.state.approval !== undefined && answered.action !== 'none')
      return { result: failureOf(toolNamed(name), isPending && wavedAway ? unansweredForm(fault) : fault, namesIn(mcp)) }
    } finally {
      rest?.()
      conversation?.leave()
    }
  }
  return { reply }
}

/** A person is being asked at the client. */
interface Conversation {
  /** The last form was closed without an answer. */
  wavedAway: boolean
  /** Aborted when nobody answers there any more. */
  over: AbortController
  /** The call has been answered. */
  leave(): void
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
