import { onAbort } from '../../contracts/aborts.ts'
import type { Runtime } from '../../contracts/runtime.ts'
import { answered } from '../../kernel/answered.ts'
import { waitingForPerson, type Answerer, type Reply, type ToolCall } from './answer.ts'
import type { Answered, Question } from './asking.ts'

/** What a client says of a form. */
type Said = Pick<Answered, 'action' | 'content'>

/** Puts a question to the client on a live connection; rejects when the signal says to take it back. */
export type Put = (params: Question['params'], signal: AbortSignal) => Promise<Said>

/** How long a form stays open at most; as long as the sealed state of a 2026 client counts. */
const readingMs = 15 * 60_000
/** Forms that stay open after their calls were answered, for one client. */
const mostReading = 16

/**
 * A call on a connection where we can ask back (before 2026): the question is put while the call waits. It waits no longer than
 * clients do, and no longer than until somebody answers elsewhere. The form stays open after that: a late answer counts.
 */
export async function converse(
  runtime: Runtime,
  answerer: Answerer,
  given: ToolCall,
  put: Put,
): Promise<Record<string, unknown>> {
  const { limits } = runtime.config
  const call = { ...given, answerBy: Date.now() + limits.answerWithinMs }
  const ask = async (question: Question): Promise<Reply> => {
    call.signal.throwIfAborted()
    const form = openForm(runtime, question, put)
    const stopListening = onAbort(call.signal, () => form.close())
    const rest = call.progress?.wait(waitingForPerson)
    const patience = Math.min(limits.approvalWaitMs, call.answerBy - Date.now())
    const said = await within(Math.max(1, patience), form.said)
    rest?.()
    stopListening()
    call.signal.throwIfAborted()
    if (said === undefined) stayOpen(runtime, answerer, given, question, form, put)
    return answerer.reply({ ...call, answered: { state: question.state, ...(said ?? { action: 'none' }) } })
  }
  let reply = await answerer.reply(call)
  while ('question' in reply) reply = await ask(reply.question)
  return reply.result
}

interface Form {
  said: Promise<Said>
  close(): void
}

/** A form at the client. It is taken back where the approval is answered elsewhere. */
function openForm(runtime: Runtime, { params, state }: Question, put: Put): Form {
  const closed = new AbortController()
  const stop = AbortSignal.any([closed.signal, AbortSignal.timeout(readingMs)])
  if (state.approval !== undefined) watch(runtime, state.approval, closed, stop)
  const said = put(params, stop)
    .catch(() => ({ action: 'none' }) as const)
    .finally(() => closed.abort())
  return { said, close: () => closed.abort() }
}

/** The call is answered, the person is perhaps still reading: what they say becomes a decision, and the same call made again finds it. */
function stayOpen(runtime: Runtime, answerer: Answerer, call: ToolCall, { state }: Question, form: Form, put: Put): void {
  const id = state.approval
  if (id === undefined || state.why || answerer.reading.size >= mostReading) return form.close()
  answerer.reading.add(id)
  const hear = async (): Promise<void> => {
    const next = answerer.settle({ state, ...(await form.said) }, call.client)
    if (next) answerer.settle({ state: next.state, ...(await openForm(runtime, next, put).said) }, call.client)
  }
  void hear()
    .catch((fault: unknown) => console.error('handrail: mcp: a late answer could not be kept:', fault))
    .finally(() => answerer.reading.delete(id))
}

/** Nothing where it takes longer. */
async function within<T>(ms: number, doing: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms).unref()
  })
  const first = await Promise.race([doing, late])
  clearTimeout(timer)
  return first
}

/** Ends the waiting when the approval is answered from elsewhere. */
function watch(runtime: Runtime, id: string, closed: AbortController, stop: AbortSignal): void {
  void answered(runtime.audit, () => runtime.approvals.state(id), { id }, stop).then(
    () => closed.abort(),
    () => undefined,
  )
}
