import type { ApprovalHead } from '../contracts/approval.ts'
import type { Call } from '../contracts/call.ts'
import type { Config } from '../contracts/config.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { showsEverything } from '../text/printable.ts'
import type { Card, Risk, Tool } from '../contracts/tool.ts'
import { orAborted } from '../text/aborts.ts'
import { awaitDecision } from './await-decision.ts'
import { fitted } from './card.ts'
import type { Ports } from './ports.ts'
import { recordable } from './redacted-input.ts'
import type { SameCalls } from './same-calls.ts'

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
  /** It is asked before a program runs: the yes lives minutes, and a no holds whatever changes meanwhile. */
  beforeRun: boolean
  /** Asked before a yes is used up: what it throws leaves the yes as it is. */
  ready?: () => void
  same: SameCalls
  /** Told the question's id before anybody waits for an answer. */
  onAsked?: (approvalId: string) => void
}

/** A project may shorten how long a yes counts. A no that it could shorten would be asked about again and again. */
const leastNoMs = 86_400_000

/** Nobody has answered yet, or the yes cannot be used yet; the question stands. */
export class Unanswered extends Fault {}

/** The same call was agreed to and carried out while this one was on its way to its question. */
export class JustDone extends Fault {}

/**
 * A person's yes to exactly this call on exactly this state of the world, or an error that says how to get one.
 * A yes counts for the session that asked and is used up here; a no holds for every session of the same client, and carries the
 * person's words.
 */
export async function consent(ports: Ports, limits: Config['limits'], question: Question): Promise<string> {
  await afterSame(question)
  const asked = await openQuestion(ports, limits, question)
  question.onAsked?.(asked.id)
  const { signal } = question.options
  const wait = Math.min(question.options.approvalWaitMs ?? limits.approvalWaitMs, limits.approvalWaitMs)
  const until = Math.min(Date.now() + wait, question.options.answerBy ?? Number.POSITIVE_INFINITY)
  let approval = asked
  if (approval.state === 'pending') {
    question.options.onApproval?.(approval.id)
    const look = (): ApprovalHead => (approval = ports.approvals.head(asked.id) ?? approval)
    await awaitDecision(ports.audit, () => look().state, { id: asked.id, until: Math.min(until, asked.expiresAt) }, signal)
  }
  if (approval.state === 'approved') return use(ports, approval, question)
  if (approval.state === 'denied') throw declined(approval)
  if (approval.state === 'pending') throw unanswered(approval, question.tool)
  if (approval.state === 'used') {
    await afterSame(question)
    throw usedUp(approval)
  }
  throw new Fault('needs-approval', `The approval for ${question.tool.name} has lapsed`, {
    details: { approvalId: approval.id, state: approval.state },
    hint: 'Make the call again to ask anew.',
  })
}

/** The question that stands about this call, or a new one. A question about an older state of the world no longer counts. */
async function openQuestion(ports: Ports, limits: Config['limits'], question: Question): Promise<ApprovalHead> {
  const { tool, inputDigest, stateDigest, risk, caller } = question
  const refused = ports.approvals.refusal(inputDigest, caller)
  if (refused && (question.beforeRun || refused.stateDigest === stateDigest)) return refused
  const known = ports.approvals.about(inputDigest, caller.session)
  if (known?.stateDigest === stateDigest) return known
  if (known?.state === 'approved' && ports.approvals.move(known.id, 'approved', 'void')) throw changedSinceAsked(known)
  if (known?.state === 'pending') ports.approvals.move(known.id, 'pending', 'void')
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
    },
    {
      ttlMs: question.beforeRun ? limits.runApprovalTtlMs : limits.approvalTtlMs,
      noMs: Math.max(limits.approvalTtlMs, leastNoMs),
      texts,
    },
  )
  ports.audit.write(
    {
      event: 'approval.requested',
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
  question.same.begin(question.id, sameKey(question))
  return approval.id
}

const sameKey = ({ caller, inputDigest }: Question): string => `${caller.session}\0${inputDigest}`

/** Lets the same call have its end first, where it is being carried out; throws where that has done what this one asks for. */
async function afterSame(question: Question): Promise<void> {
  const ahead = question.same.ahead(sameKey(question))
  if (!ahead || !(await orAborted(ahead, question.options.signal))) return
  throw new JustDone('conflict', `The same ${question.tool.name} was approved and carried out while this one was looked at`, {
    hint: 'It is done once. Look at the files; make the call again only if it is wanted once more.',
  })
}

function usedUp(approval: ApprovalHead): Fault {
  return new Fault('conflict', 'This approval was used by another call at the same moment', {
    details: { approvalId: approval.id },
    hint: 'An approval counts once. Make the call again to ask anew.',
  })
}

/** The world moved under a question: it no longer counts, whatever was answered. */
export function withdraw(ports: Ports, inputDigest: string, session: string): void {
  const known = ports.approvals.about(inputDigest, session)
  if (known) ports.approvals.move(known.id, known.state, 'void')
}

function changedWhileAsking(tool: Tool): Fault {
  return new Fault('conflict', `What ${tool.name} touches was changed by somebody else while the question was made`, {
    hint: 'Look at the files again and make the call again; nobody was asked.',
  })
}

function changedSinceAsked(approval: ApprovalHead): Fault {
  return new Fault('conflict', 'What this call touches has changed since the person saw it', {
    details: { approvalId: approval.id, tool: approval.tool },
    hint: 'Look at the files again and make the call again; a new card will be shown.',
  })
}

function declined(approval: ApprovalHead): Fault {
  const who = approval.decidedBy?.startsWith('form@') ? "Declined in the client's form" : 'Declined by a person'
  return new Fault('declined', approval.note ? `${who}: ${approval.note}` : who, {
    details: { approvalId: approval.id, declined: true, ...(approval.note !== undefined && { note: approval.note }) },
    hint: approval.note
      ? 'Follow what the person said; do not repeat the same call.'
      : 'Do something else, or ask the person why; do not repeat the same call.',
  })
}

function unanswered(approval: ApprovalHead, tool: Tool): Fault {
  return new Unanswered('needs-approval', `${tool.name} needs a person's approval, and nobody has answered yet`, {
    details: { approvalId: approval.id, risk: approval.risk, expiresAt: new Date(approval.expiresAt).toISOString() },
    hint: `A person can answer with: handrail approvals approve ${approval.id}. Then make exactly the same call again.`,
  })
}
