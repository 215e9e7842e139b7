import { bridgeProtocol } from '../../contracts/bridge.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { parseJson } from '../../text/json.ts'

/** A message that is a request, as far as its envelope goes. */
export interface Request {
  id: string
  method: string
  params: unknown
  token: string | undefined
}

/** What came of a message: a request, or what to answer in its place, and to whom. */
export type Read = { request: Request } | { id: string; fault: Fault }

type Fields = Readonly<Record<string, unknown>>

/** Who is answered where it is not known who asked. */
export const unknownId = 'unknown'
/** Letters, digits, marks, signs and spaces: what can be shown as it is. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,128}$/u

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The envelope of a message, judged before anything in it is looked at. */
export function readRequest(text: string): Read {
  let given: unknown
  try {
    given = parseJson(text)
  } catch (cause) {
    return { id: unknownId, fault: bad(`Not a JSON text: ${(cause as Error).message.slice(0, 120)}`) }
  }
  if (!isFields(given)) return { id: unknownId, fault: bad('A message must be an object') }
  const { protocol, type, requestId, method, params, auth } = given
  const id = typeof requestId === 'string' && printable.test(requestId) ? requestId : unknownId
  const refuse = (message: string): Read => ({ id, fault: bad(message) })
  if (protocol !== bridgeProtocol) return refuse(`protocol must be "${bridgeProtocol}"`)
  if (type !== 'request') return refuse('type must be "request"')
  if (requestId !== id || id.trim() === '')
    return { id: unknownId, fault: bad('requestId must be 1 to 128 printable characters') }
  if (namesPrototype(given)) return refuse('"__proto__" is no name of a field here')
  if (auth !== undefined && !(isFields(auth) && typeof auth['token'] === 'string'))
    return refuse('auth must be { token: string }')
  if (typeof method !== 'string') return refuse('method must be a text')
  return { request: { id, method, params, token: (auth as { token: string } | undefined)?.token } }
}

/** Nothing here copies fields about, and nothing behind us shall. As deep as the parser lets it be. */
function namesPrototype(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values(value).some(namesPrototype)
}

const bad = (message: string): Fault =>
  new Fault('bad-request', message, { hint: 'docs/guide/bridge.md shows every message of this protocol.' })
