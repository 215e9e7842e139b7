import Type from 'typebox'
import type { Chats } from '../../contracts/chat.ts'
import { inEnvelope, invalidRequest, notFound, readFields, readJson, sendJson } from '../envelope.ts'
import type { Operation } from '../operations.ts'
import { speakerIn } from './request.ts'
import { ChatShape, ChatsDeletedShape, failures, HistoryShape, NewChatShape, RenameShape } from './shapes.ts'

const mostListed = 1_000
const mostDeleted = 1_000
const noSuchChat = 'There is no such chat, or no longer.'

/** What was said, for front ends that show it again. `base` is `/chats`, or `/api/chats` where clients of AgentScope look for it. */
export function chatOperations(chats: Chats, base: '/chats' | '/api/chats'): Operation[] {
  const suffix = base === '/chats' ? '' : 'Api'
  const shared = { for: 'agent', tag: 'chats' } as const
  return [
    {
      ...shared,
      id: `listChats${suffix}`,
      method: 'GET',
      path: base,
      summary: 'The chats, the last updated first',
      parameters: [
        { name: 'user_id', in: 'query', says: 'Only of this user.' },
        { name: 'channel', in: 'query', says: 'Only of this channel.' },
      ],
      answers: { 200: { says: 'The chats.', schema: Type.Array(ChatShape) }, ...failures(401) },
      handle: inEnvelope(({ response, query }) => {
        const [user_id, channel] = [query.get('user_id'), query.get('channel')?.toLowerCase()]
        sendJson(response, 200, chats.list({ limit: mostListed, ...(user_id && { user_id }), ...(channel && { channel }) }))
      }),
    },
    {
      ...shared,
      id: `openChat${suffix}`,
      method: 'POST',
      path: base,
      summary: 'Open a chat before anything is said in it; one that is there is given as it is',
      body: NewChatShape,
      answers: { 200: { says: 'The chat.', schema: ChatShape }, ...failures(400, 401) },
      handle: inEnvelope(async (incoming) => {
        const fields = await readFields(incoming)
        const name = fields['name'] === undefined ? 'New chat' : nameIn(fields)
        sendJson(incoming.response, 200, chats.open(speakerIn(fields), name))
      }),
    },
    {
      ...shared,
      id: `readChat${suffix}`,
      method: 'GET',
      path: `${base}/{id}`,
      summary: 'What was said in a chat',
      answers: { 200: { says: 'Its messages, the oldest first.', schema: HistoryShape }, ...failures(401, 404) },
      handle: inEnvelope(({ response }, { id = '' }: Readonly<Record<string, string>>) => {
        if (!chats.get(id)) throw notFound(noSuchChat)
        sendJson(response, 200, { messages: chats.messages(id) })
      }),
    },
    {
      ...shared,
      id: `renameChat${suffix}`,
      method: 'PUT',
      path: `${base}/{id}`,
      summary: 'Give a chat another name',
      body: RenameShape,
      answers: { 200: { says: 'The chat.', schema: ChatShape }, ...failures(400, 401, 404) },
      handle: inEnvelope(async (incoming, { id = '' }: Readonly<Record<string, string>>) => {
        const fields = await readFields(incoming)
        if (fields['id'] !== undefined && fields['id'] !== id)
          throw invalidRequest('The id must be the one in the path (chat_id_mismatch).')
        const renamed = chats.rename(id, nameIn(fields))
        if (!renamed) throw notFound(noSuchChat)
        sendJson(incoming.response, 200, renamed)
      }),
    },
    {
      ...shared,
      id: `deleteChat${suffix}`,
      method: 'DELETE',
      path: `${base}/{id}`,
      summary: 'Delete a chat with all that was said in it. What was done stays in the log',
      answers: { 200: { says: 'It is gone.', schema: ChatsDeletedShape }, ...failures(401, 404) },
      handle: inEnvelope(({ response }, { id = '' }: Readonly<Record<string, string>>) => {
        if (chats.remove([id]) === 0) throw notFound(noSuchChat)
        sendJson(response, 200, { deleted: true, count: 1 })
      }),
    },
    {
      ...shared,
      id: `deleteChats${suffix}`,
      method: 'POST',
      path: `${base}/batch-delete`,
      summary: 'Delete several chats',
      body: Type.Array(Type.String(), { maxItems: mostDeleted }),
      answers: { 200: { says: 'Those that were there are gone.', schema: ChatsDeletedShape }, ...failures(400, 401) },
      handle: inEnvelope(async (incoming) => {
        const ids = await readJson(incoming)
        if (!isIds(ids)) throw invalidRequest(`The body must be a list of at most ${mostDeleted} ids.`)
        sendJson(incoming.response, 200, { deleted: true, count: chats.remove(ids) })
      }),
    },
  ]
}

function nameIn(fields: Readonly<Record<string, unknown>>): string {
  const { name } = fields
  if (typeof name !== 'string' || name.trim() === '' || !name.isWellFormed())
    throw invalidRequest('name is required: a text that is not empty.')
  return name.trim()
}

const isIds = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= mostDeleted && value.every((id) => typeof id === 'string')
