import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { statuses001 } from '../contracts/faults/contract-001.ts'
import { Refusal } from '../contracts/refusal.ts'
import type { TurnError } from '../contracts/turn.ts'
import { parseJson } from '../text/json.ts'
import type { Incoming } from './routes.ts'

/** Contract 001's codes for what is no tool call; the six for tools are in its table of faults. */
const byStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'invalid_request',
  415: 'invalid_request',
  429: 'too_many_requests',
  500: 'internal_error',
  503: 'unavailable',
}

/** A request that is refused with a code of its own. */
export class Coded extends Error {
  readonly error: TurnError
  constructor(error: TurnError) {
    super(error.message)
    this.error = error
  }
}

export const invalidRequest = (message: string): Coded =>
  new Coded({ status: statuses001.invalid_request, code: 'invalid_request', message })

export const notFound = (message: string): Coded => new Coded({ status: 404, code: 'not_found', message })

/** `type` is what clients of OpenAI look at beside the code. */
export function envelopeOf({ status, code, message, details }: TurnError): { error: Record<string, unknown> } {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error'
  return { error: { code, message, type, ...(details && { details }) } }
}

/** The caller's own id of its request, or one made here: 16 hexadecimal digits. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  if (typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given)) return given
  const random = randomUUID()
  return random.slice(0, 8) + random.slice(-8)
}

/** How the listener's own refusals are told on these routes. */
export function tells(refusal: Refusal, request: IncomingMessage): { body: unknown; headers: Record<string, string> } {
  const { status, message } = refusal
  return {
    body: envelopeOf({ status, code: byStatus[status] ?? 'internal_error', message }),
    headers: { 'X-Request-Id': requestIdOf(request) },
  }
}

/** An answer as JSON, with its length: whoever reads it knows when it is over. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': bytes.length })
  response.end(bytes)
}

type Fields = Readonly<Record<string, unknown>>

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The body of a request as an object. */
export async function readFields(incoming: Incoming): Promise<Fields> {
  const value = await readJson(incoming)
  if (!isFields(value)) throw invalidRequest('The body must be a JSON object.')
  return value
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The JSON in a request. A form of another page cannot send this type, and what is nested or listed without end is not read. */
export async function readJson({ request, body }: Incoming): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Refusal(415, 'Content-Type must be application/json.')
  const bytes = await body()
  try {
    return parseJson(utf8.decode(bytes))
  } catch (fault) {
    const why = fault instanceof SyntaxError ? fault.message.slice(0, 100) : 'not valid UTF-8'
    throw new Coded({ status: 400, code: 'invalid_json', message: `The body is no JSON: ${why}` })
  }
}

/** Whatever is thrown with a code is told with it; the request's id goes back in any case. */
export function inEnvelope<P>(handle: (incoming: Incoming, params: P) => void | Promise<void>) {
  return async (incoming: Incoming, params: P): Promise<void> => {
    incoming.response.setHeader('X-Request-Id', requestIdOf(incoming.request))
    try {
      await handle(incoming, params)
    } catch (thrown) {
      if (!(thrown instanceof Coded) || incoming.response.headersSent) throw thrown
      sendJson(incoming.response, thrown.error.status, envelopeOf(thrown.error))
    }
  }
}
