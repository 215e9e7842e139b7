import type { Approval } from '../../contracts/approval.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentCaller } from '../../contracts/gate.ts'
import { cardText, formLimits } from '../../text/printable.ts'
import { cardContent, kindOf, locationsOf, titleOf } from './dialect.ts'
import { methods, type AgentContext, type ToolCallContent } from './sdk.ts'

export interface Question {
  sessionId: string
  /** The call as the client knows it. */
  id: string
  name: string
  input: Record<string, unknown>
  approval: string
}

/** How long a dialog stands. The question itself stands longer, elsewhere. */
const dialogMs = 15 * 60_000

/**
 * Puts a card before the person as their editor's own dialog. Editors answer such dialogs by themselves where they are set to, so an answer counts
 * only where the person switched this client on, and never for R3; else the editor is told where the question can be answered.
 */
export async function askInClient(
  client: Pick<AgentContext, 'request' | 'notify'>,
  forms: Omit<ClientForms, 'words'>,
  caller: AgentCaller,
  project: string,
  { sessionId, id, name, input, approval }: Question,
  signal: AbortSignal,
): Promise<void> {
  const question = forms.question(approval, caller.session)
  if (question?.state !== 'pending' || signal.aborted) return
  const counts = forms.reach(caller.surface, question.risk, caller.client).form && cardText(question.card, formLimits).whole
  const content = [...cardContent(project, question.card), ...(counts ? [] : [elsewhere(question)])]
  const shown = { toolCallId: id, title: titleOf(name, input), kind: kindOf(name), status: 'pending' as const }
  const whole = { ...shown, rawInput: input, content, locations: locationsOf(project, input) }
  await client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate: 'tool_call_update', ...whole } })
  if (!counts) return
  const over = new AbortController()
  const until = AbortSignal.any([signal, over.signal, AbortSignal.timeout(dialogMs)])
  // Answered at the page or in a terminal meanwhile: the dialog goes.
  void forms.settled(approval, until).then(
    () => over.abort(),
    () => undefined,
  )
  try {
    const { outcome } = await client.request<PermissionAnswer>(
      methods.client.session.requestPermission,
      { sessionId, toolCall: whole, options: [...options] },
      { cancellationSignal: until },
    )
    if (signal.aborted || over.signal.aborted) return
    if (outcome.outcome === 'selected' && outcome.optionId === 'allow') forms.answer(approval, caller, { approve: true })
    else if (outcome.outcome === 'selected' && outcome.optionId === 'reject') forms.answer(approval, caller, { approve: false })
    else forms.wavedAway(approval, caller, outcome.outcome)
  } catch {
    if (!until.aborted) forms.wavedAway(approval, caller, 'answered with an error')
  } finally {
    over.abort()
  }
}

interface PermissionAnswer {
  outcome: { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string }
}

const options = [
  { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
  { optionId: 'allow', name: 'Allow exactly this', kind: 'allow_once' },
] as const

function elsewhere({ id, risk }: Approval): ToolCallContent {
  const why =
    risk === 'R3'
      ? 'What destroys, publishes, spends or touches secrets is never answered in an editor.'
      : 'Answers given here do not count: the setting policies.acpClients does not name this client, or the card is too large for it.'
  const text = `This waits for a person: \`handrail approvals show ${id}\`, or the approvals page. ${why}`
  return { type: 'content', content: { type: 'text', text } }
}
