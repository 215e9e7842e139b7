// The least a gateway could be: node:http, the request parsed, the file read, the same answer. No gate, no log, no history, no token.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'

const [project] = process.argv.slice(2)

const bodyOf = async (request) => {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return JSON.parse(Buffer.concat(pieces).toString('utf8'))
}

const server = createServer(async (request, response) => {
  const { biz_params } = await bodyOf(request)
  const { path } = biz_params.tool.input
  const content = await readFile(join(project, path), 'utf8')
  // `/bare` gives the file once, in as small an envelope as there is.
  const answer =
    request.url === '/bare'
      ? { content }
      : {
          reply: content,
          events: [
            { type: 'step_started', step: 1 },
            { type: 'tool_call', step: 1, tool_call: biz_params.tool },
            { type: 'tool_result', step: 1, tool_result: { name: 'read_file', ok: true, summary: content.slice(0, 160) } },
            { type: 'assistant_delta', step: 1, delta: content },
            { type: 'completed', step: 1, reply: content },
          ],
          tool_result: { ok: true, path, size: content.length, truncated: false, content, text: content },
        }
  const text = JSON.stringify(answer)
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`),
)
