import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'

/**
 * Gives what a server answers on to whoever asked. It is the server of a page or of a program, and says what it likes: an answer that
 * cannot be said again (no status there is, words no header holds, another protocol that nobody asked for) ends this connection, and nothing else.
 */
export function repeatAnswer(
  onward: ClientRequest,
  response: ServerResponse,
  headersOf: (answer: IncomingMessage) => string[] = ({ rawHeaders }) => rawHeaders,
): void {
  onward.once('response', (answer) => {
    try {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headersOf(answer))
    } catch {
      return void response.destroy()
    }
    answer.once('error', () => response.destroy())
    answer.pipe(response)
  })
  onward.once('upgrade', (_, socket) => {
    socket.destroy()
    response.destroy()
  })
  response.once('close', () => onward.destroy())
}
