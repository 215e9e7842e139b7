import { randomUUID } from 'node:crypto'
import type { Speaker, TurnEvent } from '../../contracts/turn.ts'

type Frame = Record<string, unknown>

const serverLabel = 'handrail'
const seconds = (): number => Math.floor(Date.now() / 1_000)

/** What its web client is told to ignore, and so a safe sign of life. */
export const agentScopeHeartbeat: Frame = { object: 'message', type: 'heartbeat' }

interface Message extends Frame {
  id: string
  content: Frame[]
}

/**
 * A turn as AgentScope Runtime streams it. Its web client takes every frame without a known `object` for a fatal error, empties its list at a
 * response without output, and knows one part of one message at a time: so the frames come in exactly this order.
 */
export function openAgentScope({ session_id }: Speaker): (event: TurnEvent) => Frame[] {
  const id = `response_${randomUUID()}`
  const createdAt = seconds()
  const output: Message[] = []
  let sequence = 0
  let begun = false
  let call: { id: string; name: string } | undefined
  let text: { message: Message; said: string } | undefined

  const numbered = (frame: Frame): Frame => ({ sequence_number: sequence++, ...frame })
  const response = (status: string, more: Frame = {}): Frame =>
    numbered({ object: 'response', id, status, created_at: createdAt, session_id, ...more })
  const begin = (): Frame[] => {
    if (begun) return []
    begun = true
    return [response('created'), response('in_progress')]
  }
  const opened = (type: string, role: string): Message => ({
    object: 'message',
    id: `msg_${randomUUID()}`,
    type,
    role,
    content: [],
  })
  const part = (message: Message, content: Frame, delta: boolean, status: string): Frame =>
    numbered({ object: 'content', msg_id: message.id, index: 0, delta, status, ...content })
  const finished = (message: Message, content: Frame, status = 'completed'): Frame[] => {
    message.content = [{ object: 'content', msg_id: message.id, index: 0, delta: false, status, ...content }]
    output.push({ ...message, status })
    return [part(message, content, false, status), numbered({ ...message, status })]
  }
  /** A message with one part of data, given whole. */
  const dataMessage = (type: string, role: string, data: Frame, first?: Frame): Frame[] => {
    const message = opened(type, role)
    return [
      numbered({ ...message, content: null, status: 'in_progress' }),
      ...(first ? [part(message, { type: 'data', data: first }, false, 'in_progress')] : []),
      ...finished(message, { type: 'data', data }),
    ]
  }
  const result = (value: unknown): Frame[] => {
    if (!call) return []
    const { id: call_id, name } = call
    call = undefined
    return dataMessage('plugin_call_output', 'tool', { call_id, name, output: JSON.stringify(value) })
  }
  const closeText = (status = 'completed'): Frame[] => {
    if (!text) return []
    const { message, said } = text
    text = undefined
    return finished(message, { type: 'text', text: said }, status)
  }
  const ended = (status: string, more: Frame = {}): Frame =>
    response(status, { output, usage: null, completed_at: seconds(), ...more })

  const framesOf = (event: TurnEvent): Frame[] => {
    switch (event.type) {
      case 'step':
        return []
      case 'tool_call': {
        const { id: call_id, name, input } = event
        call = { id: call_id, name }
        const data = { call_id, name, arguments: JSON.stringify(input) }
        return [...closeText(), ...dataMessage('plugin_call', 'assistant', data, { ...data, arguments: '' })]
      }
      case 'approval': {
        const { approval, name, input } = event
        const data = { id: approval, name, arguments: JSON.stringify(input), server_label: serverLabel }
        return [...closeText(), ...dataMessage('mcp_approval_request', 'assistant', data)]
      }
      case 'tool_result':
        return result(event.result)
      case 'delta': {
        const first = text === undefined
        text ??= { message: opened('message', 'assistant'), said: '' }
        text.said += event.delta
        return [
          ...(first ? [numbered({ ...text.message, content: null, status: 'in_progress' })] : []),
          part(text.message, { type: 'text', text: event.delta }, true, 'in_progress'),
        ]
      }
      case 'completed':
        return [...closeText(), ended('completed')]
      case 'failed': {
        const { code, message } = event.error
        return [
          ...closeText('incomplete'),
          ...result({ error: { code, message } }),
          ended('failed', { error: { code, message } }),
        ]
      }
    }
  }
  return (event) => [...begin(), ...framesOf(event)]
}
