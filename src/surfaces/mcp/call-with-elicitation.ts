import { onAbort } from '../../text/aborts.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentGate } from '../../contracts/gate.ts'
import { waitingForPerson, type ToolCallHandler, type Reply, type ToolCall } from './tool-calls.ts'
import type { ElicitationAnswer, Elicitation } from './elicitation.ts'

/** What a client says of a form. */
type FormAnswer = Pick<ElicitationAnswer, 'action' | 'content'>

/** Puts a question to the client on a live connection; rejects when the signal says to take it back. */
export type SendElicitation = (params: Elicitation['params'], signal: AbortSignal) => Promise<FormAnswer>

/** What it takes to ask while a call waits. */
export interface Asking {
  gate: Pick<AgentGate, 'waits'>
  forms: Pick<ClientForms, 'settled'>
}

/** How long a form stays open at most; as long as the sealed state of a 2026 client counts. */
const readingMs = 15 * 60_000
/** Forms that stay open after their calls were answered, for one client. */
const mostReading = 16

/**
 * A call on a connection where we can ask back (before 2026): the question is put while the call waits. It waits no longer than
 * clients do, and no longer than until somebody answers elsewhere. The form stays open after that: a late answer counts.
 */
export async function callWithElicitation(
  { gate, forms }: Asking,
  handler: ToolCallHandler,
  given: ToolCall,
  sendElicitation: SendElicitation,
): Promise<Record<string, unknown>> {
  const { answerWithinMs, approvalWaitMs } = gate.waits
  const call = { ...given, answerBy: Date.now() + answerWithinMs }
  const ask = async (question: Elicitation): Promise<Reply> => {
    call.signal.throwIfAborted()
    const form = openForm(forms, question, sendElicitation)
    const stopListening = onAbort(call.signal, () => form.close())
    const rest = call.progress?.wait(waitingForPerson)
    const patience = Math.min(approvalWaitMs, call.answerBy - Date.now())
    const said = await within(Math.max(1, patience), form.said)
    rest?.()
    stopListening()
    call.signal.throwIfAborted()
    if (said === undefined) stayOpen(forms, handler, given, question, form, sendElicitation)
    return handler.reply({ ...call, answered: { state: question.state, ...(said ?? { action: 'none' }) } })
  }
  let reply = await handler.reply(call)
  while ('question' in reply) reply = await ask(reply.question)
  return reply.result
}

interface Form {
  said: Promise<FormAnswer>
  close(): void
}

/** A form at the client. It is taken back where the approval is answered elsewhere. */
function openForm(forms: Asking['forms'], { params, state }: Elicitation, sendElicitation: SendElicitation): Form {
  const closed = new AbortController()
  const stop = AbortSignal.any([closed.signal, AbortSignal.timeout(readingMs)])
  if (state.approval !== undefined) watch(forms, state.approval, closed, stop)
  const said = sendElicitation(params, stop)
    .catch(() => ({ action: 'none' }) as const)
    .finally(() => closed.abort())
  return { said, close: () => closed.abort() }
}

/** The call is answered, the person is perhaps still reading: what they say becomes a decision, and the same call made again finds it. */
function stayOpen(
  forms: Asking['forms'],
  handler: ToolCallHandler,
  call: ToolCall,
  { state }: Elicitation,
  form: Form,
  sendElicitation: SendElicitation,
): void {
  const id = state.approval
  if (id === undefined || state.why || handler.reading.size >= mostReading) return form.close()
  handler.reading.add(id)
  const hear = async (): Promise<void> => {
    const next = handler.settle({ state, ...(await form.said) }, call.client)
    if (next) handler.settle({ state: next.state, ...(await openForm(forms, next, sendElicitation).said) }, call.client)
  }
  void hear()
    .catch((fault: unknown) => console.error('handrail: mcp: a late answer could not be kept:', fault))
    .finally(() => handler.reading.delete(id))
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
function watch(forms: Asking['forms'], id: string, closed: AbortController, stop: AbortSignal): void {
  void forms.settled(id, stop).then(
    () => closed.abort(),
    () => undefined,
  )
}
