import { randomBytes } from 'node:crypto'
import type { Approval } from '../../contracts/approval.ts'
import type { Asked } from '../../contracts/tool.ts'
import { printableInline, cardText, formLimits, oneLine } from '../../text/printable.ts'
import { redactForAgent } from '../../text/redact-for-agent.ts'
import { foldedAt, rowsOf } from '../../text/rows.ts'

/** What a client can show to the person who uses it. */
export interface ElicitationSupport {
  form: boolean
  url: boolean
}

/** What a question is about: exactly this call by this caller, once. It goes through the client's hands, signed. */
export interface Pending {
  about: string
  nonce: string
  approval?: string
  mode: 'form' | 'url'
  /** The second form of a no: its words are asked for, the no itself was said in the first. */
  why?: true
  /** What is asked in words, where it stands. */
  question?: string
}

/** A question to the person, as the client gets it. */
export interface Elicitation {
  params: Record<string, unknown>
  state: Pending
}

/** What came back. `none`: nobody answered in time. */
export interface ElicitationAnswer {
  state: Pending
  action: 'accept' | 'decline' | 'cancel' | 'none'
  content?: Record<string, unknown> | undefined
}

export function elicitationSupportOf(capabilities: unknown): ElicitationSupport {
  const { elicitation } = (capabilities ?? {}) as { elicitation?: { form?: object; url?: object } }
  // A client of 2025-06-18 says only that it can; that means forms.
  return {
    form: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    url: elicitation?.url !== undefined,
  }
}

/** A person's choices, the harmless one first: terminals mark the first of a list, and Enter takes it. */
const choices = { no: 'decline', noAndWhy: 'decline and say why', yes: 'approve' } as const
const longestNote = 1_000
export const longestQuestion = 10_000

/** The approval as a form where all of it fits, else as a link to our own page, else not at all. */
export function askApproval(
  approval: Approval,
  about: string,
  reach: ElicitationSupport,
  page: string | undefined,
): Elicitation | undefined {
  const card = cardText(approval.card, formLimits)
  const wants = `${oneLine(approval.client, 60)} wants to: ${oneLine(approval.card.title, 200)} (risk ${approval.risk})`
  const head = foldedAt(formLimits.width, wants)
  const state = { about, nonce: nonce(), approval: approval.id }
  if (reach.form && card.whole)
    return {
      state: { ...state, mode: 'form' },
      params: {
        message: [head, '', card.text, '', 'Approve exactly this change?'].join('\n'),
        // Nothing optional: Codex does not send a form while a text field of it is empty.
        requestedSchema: {
          type: 'object',
          properties: { decision: { type: 'string', title: 'Decision', enum: Object.values(choices) } },
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

/** The second form of a no. */
export function askWhy({ client, id }: Approval, about: string): Elicitation {
  return {
    state: { about, nonce: nonce(), approval: id, mode: 'form', why: true },
    params: {
      message: `Declined. What should ${oneLine(client, 60)} know? It gets this word for word.`,
      requestedSchema: {
        type: 'object',
        properties: { why: { type: 'string', title: 'Why', minLength: 1, maxLength: longestNote } },
        required: ['why'],
      },
    },
  }
}

/** What a form said, where it was filled in as it was asked for, and in no other case. */
export function decisionIn(content: unknown): 'approve' | 'decline' | 'ask why' | undefined {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined
  const { decision, ...more } = content as Record<string, unknown>
  if (Object.keys(more).length > 0) return undefined
  return decision === choices.yes
    ? 'approve'
    : decision === choices.no
      ? 'decline'
      : decision === choices.noAndWhy
        ? 'ask why'
        : undefined
}

/** The last choice of a question: the words are asked for in a form of their own. */
const ownWords = 'in my own words'

/** A choice as the form shows it: behind our number, so that nothing an agent offers passes for a word of ours. */
const labelled = (option: string, at: number): string => `${at + 1}. ${oneLine(option, 200)}`

/**
 * A form comes in our name, and the words in it are the agent's: who asks and what it is not is said first, the rest stands behind a bar. Where
 * there is something to choose from, the form is one choice; nothing in it is optional, see `askApproval`.
 */
export function askQuestion({ text, options }: Asked, id: string, about: string, client: string): Elicitation {
  const first = foldedAt(formLimits.width, `${oneLine(client, 40)} asks you something.`)
  const warning = foldedAt(
    formLimits.width,
    'Your answer approves nothing and goes to the agent: give no passwords, keys or sign-in links. Its words:',
    '',
  )
  const words = text.split('\n').flatMap((line) => rowsOf(`| ${printableInline(line)}`, '| … ', formLimits.width))
  const choice = options.length > 0 && { enum: [...options.map(labelled), ownWords] }
  return {
    state: { about, nonce: nonce(), mode: 'form', question: id },
    params: {
      message: [first, warning, ...words].join('\n'),
      requestedSchema: {
        type: 'object',
        properties: { answer: { type: 'string', title: 'Your answer', ...(choice || { maxLength: longestQuestion }) } },
        required: ['answer'],
      },
    },
  }
}

/** Which of the answers that were offered was chosen, or that the person has words of their own to say. */
export function chosenIn(
  answered: ElicitationAnswer | undefined,
  options: readonly string[],
): { option: string } | 'own' | undefined {
  if (options.length === 0 || answered?.action !== 'accept') return undefined
  const said = answered.content?.['answer']
  if (said === ownWords) return 'own'
  const option = options[options.findIndex((one, at) => labelled(one, at) === said)]
  return option === undefined ? undefined : { option }
}

/** The words of a person, where there are any. */
export function wordsOf(answered: ElicitationAnswer | undefined, field: 'answer' | 'why'): string | undefined {
  const words = answered?.action === 'accept' ? answered.content?.[field] : undefined
  if (typeof words !== 'string' || words.trim() === '') return undefined
  if (field === 'why') return words.slice(0, longestNote).toWellFormed()
  return redactForAgent(words.slice(0, longestQuestion).toWellFormed())
}

function nonce(): string {
  return randomBytes(16).toString('base64url')
}
