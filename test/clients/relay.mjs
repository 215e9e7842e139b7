// The tap for HTTP: stands between a client and Handrail's port and writes down every message both ways.
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'

/** Gives the address to use instead of `target`. */
export async function openRelay(target, log) {
  const write = (from, line) => appendFileSync(log, `${JSON.stringify({ from, line })}\n`)
  const server = createServer((incoming, outgoing) => {
    const { host, port } = new URL(target)
    const through = ask(
      { host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: { ...incoming.headers, host } },
      (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers)
        answer.pipe(outgoing)
        collect(answer, (text) => messagesIn(text).forEach((line) => write('server', line)))
      },
    )
    through.on('error', () => outgoing.destroy())
    // A client that goes away takes its call back; the server must see that too.
    outgoing.on('close', () => through.destroy())
    incoming.pipe(through)
    collect(incoming, (text) => text.trim() !== '' && write('client', text))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = new URL(target)
  address.port = String(server.address().port)
  return {
    url: address.href,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function collect(stream, done) {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => (text += chunk))
  stream.on('close', () => done(text))
}

/** A plain JSON body, or the messages of an event stream. */
function messagesIn(text) {
  if (text.startsWith('{')) return [text]
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => line.slice(6))
}
