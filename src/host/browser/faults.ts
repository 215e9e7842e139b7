import { Fault } from '../../contracts/faults/fault.ts'

/** What the driver says of a page, in our words. `gone`: the page, or its browser, is no more. */
export function pageFault(cause: unknown, what: string, gone: boolean): Fault {
  if (cause instanceof Fault) return cause
  const text = cause instanceof Error ? cause.message : String(cause)
  if (cause instanceof Error && cause.name === 'TimeoutError') return pageTimeout(what, cause)
  const net = /net::(ERR_[A-Z_]+)/.exec(text)?.[1]
  return new Fault(
    gone ? 'page-crashed' : 'preview',
    `The page could not be used${net ? ` (${net})` : ''}: ${what.slice(0, 200)}`,
    {
      hint: gone
        ? 'The page or its browser ended; open it again.'
        : 'Check that a server listens there and that the address is right.',
      cause,
    },
  )
}

export function pageTimeout(what: string, cause?: unknown): Fault {
  return new Fault('page-timeout', `The page did not answer in time: ${what.slice(0, 200)}`, {
    hint: 'Is the server slow or stuck? Raise limits.browserTimeoutMs if it needs longer.',
    cause,
  })
}

export function notAnswering(): Fault {
  return new Fault('page-crashed', 'The browser does not answer any more', { hint: 'It was ended; the next try has a new one.' })
}

export function notAllowed(address: string, from?: string): Fault {
  return new Fault(
    'policy',
    from === undefined || from === address
      ? `Address not allowed: ${address.slice(0, 200)}`
      : `${from.slice(0, 200)} leads to an address that is not allowed: ${address.slice(0, 200)}`,
    { hint: 'Only http(s) addresses on policies.browserAllowedHosts may be opened.' },
  )
}

/** A page was sent to a site that nobody let it visit. */
export function siteRefused(address: string, from: string): Fault {
  const host = URL.canParse(address) ? new URL(address).hostname : ''
  const leads = from === address ? 'Address not allowed' : `${from.slice(0, 200)} leads to an address that is not allowed`
  return new Fault('policy', `${leads}: ${address.slice(0, 200)}`, {
    details: { url: address.slice(0, 2_000), ...(host !== '' && { host }) },
    hint: host === '' ? 'Only http(s) addresses are visited.' : `A person can allow the site: handrail grants allow host ${host}`,
  })
}
