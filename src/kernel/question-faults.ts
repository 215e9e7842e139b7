import type { ApprovalHead } from '../contracts/approval.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Tool } from '../contracts/tool.ts'

/** Nobody has answered yet, or the yes cannot be used yet; the question stands. */
export class Unanswered extends Fault {}

export function usedUp(approval: ApprovalHead): Fault {
  return new Fault('conflict', 'This approval was used by another call at the same moment', {
    details: { approvalId: approval.id },
    hint: 'An approval counts once. Make the call again to ask anew.',
  })
}

export function changedWhileAsking(tool: Tool): Fault {
  return new Fault('conflict', `What ${tool.name} touches was changed by somebody else while the question was made`, {
    hint: 'Look at the files again and make the call again; nobody was asked.',
  })
}

export function changedSinceAsked(approval: ApprovalHead): Fault {
  return new Fault('conflict', 'What this call touches has changed since the person saw it', {
    details: { approvalId: approval.id, tool: approval.tool },
    hint: 'Look at the files again and make the call again; a new card will be shown.',
  })
}

export function declined(approval: Omit<ApprovalHead, 'card'>): Fault {
  const who = approval.decidedBy?.startsWith('form@') ? "Declined in the client's form" : 'Declined by a person'
  return new Fault('declined', approval.note ? `${who}: ${approval.note}` : who, {
    details: { approvalId: approval.id, declined: true, ...(approval.note !== undefined && { note: approval.note }) },
    hint: approval.note
      ? 'Follow what the person said; do not repeat the same call.'
      : 'Do something else, or ask the person why; do not repeat the same call.',
  })
}

export function unanswered(approval: ApprovalHead, tool: Tool): Fault {
  return new Unanswered('needs-approval', `${tool.name} needs a person's approval, and nobody has answered yet`, {
    details: { approvalId: approval.id, risk: approval.risk, expiresAt: new Date(approval.expiresAt).toISOString() },
    hint: `A person can answer with: handrail approvals approve ${approval.id}. Then make exactly the same call again.`,
  })
}

export function lapsed(approval: Omit<ApprovalHead, 'card'>): Fault {
  return new Fault('needs-approval', `The approval for ${approval.tool} has lapsed`, {
    details: { approvalId: approval.id, state: approval.state },
    hint: 'Make the call again to ask anew.',
  })
}

export function cancelled(approval: ApprovalHead): Fault {
  return new Unanswered('cancelled', 'Cancelled by the caller', {
    details: { cancelled: true, approvalId: approval.id },
    hint: 'Nothing was done. The question stands: the same call made again after a yes goes through.',
  })
}

export function closed(): Fault {
  return new Unanswered('io', 'Handrail was closed here while this call waited for an answer', {
    hint: 'The question stands, and an answer to it is kept: make the same call again.',
  })
}
