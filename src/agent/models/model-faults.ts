import { Fault } from '../../contracts/faults/fault.ts'
import { oneLine } from '../../text/printable.ts'
import { redact } from '../../text/redact/redact.ts'

/** What became of a request, in our words: errors of the provider packages hold the whole prompt and the headers, and go no further. */
export interface Refusal {
  fault: Fault
  /** Whether the same request may well go through later. */
  again: boolean
  /** How long the endpoint asks to be left alone. */
  waitMs?: number
}

const later = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529])

/** What each status usually means to the person who set it up. */
const hints: Partial<Record<number, string>> = {
  400: 'The endpoint did not take the request: see that agent.model and agent.baseUrl fit each other.',
  401: 'Give it a key that it takes: `handrail keys set PROVIDER`.',
  403: 'The key does not allow this model: choose another with agent.model, or another key.',
  404: 'There is no such model or address: see agent.model and agent.baseUrl; `handrail chat --models` lists what there is.',
  413: 'The conversation is too long for it: lower agent.contextTokens.',
  429: 'It asks to be left alone for a while, or the account has no credit.',
}

export function refusalOf(thrown: unknown, endpoint: string, key: string | undefined): Refusal {
  const own = faultIn(thrown)
  if (own) return { fault: own, again: false }
  const { statusCode: status, responseHeaders } = fieldsOf(thrown)
  const host = new URL(endpoint).host
  const said = messageOf(thrown, key)
  if (typeof status === 'number') {
    const hint = hints[status]
    const fault = new Fault('model-failed', `The model’s endpoint ${host} answered ${status}${said === '' ? '' : `: ${said}`}`, {
      details: { status, endpoint: host },
      ...(hint !== undefined && { hint }),
    })
    const seconds = Number((responseHeaders as Record<string, string> | undefined)?.['retry-after'])
    return { fault, again: later.has(status), ...(seconds > 0 && { waitMs: seconds * 1_000 }) }
  }
  const fault = new Fault(
    'model-failed',
    `The model’s endpoint ${host} did not answer as it should${said === '' ? '' : `: ${said}`}`,
    {
      details: { endpoint: host },
      hint: 'See that it runs and that agent.baseUrl names it.',
    },
  )
  return { fault, again: isConnection(thrown) }
}

/** What we threw ourselves, however the packages wrapped it. */
function faultIn(thrown: unknown): Fault | undefined {
  for (let one: unknown = thrown, depth = 0; depth < 5 && one instanceof Error; one = one.cause, depth++)
    if (one instanceof Fault) return one
  return undefined
}

const fieldsOf = (thrown: unknown): Record<string, unknown> =>
  typeof thrown === 'object' && thrown !== null ? (thrown as Record<string, unknown>) : {}

/** What the endpoint said, as far as it is shown to people: one line, without the key. */
function messageOf(thrown: unknown, key: string | undefined): string {
  const { message } = fieldsOf(thrown)
  if (typeof message !== 'string') return ''
  const bare = key === undefined || key === '' ? message : message.replaceAll(key, '…')
  return oneLine(redact(bare.slice(0, 2_000)), 200)
}

/** It was not reached, or left in the middle: of the packages' own errors, and of those of fetch. */
function isConnection(thrown: unknown): boolean {
  for (let one: unknown = thrown, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    if (one instanceof TypeError || typeof (one as NodeJS.ErrnoException).code === 'string') return true
  return false
}
