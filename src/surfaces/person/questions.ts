import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import { redactForAgent } from '../../text/redact-for-agent.ts'
import { Coded, inEnvelope, invalidRequest, notFound, readFields, sendJson } from '../envelope.ts'
import type { Operation } from '../operations.ts'
import { refused } from './approvals.ts'

const longestAnswer = 10_000

const QuestionShape = Type.Object(
  {
    id: Type.String(),
    session: Type.String(),
    client: Type.String(),
    text: Type.String({ description: 'The agent’s own words.' }),
    options: Type.Array(Type.String(), { description: 'Answers to choose from; another may be given.' }),
    askedAt: Type.Integer(),
    answer: Type.Optional(Type.String()),
    answeredBy: Type.Optional(Type.String()),
    answeredAt: Type.Optional(Type.Integer()),
  },
  { additionalProperties: true },
)

/** What agents ask in words, for the person's own programs; by the person's key alone, as approvals are. */
export function questionOperations({ questions }: Pick<Operator, 'questions'>): Operation[] {
  const shared = { for: 'key', tag: 'questions' } as const
  return [
    {
      ...shared,
      id: 'listQuestions',
      method: 'GET',
      path: '/api/questions',
      summary: 'What agents ask the person in words, the oldest that waits first',
      parameters: [{ name: 'all', in: 'query', says: 'With 1, answered ones too, the newest first.' }],
      answers: {
        200: { says: 'They.', schema: Type.Object({ questions: Type.Array(QuestionShape), pending: Type.Integer() }) },
        401: refused('No key of the person: unauthorized.'),
      },
      handle: inEnvelope(({ response, query }) =>
        sendJson(response, 200, { questions: questions.list(query.get('all') === '1'), pending: questions.count() }),
      ),
    },
    {
      ...shared,
      id: 'answerQuestion',
      method: 'POST',
      path: '/api/questions/{id}',
      summary: 'The person’s answer in words',
      description: 'It allows nothing, and goes to the agent. The first answer counts, wherever it is given.',
      body: Type.Object({
        answer: Type.String({ description: 'One of the options, or other words.', minLength: 1, maxLength: longestAnswer }),
      }),
      answers: {
        200: { says: 'The question as it is now.', schema: QuestionShape },
        400: refused('Not to be understood: invalid_request.'),
        401: refused('No key of the person: unauthorized.'),
        404: refused('There is none of that id: not_found.'),
        409: refused('It was answered before: already_answered.'),
      },
      handle: inEnvelope(async (incoming, { id = '' }: Readonly<Record<string, string>>) => {
        const asked = questions.get(id)
        if (!asked) throw notFound('There is no such question, or no longer.')
        const { answer } = await readFields(incoming)
        if (typeof answer !== 'string' || answer.length > longestAnswer || answer.trim() === '' || !answer.isWellFormed())
          throw invalidRequest(`answer is a text of at most ${longestAnswer} characters.`)
        try {
          const words = asked.options.includes(answer) ? answer : redactForAgent(answer.trim())
          sendJson(incoming.response, 200, questions.answer(id, words, 'person@http'))
        } catch (fault) {
          if (!(fault instanceof Fault) || fault.reason !== 'conflict') throw fault
          throw new Coded({ status: 409, code: 'already_answered', message: fault.message })
        }
      }),
    },
  ]
}
