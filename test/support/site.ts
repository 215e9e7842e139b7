import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** A web site on this machine that counts who comes. */
export interface Site {
  readonly url: string
  readonly port: number
  /** How often each path was asked for. */
  readonly visits: Map<string, number>
  /** What a path answers: a body of HTML, or whatever is done by hand. */
  readonly pages: Map<string, string | Answer>
  [Symbol.asyncDispose](): Promise<void>
}

export const html = (body: string, title = 'A page'): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,"></head><body>${body}</body></html>`

export async function openSite(pages: Record<string, string | Answer> = {}, host = '127.0.0.1'): Promise<Site> {
  const visits = new Map<string, number>()
  const known = new Map(Object.entries(pages))
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] as string
    visits.set(path, (visits.get(path) ?? 0) + 1)
    const answer = known.get(path) ?? known.get('*')
    if (answer === undefined) return void response.writeHead(404, { 'Content-Type': 'text/html' }).end(html('<h1>Not here</h1>'))
    if (typeof answer === 'function') return void answer(request, response)
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(answer)
  })
  await new Promise<void>((ready) => server.listen(0, host, ready))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    visits,
    pages: known,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
