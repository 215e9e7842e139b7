import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../contracts/refusal.ts'
import type { ShownBy, WebSocketRoute } from './websockets.ts'

/** One request that was let in. */
export interface Incoming {
  request: IncomingMessage
  response: ServerResponse
  /** Without the query, and without the base path that a person's pages are in. */
  path: string
  query: URLSearchParams
  by: ShownBy
  /** It becomes a stream that stays open while nothing happens: it takes a place among those, and none among the connections. Throws where there is none. */
  stays(): Promise<void>
  /** The whole body, within the limits; throws a `Refusal` where it is beyond them. */
  body(): Promise<Buffer>
}

export interface Route {
  methods: readonly string[]
  /**
   * Whose credential opens it. What `anyone` sees must not show or do anything that matters. `person` is one of their pages, opened by the
   * cookie of a sign-in; `key` is for their programs, opened by a key that `handrail approvals key` prints, and by no cookie.
   */
  for: 'anyone' | 'agent' | 'person' | 'key' | 'agent or key'
  /** The token may come as `X-API-Key` here as well; two credentials are none. */
  apiKey?: true
  /** How a refusal is told here, also one of the listener itself: its body, as JSON, and more headers. */
  tells?: (refusal: Refusal, request: IncomingMessage) => { body: unknown; headers?: Record<string, string> }
  /** Something a browser shows, and as what; a person's routes are. No agent's route is found at the page's own name. */
  shows?: 'document' | 'image'
  handle(incoming: Incoming): void | Promise<void>
  /** Takes what becomes a WebSocket; without it an upgrade is refused here. A person's is opened by our own pages only. */
  webSocket?: WebSocketRoute
}

export function findRoute(routes: Record<string, Route>, path: string): Route | undefined {
  if (Object.hasOwn(routes, path)) return routes[path]
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
    const above = `${path.slice(0, slash + 1)}*`
    if (Object.hasOwn(routes, above)) return routes[above]
  }
  return undefined
}

/** Where below the base path of the person's pages, or outside it, an address leads. */
export function placeOf(whole: string, basePath: string): { path: string; within: boolean } {
  const within = whole.startsWith(`${basePath}/`)
  return { path: within ? whole.slice(basePath.length) : whole, within }
}

export function showsAs(route: Route): string | undefined {
  return route.shows ?? (route.for === 'person' ? 'document' : undefined)
}

/**
 * Whether a page is asked for as a page, by the person or by our own pages. Browsers say so in headers that no script can set; where there
 * are none, as with `curl`, the cookie, the base path and the Origin of forms still hold.
 */
export function cameByItself({ headers, method }: IncomingMessage, route: Route, upgrade: boolean): boolean {
  const shows = showsAs(route) && (upgrade ? 'websocket' : showsAs(route))
  if (shows === undefined) return true
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-dest': dest = shows } = headers
  const purpose = String(headers['sec-purpose'] ?? headers['purpose'] ?? headers['x-moz'] ?? '')
  if (dest !== shows) throw new Refusal(403, 'This is a page of its own: not for frames, scripts or other pages.')
  if (purpose.includes('prefetch') || purpose.includes('preview')) throw new Refusal(403, 'Not ahead of time.')
  const stranger = !['same-origin', 'none'].includes(site)
  // No browser keeps other pages from opening a WebSocket: the Origin is all there is.
  const sends = upgrade || (method !== 'GET' && method !== 'HEAD')
  if (sends && (stranger || headers.origin !== `http://${headers.host}`))
    throw new Refusal(403, 'This form was not sent from here; open the page again.')
  return !stranger || route.for !== 'person'
}

export function timesGiven({ rawHeaders }: IncomingMessage, header: string): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === header).length
}
