import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ToolError } from '../contracts/errors.ts'

export type Route = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

export interface Listening {
  url: string
  port: number
  close(): Promise<void>
}

export interface ListenOptions {
  port: number
  token: string
  /** Behind the token. */
  guarded: Record<string, Route>
  /** For anybody on this machine: must not show or do anything that matters. */
  open: Record<string, Route>
}

/** The one listener: loopback only; Host, Origin and token are checked here, before any route sees the request. */
export function listen(options: ListenOptions): Promise<Listening> {
  let port = 0
  const secret = hash(options.token)
  const server = createServer(
    { connectionsCheckingInterval: 1_000, headersTimeout: 10_000, requestTimeout: 120_000, maxHeaderSize: 16_384 },
    (request, response) => {
      response.setHeader('X-Content-Type-Options', 'nosniff')
      response.setHeader('Cache-Control', 'no-store')
      const refusal = refuse(request, port)
      if (refusal) return answer(response, 403, { error: refusal })
      const path = (request.url ?? '/').split('?')[0] as string
      const open = Object.hasOwn(options.open, path) ? options.open[path] : undefined
      if (open) return void open(request, response)
      const route = Object.hasOwn(options.guarded, path) ? options.guarded[path] : undefined
      if (!hasToken(request, secret)) {
        response.setHeader('WWW-Authenticate', 'Bearer')
        return answer(response, 401, { error: 'A bearer token is needed. It is in the file that `handrail serve` names.' })
      }
      if (!route) return answer(response, 404, { error: 'Nothing here.' })
      void route(request, response)
    },
  )
  server.maxConnections = 256
  server.on('clientError', (_, socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === 'EADDRINUSE'
          ? new ToolError('E_CONFLICT', `Port ${options.port} is in use`, {
              hint: 'Choose another with --port, or 0 for any free one.',
              cause,
            })
          : cause,
      ),
    )
    server.listen(options.port, '127.0.0.1', () => {
      port = (server.address() as AddressInfo).port
      resolve({
        port,
        url: `http://127.0.0.1:${port}`,
        close: () =>
          new Promise((done) => {
            server.close(() => done())
            server.closeAllConnections()
          }),
      })
    })
  })
}

export function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(`${JSON.stringify(body)}\n`)
}

/** Names this listener answers to. Anything else is a page of somebody else talking to us through the browser. */
function refuse(request: IncomingMessage, port: number): string | undefined {
  const ours = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]
  const { host, origin } = request.headers
  if (host === undefined || !ours.includes(host)) return 'This Host is not served here.'
  if (origin !== undefined && !ours.some((name) => origin === `http://${name}`)) return 'This Origin is not served here.'
  return undefined
}

function hasToken(request: IncomingMessage, secret: Buffer): boolean {
  const given = /^Bearer ([A-Za-z0-9_-]{1,200})$/.exec(request.headers.authorization ?? '')?.[1]
  return given !== undefined && timingSafeEqual(hash(given), secret)
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
