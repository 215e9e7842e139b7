// OpenAI Chat Completions.

export const openai = {
  read(method, path, body) {
    if (method !== 'POST' || !path.endsWith('/chat/completions')) return undefined
    return {
      tools: (body.tools ?? []).map((tool) => ({ name: tool.function.name, schema: tool.function.parameters })),
      results: body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
    }
  },

  aside(path, response) {
    json(response, path.endsWith('/models') ? { object: 'list', data: [{ id: 'scripted', object: 'model' }] } : {})
  },

  reply(response, body, _path, { text, call }) {
    const calls = call && [
      { index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } },
    ]
    const spoken = call ? { role: 'assistant', content: null, tool_calls: calls } : { role: 'assistant', content: text }
    const finish_reason = call ? 'tool_calls' : 'stop'
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
    const head = { id: 'chatcmpl-1', created: 1, model: body.model }
    if (!body.stream)
      return json(response, {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: spoken, finish_reason }],
        usage,
      })
    const send = (choices, more) =>
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    send([{ index: 0, delta: spoken, finish_reason: null }])
    send([{ index: 0, delta: {}, finish_reason }])
    send([], { usage })
    response.end('data: [DONE]\n\n')
  },
}

function json(response, value) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
