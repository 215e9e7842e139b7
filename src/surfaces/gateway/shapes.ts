import Type from 'typebox'
import { statuses001 } from '../../contracts/faults/contract-001.ts'
import { AnyObject } from '../../contracts/shapes.ts'
import type { Answered } from '../operations.ts'
import { rows } from './dialect.ts'

// What the gateway takes and gives, as its OpenAPI document prints it.

export const ErrorShape = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    type: Type.Optional(Type.String()),
    details: Type.Optional(AnyObject({ description: 'hint says what to do; reason is why, in words of no contract.' })),
  }),
})

const codesAt = (status: number): string =>
  Object.entries(statuses001)
    .flatMap(([code, at]) => (at === status ? [code] : []))
    .join(', ')

const says: Readonly<Record<number, string>> = {
  400: `Not to be understood: invalid_json, ${codesAt(400)}, provider_not_configured.`,
  401: 'No credential, or the wrong one: unauthorized.',
  403: `Not allowed: ${codesAt(403)}.`,
  404: `Not there: not_found, ${codesAt(404)}.`,
  409: `Something else is there: ${codesAt(409)}.`,
  500: `It did not work: ${codesAt(500)}.`,
  503: 'Too much is going on: unavailable.',
}

export const failures = (...statuses: number[]): Record<number, Answered> =>
  Object.fromEntries(statuses.map((status) => [status, { says: says[status] ?? '', schema: ErrorShape }]))

const MessageShape = Type.Object({
  role: Type.Optional(Type.Enum(['system', 'user', 'assistant', 'tool'], { type: 'string', default: 'user' })),
  type: Type.Optional(Type.String({ default: 'message' })),
  content: Type.Optional(
    Type.Array(Type.Object({ type: Type.String(), text: Type.Optional(Type.String()) }), {
      description: 'Of the parts, the texts count.',
    }),
  ),
})

const tools = Type.Optional(
  Type.Object(
    {
      tool: Type.Optional(
        Type.Object({
          name: Type.Enum(Object.keys(rows), { type: 'string' }),
          input: Type.Optional(AnyObject({ description: 'What the tool takes: see docs/guide/gateway.md.' })),
        }),
      ),
    },
    { description: 'Also accepted spread over the top level.' },
  ),
)

const stream = Type.Optional(Type.Boolean({ default: false, description: 'Tell events as they happen.' }))

export const ProcessShape = Type.Object({
  input: Type.Array(MessageShape),
  session_id: Type.String(),
  user_id: Type.String(),
  channel: Type.String(),
  stream,
  biz_params: tools,
})

export const ProcessedShape = Type.Object({
  reply: Type.String(),
  events: Type.Array(Type.Object({ type: Type.String(), step: Type.Optional(Type.Integer()) })),
  tool_result: Type.Optional(
    Type.Object(
      { ok: Type.Boolean(), text: Type.String() },
      {
        description: 'The result in the shape of its tool. ok: false with approval_id where a person must agree first.',
        additionalProperties: true,
      },
    ),
  ),
})

export const AgentScopeShape = Type.Object({
  input: Type.Array(MessageShape),
  session_id: Type.Optional(Type.String()),
  user_id: Type.Optional(Type.String()),
  channel: Type.Optional(Type.String()),
  biz_params: tools,
})

export const ResponsesShape = Type.Object({
  model: Type.Optional(Type.String()),
  input: Type.Unsafe<unknown>({ oneOf: [{ type: 'string' }, { type: 'array', items: AnyObject() }] }),
  stream,
  metadata: Type.Optional(AnyObject({ description: 'session_id, user_id and channel may stand here as well.' })),
  biz_params: tools,
})

const speaker = { session_id: Type.String(), user_id: Type.String(), channel: Type.String() }

export const ChatShape = Type.Object({
  id: Type.String(),
  name: Type.String(),
  ...speaker,
  created_at: Type.String(),
  updated_at: Type.String(),
})

export const NewChatShape = Type.Object({ ...speaker, name: Type.Optional(Type.String()) })

export const RenameShape = Type.Object({ id: Type.Optional(Type.String()), name: Type.String() })

export const ChatsDeletedShape = Type.Object({ deleted: Type.Boolean(), count: Type.Integer() })

export const HistoryShape = Type.Object({
  messages: Type.Array(
    Type.Object({
      id: Type.String(),
      role: Type.String(),
      type: Type.String(),
      content: Type.Array(Type.Object({ type: Type.String(), text: Type.String() })),
      metadata: Type.Optional(AnyObject()),
    }),
  ),
})
