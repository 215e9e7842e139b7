import { onAbort } from '../../text/aborts.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentGate } from '../../contracts/gate.ts'
import { waitingForPerson, type Form, type ToolCallHandler, type Reply, type ToolCall } from './tool-calls.ts'
import type { Elicitation } from './elicitation.ts'

/** Puts a question to the client on a live connection; rejects when the signal says to take it back. */
export type SendElicitation = (params: Elicitation['params'], signal: AbortSignal) => Form['said']

/** What it takes to ask while a call waits. */
export interface Asking {
  gate: Pick<AgentGate, 'waits'>
  forms: Pick<ClientForms, 'settled' | 'words'>
}

/** How long a form stays open at most; as long as the sealed state of a 2026 client counts. */
const readingMs = 15 * 60_000

/**
 * A call on a connection where we can ask back (before 2026): the question is put while the call waits. It waits no longer than
 * clients do, and no longer than until somebody answers elsewhere.
 */
export async function callWithElicitation(
  { gate, forms }: Asking,
  handler: ToolCallHandler,
  given: ToolCall,
  sendElicitation: SendElicitation,
): Promise<Record<string, unknown>> {
  const { answerWithinMs, approvalWaitMs } = gate.waits
  const openForm = (question: Elicitation): Form => formAt(forms, question, sendElicitation)
  const call = { ...given, answerBy: Date.now() + answerWithinMs, openForm }
  let reply = await handler.reply(call)
  while ('question' in reply) reply = await ask(handler, call, reply.question, approvalWaitMs)
  return reply.result
}

/** What a tool itself asks the person comes before the call. */
async function ask(
  handler: ToolCallHandler,
  call: ToolCall & { answerBy: number; openForm: (question: Elicitation) => Form },
  question: Elicitation,
  mostMs: number,
): Promise<Reply> {
  call.signal.throwIfAborted()
  const form = call.openForm(question)
  const stopListening = onAbort(call.signal, () => form.close())
  const rest = call.progress?.wait(waitingForPerson)
  const said = await within(Math.max(1, Math.min(mostMs, call.answerBy - Date.now())), form.said)
  rest?.()
  stopListening()
  form.close()
  call.signal.throwIfAborted()
  return handler.reply({ ...call, answered: { state: question.state, ...(said ?? { action: 'none' }) } })
}

/** A form at the client. It is taken back where what it asks is answered elsewhere. */
function formAt(forms: Asking['forms'], { params, state }: Elicitation, sendElicitation: SendElicitation): Form {
  const closed = new AbortController()
  const stop = AbortSignal.any([closed.signal, AbortSignal.timeout(readingMs)])
  if (state.approval !== undefined) watch(forms.settled(state.approval, stop), closed)
  if (state.question !== undefined) watch(forms.words.answered(state.question, stop), closed)
  const said = sendElicitation(params, stop)
    .catch(() => ({ action: 'none' }) as const)
    .finally(() => closed.abort())
  return { said, close: () => closed.abort() }
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

/** Ends the waiting when somebody has answered elsewhere. */
function watch(answered: Promise<void>, closed: AbortController): void {
  void answered.then(
    () => closed.abort(),
    () => undefined,
  )
}
