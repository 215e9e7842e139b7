import type { Server as HttpServer } from 'node:http'
import { createServer, isIP, type Server } from 'node:net'
import { Fault } from '../contracts/faults/fault.ts'
import { oneLine } from '../text/printable.ts'

interface Wanted {
  host: string
  port: number
  /** Listen on an address that other machines can reach. */
  allowRemote: boolean
}

/** The address to listen on, where it is one that may be listened on. */
export function checkHost({ host, allowRemote }: Wanted): string {
  if (host === 'localhost') return '127.0.0.1'
  if (host === '127.0.0.1' || host === '::1') return host
  const refuse = (message: string, hint: string): Fault => new Fault('bad-input', message, { hint })
  if (isIP(host) === 0)
    throw refuse(`Not an address: ${oneLine(host, 80)}`, 'Give an IP address of this machine, e.g. 127.0.0.1.')
  if (isEveryAddress(host)) throw refuse('Handrail does not listen on every address', 'Name one address of this machine.')
  if (!allowRemote)
    throw refuse(
      `${host} can be reached by other machines`,
      'Add --allow-remote if that is what you want; the token goes over the wire unencrypted.',
    )
  return host
}

/** Any way to write the address that stands for all of them; one with a zone is not taken at all. */
function isEveryAddress(host: string): boolean {
  if (isIP(host) === 4) return host === '0.0.0.0'
  const address = `http://[${host}]/`
  return !URL.canParse(address) || ['[::]', '[::ffff:0:0]'].includes(new URL(address).hostname)
}

/** Exact origins only: `null` and `*` are everybody. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text)
}

export function startFault(cause: NodeJS.ErrnoException, { host, port }: Wanted): Error {
  if (cause.code === 'EADDRINUSE')
    return new Fault('conflict', `Port ${port} is in use`, {
      hint: 'Choose another with --port, or 0 for any free one.',
      cause,
    })
  if (cause.code === 'EADDRNOTAVAIL' || cause.code === 'EACCES')
    return new Fault('bad-input', `Cannot listen on ${host} port ${port}`, {
      hint: 'Choose another --host or --port.',
      cause,
    })
  return cause
}

const twins: Record<string, string> = { '127.0.0.1': '::1', '::1': '127.0.0.1' }

/**
 * The same port of the other loopback address, for the same server: a browser takes either for a name that ends in `.localhost`, and must
 * not find somebody else there. Undefined where it is somebody else's, or where the server is not on loopback.
 */
export function holdTwin(server: HttpServer, host: string, port: number): Promise<{ close(): void } | undefined> {
  const twin = twins[host]
  if (twin === undefined) return Promise.resolve(undefined)
  const second: Server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))
  second.maxConnections = server.maxConnections
  return new Promise((resolve) => {
    second.once('error', ({ code }: NodeJS.ErrnoException) =>
      // Without such an address nobody is there.
      resolve(code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT' ? { close: () => undefined } : undefined),
    )
    second.listen({ port, host: twin, ipv6Only: true }, () => resolve(second.on('error', () => undefined)))
  })
}
