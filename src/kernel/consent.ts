import type { ApprovalHead, ApprovalState } from '../contracts/approval.ts'
import type { Call } from '../contracts/call.ts'
import type { Config } from '../contracts/config.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { showsEverything } from '../text/printable.ts'
import type { Card, Risk, Tool } from '../contracts/tool.ts'
import { onAbort, orAborted } from '../text/aborts.ts'
import { awaitDecision } from './await-decision.ts'
import { fitted } from './card.ts'
import type { CallAudit } from './call-audit.ts'
import type { Ports } from './ports.ts'
import {
  cancelled,
  closed,
  changedSinceAsked,
  changedWhileAsking,
  declined,
  lapsed,
  unanswered,
  usedUp,
} from './question-faults.ts'
import { recordable } from './redacted-input.ts'
import type { DuplicateCalls } from './duplicate-calls.ts'
import { withdrawQuestion } from './suspended-calls.ts'

export interface Question extends Call {
  tool: Tool
  input: unknown
  redactedInput: Record<string, unknown>
  inputDigest: string
  stateDigest: string
  risk: Risk
  /** What the person is shown. */
  card: () => Card | Promise<Card>
  /** The state of the world now that the card was made: what was shown must be what is asked about. */
  stateNow?: () => Promise<string>
  /** Paths among the changes that make other programs run something. */
  sensitive: readonly string[]
  /** Files that a no keeps: whoever changes one of them asks, for as long as it holds. */
  keeps: readonly string[]
  /** It is asked before a program runs: the yes lives minutes, and a no holds whatever changes meanwhile. */
  beforeRun: boolean
  /** Asked before a yes is used up: what it throws leaves the yes as it is. */
  ready?: () => void
  duplicates: DuplicateCalls
  callAudit: CallAudit
  /** Handrail is closed here: nobody waits any longer. */
  closing: AbortSignal
  /** Told the question's id before anybody waits for an answer. */
  onAsked?: (approvalId: string) => void
}

/** A project may shorten how long a yes counts. A no that it could shorten would be asked about again and again. */
const leastNoMs = 86_400_000

/** The same call was agreed to and carried out while this one was on its way to its question. */
export class JustDone extends Fault {}

/**
 * A person's yes to exactly this call on exactly this state of the world, or an error that says how to get one. The call is suspended here:
 * on the answer it goes on, in this request or, where that stops waiting (`Unanswered`), in the next that makes the same call.
 * A yes counts for the session that asked and is used up here; a no holds for every session of the same client, and carries the
 * person's words.
 */
export async function consent(ports: Ports, limits: Config['limits'], question: Question): Promise<string> {
  await afterSame(question)
  const asked = await openQuestion(ports, limits, question)
  question.onAsked?.(asked.id)
  question.callAudit.withdrawBefore()
  let approval = asked
  const look = (): ApprovalState => {
    approval = ports.approvals.head(asked.id) ?? approval
    // A yes belongs to the request that has the call in hand: this one hears what becomes of it.
    const another = approval.state === 'approved' && approval.call !== undefined && !question.callAudit.mayUse(asked.id)
    return another ? 'pending' : approval.state
  }
  const state = look()
  const patience = approval.state === 'pending' ? question.options.onApproval?.(asked.id) : undefined
  if (state === 'pending') question.callAudit.awaits(asked.id)
  const answer = state === 'pending' ? await waitFor(ports, limits, question, asked, look, patience ?? undefined) : state
  if (answer === 'approved') return use(ports, approval, question)
  if (answer === 'denied') throw declined(approval)
  if (answer === 'pending') throw unanswered(approval, question.tool)
  if (answer === 'used') {
    await afterSame(question)
    throw usedUp(approval)
  }
  throw lapsed(approval)
}

/** Until it is answered, or the surface or the caller does not wait any longer. */
async function waitFor(
  { audit }: Ports,
  limits: Config['limits'],
  { options, closing }: Question,
  asked: ApprovalHead,
  look: () => ApprovalState,
  patience: AbortSignal | undefined,
): Promise<ApprovalState> {
  const { signal, approvalWaitMs: wait = limits.approvalWaitMs, answerBy = Number.POSITIVE_INFINITY } = options
  const longest = wait === Number.POSITIVE_INFINITY ? wait : Math.min(wait, limits.approvalWaitMs)
  const until = Math.min(Date.now() + longest, answerBy, asked.expiresAt)
  // The surface does not wait at all.
  if (patience?.aborted) return look()
  const over = new AbortController()
  const listening = [signal, patience, closing].map((one) => onAbort(one, () => over.abort()))
  try {
    await awaitDecision(audit, look, { id: asked.id, until }, over.signal)
  } catch (fault) {
    if (signal?.aborted) throw cancelled(asked)
    if (closing.aborted) throw closed()
    if (!patience?.aborted) throw fault
  } finally {
    for (const stop of listening) stop()
  }
  return look()
}

/** The question that stands about this call, or a new one. A question about an older state of the world no longer counts. */
async function openQuestion(ports: Ports, limits: Config['limits'], question: Question): Promise<ApprovalHead> {
  const { tool, inputDigest, stateDigest, risk, caller } = question
  const refused = ports.approvals.refusal(inputDigest, caller)
  if (refused && (question.beforeRun || refused.stateDigest === stateDigest)) return refused
  const known = ports.approvals.about(inputDigest, caller.session)
  if (known?.stateDigest === stateDigest) return known
  if (known?.state === 'approved' && ports.approvals.move(known.id, 'approved', 'void')) throw changedSinceAsked(known)
  if (known) withdrawQuestion(ports, known)
  const { card, texts } = fitted(await question.card(), new Set(question.sensitive))
  if (question.stateNow && (await question.stateNow()) !== stateDigest) throw changedWhileAsking(tool)
  // While the card was made, the same call may have asked: one change is one question.
  const meanwhile = ports.approvals.about(inputDigest, caller.session)
  if (meanwhile?.stateDigest === stateDigest) return meanwhile
  await afterSame(question)
  const approval = ports.approvals.ask(
    {
      tool: tool.name,
      risk,
      inputDigest,
      stateDigest,
      card,
      input: recordable(tool, question.redactedInput),
      session: caller.session,
      surface: caller.surface,
      client: caller.client,
      ...(caller.peer !== undefined && { peer: caller.peer }),
      whole: showsEverything(card),
      call: question.callAudit.id,
    },
    {
      ttlMs: question.beforeRun ? limits.runApprovalTtlMs : limits.approvalTtlMs,
      noMs: Math.max(limits.approvalTtlMs, leastNoMs),
      texts,
      keeps: question.keeps,
      together: (id) => question.callAudit.asked(id),
    },
  )
  question.callAudit.start(false)
  ports.audit.write(
    {
      event: 'approval.requested',
      call: question.callAudit.id,
      approval: approval.id,
      tool: tool.name,
      risk,
      session: caller.session,
      surface: caller.surface,
      client: caller.client,
      inputDigest,
      input: recordable(tool, question.redactedInput),
    },
    true,
  )
  return approval
}

function use(ports: Ports, approval: ApprovalHead, question: Question): string {
  if (approval.stateDigest !== question.stateDigest) throw changedSinceAsked(approval)
  question.ready?.()
  if (!ports.approvals.move(approval.id, 'approved', 'used')) throw usedUp(approval)
  question.duplicates.begin(question.callAudit.id, sameKey(question))
  return approval.id
}

const sameKey = ({ caller, inputDigest }: Question): string => `${caller.session}\0${inputDigest}`

/** Lets the same call have its end first, where it is being carried out; throws where that has done what this one asks for. */
async function afterSame(question: Question): Promise<void> {
  const ahead = question.duplicates.ahead(sameKey(question))
  if (!ahead || !(await orAborted(ahead, question.options.signal))) return
  throw new JustDone('conflict', `The same ${question.tool.name} was approved and carried out while this one was looked at`, {
    hint: 'It is done once. Look at the files; make the call again only if it is wanted once more.',
  })
}

/** The world moved under a question: it no longer counts, whatever was answered. */
export function withdraw(ports: Ports, inputDigest: string, session: string): void {
  const known = ports.approvals.about(inputDigest, session)
  if (known) withdrawQuestion(ports, known)
}
