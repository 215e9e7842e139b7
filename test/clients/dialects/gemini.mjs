// Gemini generateContent.

export const gemini = {
  read(method, path, body) {
    if (method !== 'POST' || !/:(streamGenerateContent|generateContent)$/.test(path)) return undefined
    return {
      tools: (body.tools ?? [])
        .flatMap((group) => group.functionDeclarations ?? [])
        .map((tool) => ({ name: tool.name, schema: tool.parametersJsonSchema ?? tool.parameters })),
      results: body.contents
        .flatMap(({ parts }) => parts ?? [])
        .filter((part) => part.functionResponse)
        .map((part) => part.functionResponse.response),
    }
  },

  aside(path, response) {
    json(response, path.endsWith(':countTokens') ? { totalTokens: 10 } : {})
  },

  reply(response, _body, path, { text, call }) {
    const part = call ? { functionCall: { id: call.id, name: call.name, args: call.input } } : { text }
    const answer = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: 'scripted',
    }
    if (path.endsWith(':generateContent')) return json(response, answer)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(answer)}\n\n`)
  },
}

function json(response, value) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
