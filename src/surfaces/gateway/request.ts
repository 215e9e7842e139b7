import { statuses001 } from '../../contracts/faults/contract-001.ts'
import type { Speaker, ToolRequest, TurnMessage } from '../../contracts/turn.ts'
import { Coded, invalidRequest, isFields } from '../envelope.ts'

type Fields = Readonly<Record<string, unknown>>

const longestId = 256
const mostMessages = 1_000
const roles = ['system', 'user', 'assistant', 'tool']

/** An answer that a client gives to a question of ours, with an agent's token: it is written down, and decides nothing. */
export interface ClientAnswer {
  approval: string
  approve: boolean
  reason?: string
}

export interface Said {
  messages: TurnMessage[]
  answer?: ClientAnswer
}

/** Contract 001 wants all three; where another dialect leaves one out, there is something to put in its place. */
export function speakerIn(fields: Fields, instead: Partial<Speaker> = {}): Speaker {
  const one = (name: keyof Speaker): string => {
    const given = fields[name] ?? instead[name]
    if (typeof given !== 'string' || given.trim() === '') throw invalidRequest(`${name} is required: a text that is not empty.`)
    if (given.length > longestId || !given.isWellFormed()) throw invalidRequest(`${name} may have ${longestId} characters.`)
    return given
  }
  return { session_id: one('session_id'), user_id: one('user_id'), channel: one('channel').toLowerCase() }
}

/** Whether the answer is to be a stream. A word that only looks like a yes would leave whoever waits for events without one. */
export function streamIn({ stream }: Fields): boolean {
  if (stream === undefined || stream === null) return false
  if (typeof stream !== 'boolean') throw invalidRequest('stream must be true or false.')
  return stream
}

const badTool = (message: string): Coded =>
  new Coded({ status: statuses001.invalid_tool_input, code: 'invalid_tool_input', message })

/** `biz_params.tool`, also where a client spreads `biz_params` over the top level. */
export function toolIn(fields: Fields): ToolRequest | undefined {
  const { biz_params: params } = fields
  if (params !== undefined && params !== null && !isFields(params)) throw invalidRequest('biz_params must be an object.')
  const tool = (isFields(params) ? params['tool'] : undefined) ?? fields['tool']
  if (tool === undefined || tool === null) return undefined
  if (!isFields(tool)) throw badTool('biz_params.tool must be an object.')
  const { name, input } = tool
  if (name === undefined || name === null) throw badTool('biz_params.tool.name is required.')
  if (typeof name !== 'string') throw badTool('biz_params.tool.name must be a text.')
  const plain = name.trim().toLowerCase()
  if (plain === '') throw badTool('biz_params.tool.name is empty.')
  if (input !== undefined && input !== null && !isFields(input)) throw badTool('biz_params.tool.input must be an object.')
  return { name: plain, input: { ...(input as Fields | null | undefined) } }
}

/** What was said, as text; a list of messages, or a text alone. */
export function saidIn(fields: Fields, wanted: boolean): Said {
  const { input } = fields
  if (input === undefined || input === null) {
    if (wanted) throw invalidRequest('input is required: a list of messages.')
    return { messages: [] }
  }
  if (typeof input === 'string') return { messages: [{ role: 'user', type: 'message', text: input }] }
  if (!Array.isArray(input)) throw invalidRequest('input must be a list of messages.')
  if (input.length > mostMessages) throw invalidRequest(`input may have ${mostMessages} messages.`)
  if (wanted && input.length === 0) throw invalidRequest('input must have at least one message.')
  const answer = answerIn(input.at(-1))
  const messages = input.map((message, at): TurnMessage => {
    if (!isFields(message)) throw invalidRequest(`input[${at}] must be an object.`)
    const { role = 'user', type = 'message', content } = message
    if (typeof role !== 'string' || !roles.includes(role))
      throw invalidRequest(`input[${at}].role must be one of ${roles.join(', ')}.`)
    if (typeof type !== 'string' || type.length > 64) throw invalidRequest(`input[${at}].type must be a short text.`)
    return { role, type, text: textOf(content, at) }
  })
  return answer ? { messages, answer } : { messages }
}

function textOf(content: unknown, at: number): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalidRequest(`input[${at}].content must be a list.`)
  return content
    .map((part: unknown, index) => {
      if (!isFields(part)) throw invalidRequest(`input[${at}].content[${index}] must be an object.`)
      return typeof part['text'] === 'string' ? part['text'] : ''
    })
    .filter((text) => text !== '')
    .join('\n')
}

/** AgentScope puts it into the data of a message, OpenAI into the item itself. */
function answerIn(message: unknown): ClientAnswer | undefined {
  if (!isFields(message) || message['type'] !== 'mcp_approval_response') return undefined
  const [part] = Array.isArray(message['content']) ? (message['content'] as unknown[]) : []
  const data = isFields(part) && isFields(part['data']) ? part['data'] : message
  const { approval_request_id: approval = data['id'], approve, reason } = data
  if (typeof approval !== 'string' || typeof approve !== 'boolean')
    throw invalidRequest('An mcp_approval_response needs approval_request_id and approve.')
  return { approval, approve, ...(typeof reason === 'string' && { reason: reason.slice(0, 1_000) }) }
}
