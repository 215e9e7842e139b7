import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { CallOptions, Caller } from '../../contracts/call.ts'
import { asToolError, type ToolError } from '../../contracts/errors.ts'
import type { Runtime } from '../../contracts/runtime.ts'
import type { Attachment } from '../../contracts/tool.ts'
import { digest } from '../../kernel/digest.ts'
import {
  askApproval,
  askQuestion,
  longestNote,
  longestQuestion,
  wordsOf,
  type Answered,
  type Question,
  type Reach,
} from './asking.ts'
import { toErrorResult, toResult } from './dialect.ts'

/** Where a connection's calls come from. The session is opened with its first call. */
export interface Visit {
  surface: Caller['surface']
  session: (client: string) => string
  /** Where a person can answer in a browser, if such a page is served. */
  page?: () => string | undefined
}

/** One `tools/call`, as it came in. */
export interface ToolCall {
  name: string
  input: unknown
  client: { name?: string; version?: string } | undefined
  reach: Reach
  signal: AbortSignal
  /** Sends one step of progress; absent where the client did not ask for it. */
  progress?: ((params: Record<string, unknown>) => void) | undefined
  /** Present when this is the same call again, with what the person said. */
  answered?: Answered | undefined
}

/** Either the answer, or a question to the person that comes first. A call that brings an answer never asks again. */
export type Reply = { result: Record<string, unknown> } | { question: Question }
export type Answerer = (call: ToolCall) => Promise<Reply>

/** A question nobody answered may be put once more; one that was waved away is not. */
const mostAsked = 2
const mostRemembered = 10_000

/** Answers calls: translates, and carries questions to the person. Checking, deciding and recording are the kernel's. */
export function createAnswerer(runtime: Runtime, visit: Visit, open: (client: ToolCall['client']) => Caller): Answerer {
  const outstanding = new Set<string>()
  const asked = new Map<string, number>()

  const put = (question: Question): Reply => {
    remember(outstanding, question.state.nonce)
    return { question }
  }

  /** Carries the person's answer to where decisions are kept. What is not exactly what the form asked for decides nothing. */
  const settle = ({ state, action, content }: Answered, client: string): void => {
    const id = state.approval
    if (id === undefined || action === 'none' || (state.mode === 'url' && action === 'accept')) return
    const decision = action === 'accept' ? decisionIn(content) : action
    if (decision !== 'approve' && decision !== 'decline') return void asked.set(id, mostAsked)
    // Whoever switched the asking off does not want it answered either.
    if (!runtime.config.policies.askInEditor || runtime.approvals.get(id)?.state !== 'pending') return
    const note = wordsOf({ state, action, content }, 'note')
    runtime.approvals.decide(id, { approve: decision === 'approve', by: `person@${client}`, ...(note !== undefined && { note }) })
  }

  /** The form or link for an approval that waits, unless it was put often enough. */
  const questionFor = (fault: ToolError, about: () => string, reach: Reach): Question | undefined => {
    const id = fault.code === 'E_POLICY_VIOLATION' ? fault.details?.['approvalId'] : undefined
    const approval = typeof id === 'string' ? runtime.approvals.get(id) : undefined
    const times = asked.get(approval?.id ?? '') ?? 0
    if (approval?.state !== 'pending' || times >= mostAsked) return undefined
    const question = askApproval(approval, about(), reach, visit.page?.())
    if (question) asked.set(approval.id, times + 1)
    if (asked.size > mostRemembered) asked.delete(asked.keys().next().value as string)
    return question
  }

  return async ({ name, input, client: info, reach: given, signal, progress, answered }) => {
    const caller = open(info)
    const reach = runtime.config.policies.askInEditor ? given : { form: false, url: false }
    const about = (): string => digest(caller.session, name, input)
    if (answered && (answered.state.about !== about() || !outstanding.delete(answered.state.nonce)))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      })
    const attachments: Attachment[] = []
    const options: CallOptions = {
      signal,
      onAttachment: (attachment) => void attachments.push(attachment),
      ...(progress && { onProgress: rising(progress) }),
    }
    const tool = runtime.tools.find((one) => one.name === name)
    const canAsk = reach.form || (reach.url && visit.page?.() !== undefined)
    try {
      const mayAsk = tool?.asks && given.form && !answered && runtime.accepts(name, input)
      const question = mayAsk ? tool.asks?.(input) : undefined
      // A question nobody would read is not put; the tool says why.
      if (question !== undefined && question.length <= longestQuestion) return put(askQuestion(question, about()))
      if (answered) settle(answered, caller.client)
      const answer = wordsOf(answered, 'answer')
      const watching = answered?.state.mode === 'url' && answered.action === 'accept'
      const { output, callId } = await runtime.call(name, input, caller, {
        ...options,
        ...((canAsk || answered) && !watching && { approvalWaitMs: 0 }),
        ...(answer !== undefined && { answer }),
      })
      return { result: toResult(output, callId, attachments) }
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown
      const fault = asToolError(thrown)
      if (fault.code === 'E_UNSUPPORTED' && !tool) throw unknownTool(name)
      const question = answered ? undefined : questionFor(fault, about, reach)
      if (question) return put(question)
      if (fault.code === 'E_INTERNAL') console.error('handrail:', fault.cause ?? fault)
      return { result: toErrorResult(fault) }
    }
  }
}

/** Who calls, in a session that is opened with the first call. */
export function openCaller(runtime: Runtime, visit: Visit): (client: ToolCall['client']) => Caller {
  const opened = new Set<string>()
  return (info) => {
    const client = `${info?.name ?? 'unknown'}/${info?.version ?? '?'}`.slice(0, 120)
    const session = visit.session(client)
    if (!opened.has(session)) {
      runtime.openSession({ id: session, surface: visit.surface, client })
      remember(opened, session)
    }
    return { surface: visit.surface, client, session, role: 'agent' }
  }
}

function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`)
}

/** The decision in a form that was filled in as it was asked for, and in no other. */
function decisionIn(content: Record<string, unknown> | undefined): unknown {
  const { decision, note = '', ...more } = content ?? {}
  return Object.keys(more).length === 0 && typeof note === 'string' && note.length <= longestNote ? decision : undefined
}

function remember(set: Set<string>, value: string): void {
  set.add(value)
  if (set.size > mostRemembered) set.delete(set.values().next().value as string)
}

/** Progress never goes back. */
function rising(
  send: (params: Record<string, unknown>) => void,
): (done: number, total: number | undefined, message: string | undefined) => void {
  let last = -1
  return (done, total, message) => {
    if (done <= last) return
    last = done
    send({ progress: done, ...(total !== undefined && { total }), ...(message !== undefined && { message }) })
  }
}
