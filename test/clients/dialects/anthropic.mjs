// Anthropic Messages.

const deferral = 'available via ToolSearch'
const loading = 'toolu_load'

export const anthropic = {
  read(method, path, body) {
    if (method !== 'POST' || path !== '/v1/messages') return undefined
    const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
    return {
      tools: (body.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.input_schema })),
      deferred: blocks.flatMap(({ text }) =>
        text?.includes(deferral) ? text.split('\n').filter((line) => /^\w+$/.test(line)) : [],
      ),
      results: blocks
        .filter(({ type, tool_use_id }) => type === 'tool_result' && tool_use_id !== loading)
        .map(({ content }) => content),
    }
  },

  /** Claude Code holds the tools of MCP servers back and names them only; the model has to fetch them. */
  load(names) {
    return { call: { id: 'load', name: 'ToolSearch', input: { query: `select:${names.join(',')}`, max_results: names.length } } }
  },

  aside(path, response) {
    json(response, path.endsWith('/count_tokens') ? { input_tokens: 10 } : {})
  },

  reply(response, body, _path, { text, call }) {
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 1 },
    }
    const block = call ? { type: 'tool_use', id: `toolu_${call.id}`, name: call.name, input: call.input } : { type: 'text', text }
    const stop = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null }
    if (!body.stream) return json(response, { ...message, content: [block], ...stop })
    const send = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    send({ type: 'message_start', message })
    send({ type: 'content_block_start', index: 0, content_block: call ? { ...block, input: {} } : { type: 'text', text: '' } })
    send({
      type: 'content_block_delta',
      index: 0,
      delta: call ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) } : { type: 'text_delta', text },
    })
    send({ type: 'content_block_stop', index: 0 })
    send({ type: 'message_delta', delta: stop, usage: { output_tokens: 10 } })
    send({ type: 'message_stop' })
    response.end()
  },
}

function json(response, value) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
