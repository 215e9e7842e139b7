import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import { Coded, inEnvelope, invalidRequest, notFound, readFields, sendJson } from '../envelope.ts'
import type { Answered, Operation } from '../operations.ts'
import type { Incoming } from '../routes.ts'

const states = ['pending', 'approved', 'denied', 'expired', 'used', 'void'] as const
type State = (typeof states)[number]

type Params = Readonly<Record<string, string>>

const pageLength = 50
const longestNote = 1_000

const ErrorShape = Type.Object({ error: Type.Object({ code: Type.String(), message: Type.String() }) })
export const refused = (says: string): Answered => ({ says, schema: ErrorShape })

const HeadShape = Type.Object(
  {
    id: Type.String(),
    state: Type.Enum([...states], { type: 'string' }),
    tool: Type.String(),
    risk: Type.String(),
    client: Type.String(),
    surface: Type.String(),
    createdAt: Type.Integer(),
    expiresAt: Type.Integer(),
  },
  { additionalProperties: true },
)

/** The person's answers for programs of theirs: opened by their key, never by an agent's token and never by a cookie. */
export function approvalOperations({ approvals }: Pick<Operator, 'approvals'>): Operation[] {
  const shared = { for: 'key', tag: 'approvals' } as const
  const found = (id: string) => {
    const approval = approvals.get(id)
    if (!approval) throw notFound('There is no such approval, or no longer.')
    return approval
  }
  return [
    {
      ...shared,
      id: 'listApprovals',
      method: 'GET',
      path: '/api/approvals',
      summary: 'What waits for the person, the newest first',
      parameters: [
        { name: 'state', in: 'query', says: 'Which ones; pending without.', schema: { type: 'string', enum: [...states] } },
        { name: 'limit', in: 'query', says: `How many; ${pageLength} without.`, schema: { type: 'integer' } },
        { name: 'before', in: 'query', says: 'Those that were asked before this one.' },
      ],
      answers: {
        200: {
          says: 'They, without what is shown of them.',
          schema: Type.Object({ approvals: Type.Array(HeadShape), pending: Type.Integer() }),
        },
        400: refused('A state that there is not: invalid_request.'),
        401: refused('No key of the person: unauthorized.'),
      },
      handle: inEnvelope(({ response, query }) => {
        const state = (query.get('state') ?? 'pending') as State
        if (!states.includes(state)) throw invalidRequest(`state is one of ${states.join(', ')}.`)
        const limit = Number(query.get('limit') ?? pageLength)
        if (!Number.isInteger(limit) || limit < 1 || limit > 500) throw invalidRequest('limit is a number from 1 to 500.')
        const before = query.get('before')
        const list = approvals.list(state, { limit, ...(before !== null && { before }) })
        sendJson(response, 200, { approvals: list, pending: approvals.count('pending') })
      }),
    },
    {
      ...shared,
      id: 'readApproval',
      method: 'GET',
      path: '/api/approvals/{id}',
      summary: 'One of them with its card: everything that is asked for',
      answers: {
        200: { says: 'The approval.', schema: HeadShape },
        401: refused('No key of the person: unauthorized.'),
        404: refused('There is none of that id: not_found.'),
      },
      handle: inEnvelope(({ response }, { id = '' }: Params) => sendJson(response, 200, found(id))),
    },
    {
      ...shared,
      id: 'decideApproval',
      method: 'POST',
      path: '/api/approvals/{id}',
      summary: 'The person’s answer',
      body: Type.Object({
        approve: Type.Boolean(),
        note: Type.Optional(Type.String({ description: 'Words for the agent.', maxLength: longestNote })),
        unread: Type.Optional(Type.Boolean({ description: 'Agree to what the card does not show. The log says so.' })),
      }),
      answers: {
        200: { says: 'The approval as it is now.', schema: HeadShape },
        400: refused('Not to be understood, or not all of it was shown: invalid_request.'),
        401: refused('No key of the person: unauthorized.'),
        404: refused('There is none of that id: not_found.'),
        409: refused('It was answered before, or no longer stands: already_decided.'),
      },
      handle: inEnvelope(async (incoming, { id = '' }: Params) => {
        found(id)
        const { approve, note, unread } = await answerIn(incoming)
        try {
          const decided = approvals.decide(id, {
            approve,
            by: 'person@http',
            ...(unread && { unread }),
            ...(note !== undefined && { note }),
          })
          sendJson(incoming.response, 200, decided)
        } catch (fault) {
          if (!(fault instanceof Fault)) throw fault
          if (fault.reason === 'policy') throw invalidRequest(`${fault.message}. Read the rest, or send unread: true.`)
          if (fault.reason !== 'conflict') throw fault
          throw new Coded({ status: 409, code: 'already_decided', message: fault.message })
        }
      }),
    },
  ]
}

async function answerIn(incoming: Incoming): Promise<{ approve: boolean; note?: string; unread?: boolean }> {
  const { approve, note, unread } = await readFields(incoming)
  if (typeof approve !== 'boolean') throw invalidRequest('approve is required: true or false.')
  if (note !== undefined && (typeof note !== 'string' || note.length > longestNote || !note.isWellFormed()))
    throw invalidRequest(`note is a text of at most ${longestNote} characters.`)
  if (unread !== undefined && typeof unread !== 'boolean') throw invalidRequest('unread is true or false.')
  return {
    approve,
    ...(typeof note === 'string' && note.trim() !== '' && { note: note.trim() }),
    ...(unread === true && { unread }),
  }
}
