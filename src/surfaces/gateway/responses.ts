import { randomUUID } from 'node:crypto'
import type { TurnEvent } from '../../contracts/turn.ts'

type Fields = Record<string, unknown>

const serverLabel = 'handrail'

/** A frame of the stream: its name stands in an `event:` line as well. */
export type ResponsesFrame = Fields & { type: string; sequence_number: number }

export interface ResponsesLog {
  take(event: TurnEvent): ResponsesFrame[]
  /** What a request without a stream is answered with. */
  response(): Fields
}

/**
 * A turn in the shape of OpenAI's Responses API. A tool that ran here is an `mcp_call`, as theirs of servers are: a `function_call` would ask
 * the client to run it.
 */
export function openResponses(model: string): ResponsesLog {
  const id = `resp_${randomUUID().replaceAll('-', '')}`
  const createdAt = Math.floor(Date.now() / 1_000)
  const output: Fields[] = []
  let status = 'in_progress'
  let error: Fields | null = null
  let sequence = 0
  let begun = false
  let call: { at: number; item: Fields } | undefined
  let text: { at: number; item: Fields; said: string } | undefined

  const response = (): Fields => ({
    id,
    object: 'response',
    created_at: createdAt,
    status,
    model,
    output: [...output],
    error,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: false,
    temperature: null,
    top_p: null,
    tool_choice: 'auto',
    tools: [],
  })
  const frame = (type: string, more: Fields): ResponsesFrame => ({ type, sequence_number: sequence++, ...more })
  const begin = (): ResponsesFrame[] => {
    if (begun) return []
    begun = true
    return [frame('response.created', { response: response() }), frame('response.in_progress', { response: response() })]
  }
  const add = (item: Fields): number => output.push(item) - 1
  const place = (at: number): Fields => ({ output_index: at, item_id: output[at]?.['id'] })
  const added = (at: number, item: Fields): ResponsesFrame => frame('response.output_item.added', { output_index: at, item })
  const done = (at: number): ResponsesFrame => frame('response.output_item.done', { output_index: at, item: output[at] })

  const endCall = (outcome: Fields, how: 'completed' | 'failed'): ResponsesFrame[] => {
    if (!call) return []
    const { at, item } = call
    call = undefined
    output[at] = { ...item, ...outcome, status: how }
    return [frame(`response.mcp_call.${how}`, place(at)), done(at)]
  }
  const endText = (how: 'completed' | 'incomplete'): ResponsesFrame[] => {
    if (!text) return []
    const { at, item, said } = text
    text = undefined
    const part = { type: 'output_text', text: said, annotations: [], logprobs: [] }
    output[at] = { ...item, content: [part], status: how }
    const where = { ...place(at), content_index: 0 }
    return [
      frame('response.output_text.done', { ...where, text: said, logprobs: [] }),
      frame('response.content_part.done', { ...where, part }),
      done(at),
    ]
  }

  const framesOf = (event: TurnEvent): ResponsesFrame[] => {
    switch (event.type) {
      case 'step':
        return []
      case 'tool_call': {
        const { name, input } = event
        const given = JSON.stringify(input)
        const item = { type: 'mcp_call', id: `mcp_${randomUUID().replaceAll('-', '')}`, server_label: serverLabel, name }
        const opened = { ...item, arguments: '', status: 'in_progress' }
        const said = endText('completed')
        const at = add(opened)
        call = { at, item: { ...item, arguments: given } }
        return [
          ...said,
          added(at, opened),
          frame('response.mcp_call.in_progress', place(at)),
          frame('response.mcp_call_arguments.delta', { ...place(at), delta: given }),
          frame('response.mcp_call_arguments.done', { ...place(at), arguments: given }),
        ]
      }
      case 'approval': {
        const { approval, name, input } = event
        const item = {
          type: 'mcp_approval_request',
          id: approval,
          name,
          arguments: JSON.stringify(input),
          server_label: serverLabel,
        }
        const said = endText('completed')
        const at = add(item)
        return [...said, added(at, item), done(at)]
      }
      case 'tool_result':
        return endCall({ output: JSON.stringify(event.result), error: null }, 'completed')
      case 'delta': {
        const { delta } = event
        const first = text === undefined
        if (!text) {
          const item = { type: 'message', id: `msg_${randomUUID().replaceAll('-', '')}`, role: 'assistant', content: [] }
          text = { at: add({ ...item, status: 'in_progress' }), item, said: '' }
        }
        text.said += delta
        const where = { ...place(text.at), content_index: 0 }
        const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
        return [
          ...(first ? [added(text.at, output[text.at] as Fields), frame('response.content_part.added', { ...where, part })] : []),
          frame('response.output_text.delta', { ...where, delta, logprobs: [] }),
        ]
      }
      case 'completed': {
        const frames = endText('completed')
        status = 'completed'
        return [...frames, frame('response.completed', { response: response() })]
      }
      case 'failed': {
        const { code, message } = event.error
        const frames = [...endText('incomplete'), ...endCall({ output: null, error: `${code}: ${message}` }, 'failed')]
        status = 'failed'
        error = { code, message }
        return [...frames, frame('response.failed', { response: response() })]
      }
    }
  }
  return { take: (event) => [...begin(), ...framesOf(event)], response }
}
