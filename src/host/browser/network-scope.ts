import { isWebAddress } from '../../text/address.ts'
import { plainHost } from '../../text/host-name.ts'
import { addressRange } from './address-range.ts'

/** Where a page may go: an exact host, as the address bar would show it, and a port. Everything it loads is judged by this. */
export interface NetworkScope {
  mayReach(host: string, port: number): boolean
  /** Kinds of sub-resources (`Sec-Fetch-Dest`) that are not fetched. */
  readonly skips?: readonly string[]
}

/**
 * The internet and nothing else: no address of this machine or of a private network, in no spelling. What names lead to is judged by the
 * proxy when it connects.
 */
export function internetOnly(isForbidden: (host: string) => boolean): NetworkScope {
  return {
    skips: looks,
    mayReach(given) {
      const host = plainHost(given)
      const where = host === undefined ? undefined : addressRange(host)
      return (where === 'name' || where === 'public') && !isForbidden(host as string)
    },
  }
}

/** These hosts of this machine and its network, and no others. Asked for each time: there may be more of them later. */
export function theseOnly(mayReach: (host: string) => boolean): NetworkScope {
  return {
    skips: looks,
    mayReach(given) {
      const host = plainHost(given)
      return host !== undefined && mayReach(host)
    },
  }
}

/** What a page is dressed in, and nobody reads. Style sheets are not among it: they say what is visible. */
const looks = ['image', 'font', 'audio', 'video', 'track']

/**
 * Every port of the named hosts. Names are compared whole: `localhost.evil` and `x.localhost` are other hosts. `served` are names with their
 * ports to which servers of ours send browsers on from `localhost`.
 */
export function hostsOnly(hosts: readonly string[], served: readonly string[] = []): NetworkScope {
  const known = new Set(hosts.map((host) => bracketed(host.toLowerCase())))
  const sentOn = (host: string, port: number): boolean => previewName.test(host) || served.includes(`${host}:${port}`)
  return { mayReach: (host, port) => known.has(host.toLowerCase()) || (known.has('localhost') && sentOn(host, port)) }
}

/** One server on this machine and nothing else. */
export function portOnly(port: number): NetworkScope {
  return { mayReach: (host, asked) => asked === port && (loopbackNames.includes(host) || previewName.test(host)) }
}

/** A preview sends browsers on from `localhost` to a name of its own, which leads to this machine all the same. */
const previewName = /^preview-[0-9a-f]{16}\.localhost$/

export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether a page may be sent to this address: http(s) within the network scope, without a name and password in it. */
export function mayOpen(address: string, scope: NetworkScope): boolean {
  return isWebAddress(address, (url) => scope.mayReach(url.hostname, portOf(url)))
}

/** Where a page is before it is sent anywhere, and after an address that gave no answer. */
export function isNowhere(address: string): boolean {
  return address === '' || address === 'about:blank' || address.startsWith('chrome-error://')
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' || url.protocol === 'wss:' ? 443 : 80) : Number(url.port)
}

/** IPv6 addresses the way URLs write them. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** A page of this machine, or of a network that is not the internet. */
export function isNear(host: string): boolean {
  const where = addressRange(plainHost(host) ?? host)
  return where === 'machine' || where === 'private'
}
