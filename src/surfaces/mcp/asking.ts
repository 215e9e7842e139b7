import { randomBytes } from 'node:crypto'
import type { Approval } from '../../contracts/approval.ts'
import { block, cardText, oneLine } from '../../contracts/plain.ts'

/** What a client can show to the person who uses it. */
export interface Reach {
  form: boolean
  url: boolean
}

/** What a question is about: exactly this call by this caller, once. It goes through the client's hands, signed. */
export interface Pending {
  about: string
  nonce: string
  approval?: string
  mode: 'form' | 'url'
}

/** A question to the person, as the client gets it. */
export interface Question {
  params: Record<string, unknown>
  state: Pending
}

/** What came back. `none`: nobody answered in time. */
export interface Answered {
  state: Pending
  action: 'accept' | 'decline' | 'cancel' | 'none'
  content?: Record<string, unknown> | undefined
}

export function reachOf(capabilities: unknown): Reach {
  const { elicitation } = (capabilities ?? {}) as { elicitation?: { form?: object; url?: object } }
  // A client of 2025-06-18 says only that it can; that means forms.
  return {
    form: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    url: elicitation?.url !== undefined,
  }
}

export const longestNote = 1_000
export const longestQuestion = 10_000

/** Nobody is asked to approve what they cannot see whole. */
const shown = { rows: 400, width: 1_000 }

/** The approval as a form where all of it fits, else as a link to our own page, else not at all. */
export function askApproval(approval: Approval, about: string, reach: Reach, page: string | undefined): Question | undefined {
  const card = cardText(approval.card, shown)
  const head = `${oneLine(approval.client, 60)} wants to: ${oneLine(approval.card.title, 200)} (risk ${approval.risk})`
  const state = { about, nonce: nonce(), approval: approval.id }
  if (reach.form && card.whole)
    return {
      state: { ...state, mode: 'form' },
      params: {
        message: [head, '', card.text, '', 'Approve exactly this change?'].join('\n'),
        requestedSchema: {
          type: 'object',
          properties: {
            decision: { type: 'string', title: 'Decision', enum: ['approve', 'decline'] },
            note: {
              type: 'string',
              title: 'Note for the agent',
              description: 'Optional; goes back word for word.',
              maxLength: longestNote,
            },
          },
          required: ['decision'],
        },
      },
    }
  if (!reach.url || page === undefined) return undefined
  const url = `${page}/approvals/${approval.id}`
  const elicitationId = approval.id
  return {
    state: { ...state, mode: 'url' },
    params: { mode: 'url', elicitationId, url, message: `${head}\nThe page shows the whole change; answer there.` },
  }
}

export function askQuestion(question: string, about: string): Question {
  return {
    state: { about, nonce: nonce(), mode: 'form' },
    params: {
      message: block(question),
      requestedSchema: {
        type: 'object',
        properties: { answer: { type: 'string', title: 'Your answer', maxLength: 10_000 } },
        required: ['answer'],
      },
    },
  }
}

/** The words of a person, where there are any. */
export function wordsOf(answered: Answered | undefined, field: string): string | undefined {
  const words = answered?.action === 'accept' ? answered.content?.[field] : undefined
  return typeof words === 'string' && words.trim() !== '' ? words.slice(0, 10_000) : undefined
}

function nonce(): string {
  return randomBytes(16).toString('base64url')
}
