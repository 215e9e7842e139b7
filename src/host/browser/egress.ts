import { lookup as resolveName, type LookupAddress } from 'node:dns'
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { claimPort, isOwnPort } from '../own-ports.ts'
import { openOwnUser } from '../own-user.ts'
import { repeatAnswer } from '../repeat-answer.ts'
import { portOf, type NetworkScope } from './network-scope.ts'
import { plainHost } from '../../text/host-name.ts'
import { isPrivate, addressRange } from './address-range.ts'

/** The only way a page has to any network. */
export interface Egress {
  readonly port: number
  /** Hosts and ports that were asked for and refused, in order, each once. */
  readonly refused: readonly string[]
  close(): Promise<void>
}

const mostRefused = 100
const highestPort = 65_535

/**
 * A forward proxy on loopback that judges every connection at the moment it is made: redirects, frames, fetches, WebSockets,
 * workers and downloads have no other way, and the browser itself never resolves a name. `project` is whose page it is.
 */
export function openEgress(scope: NetworkScope, project?: string): Promise<Egress> {
  const refused: string[] = []
  const sockets = new Set<Duplex>()
  const mayReach = (host: string, port: number): boolean => {
    try {
      if (scope.mayReach(host, port) && !leadsToUs(host, port, project)) return true
    } catch {
      // Who cannot be judged is not let through; thrown here, it would end the process.
    }
    const asked = `${host}:${port}`
    if (refused.length < mostRefused && !refused.includes(asked)) refused.push(asked)
    return false
  }

  const context: ProxyContext = {
    mayReach,
    pinned: pinningLookup(),
    skips: scope.skips,
    agent: new Agent({ keepAlive: true, maxSockets: 32 }),
  }
  const isOwn = openOwnUser()
  /** What the person's page may reach is no way out for another user of this machine. */
  const onlyOwn = (socket: Socket, act: () => void): void => void isOwn(socket).then((own) => (own ? act() : socket.destroy()))
  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) =>
    onlyOwn(request.socket, () => forward(request, response, context)),
  )
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy())
    onlyOwn(request.socket, () => tunnel(request, client, head, context))
  })
  // Chromium asks for a tunnel where it wants a WebSocket; anything else that upgrades is not it.
  server.on('upgrade', (_: IncomingMessage, socket: Duplex) => socket.destroy())
  server.on('clientError', (_, socket) => socket.destroy())
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      server.unref()
      const { port } = server.address() as AddressInfo
      const release = claimPort(port)
      resolve({
        port,
        refused,
        close: () =>
          new Promise((done) => {
            release()
            context.agent.destroy()
            server.close(() => done())
            for (const socket of sockets) socket.destroy()
          }),
      })
    })
  })
}

interface ProxyContext {
  mayReach(host: string, port: number): boolean
  pinned: LookupFunction
  skips: NetworkScope['skips']
  agent: Agent
}

/** Handrail does not answer its own pages, under whichever name of this machine they ask, and whichever of its processes they mean. */
function leadsToUs(host: string, port: number, project: string | undefined): boolean {
  return addressRange(plainHost(host) ?? host) === 'machine' && isOwnPort(port, project)
}

function forward(request: IncomingMessage, response: ServerResponse, context: ProxyContext): void {
  let url: URL
  try {
    url = new URL(request.url ?? '')
  } catch {
    return void response.destroy()
  }
  // A refused host gives no answer at all, so that no page can be made to look as if it came from there.
  if (url.protocol !== 'http:' || !context.mayReach(url.hostname, portOf(url))) return void response.destroy()
  // What nobody will look at is not fetched: pictures of a page that is only read.
  if (context.skips?.includes(String(request.headers['sec-fetch-dest']))) return void response.writeHead(204).end()
  const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = request.headers
  const goOn = (agent: Agent | false): void => {
    const onward = send({
      ...target(url.hostname, portOf(url), context),
      method: request.method,
      path: url.pathname + url.search,
      headers,
      agent,
    })
    repeatAnswer(onward, response)
    onward.on('error', () => {
      // The server let go of a connection that was kept; the request itself has not been answered yet.
      if (onward.reusedSocket && request.method === 'GET' && !response.headersSent && !response.destroyed) goOn(false)
      else response.destroy()
    })
    if (request.readableEnded) onward.end()
    else request.pipe(onward)
  }
  goOn(context.agent)
}

function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, context: ProxyContext): void {
  const [, host = '', port = ''] = /^(\[[0-9a-f:.]+\]|[^:/@]+):(\d{1,5})$/i.exec(request.url ?? '') ?? []
  if (host === '' || Number(port) > highestPort || !context.mayReach(host, Number(port)))
    return void client.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
  const onward: Socket = connect(target(host, Number(port), context), () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    onward.write(head)
    onward.pipe(client)
    client.pipe(onward)
  })
  onward.on('error', () => client.destroy())
  onward.once('close', () => client.destroy())
  client.once('close', () => onward.destroy())
}

/** Where a judged host is really connected to: names of this machine have fixed addresses, whatever anybody's DNS says. */
function target(
  host: string,
  port: number,
  { pinned }: ProxyContext,
): { host: string; port: number; lookup: LookupFunction; autoSelectFamily: true } {
  const plain = host.replace(/^\[|\]$/g, '')
  const isHere = addressRange(plainHost(host) ?? host) === 'machine'
  return { host: plain, port, lookup: isHere ? thisMachine : pinned, autoSelectFamily: true }
}

const loopback: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

const thisMachine: LookupFunction = (_, options, found) => {
  if (options.all) found(null, loopback)
  else found(null, '127.0.0.1', 4)
}

/** Names that one page remembers, and for how long: a name that leads elsewhere a moment later is no other name. */
const mostNames = 500
const nameMs = 300_000

/**
 * A name that the settings allow may not turn out to be this machine or its network, by none of its addresses. It is resolved once and stays what it
 * was; the address that was judged is the one that is connected to.
 */
function pinningLookup(): LookupFunction {
  const known = new Map<string, { addresses: LookupAddress[]; until: number }>()
  return (host, options, found) => {
    const tell = (addresses: LookupAddress[]): void => {
      if (options.all) found(null, addresses)
      else found(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 0)
    }
    const before = known.get(host)
    if (before && performance.now() < before.until) {
      process.nextTick(tell, before.addresses)
      return
    }
    resolveName(host, { all: true }, (fault, addresses) => {
      const hidden =
        fault ??
        (addresses.length === 0 || addresses.some(({ address }) => isPrivate(address))
          ? new Error(`${host} leads into a private network`)
          : undefined)
      if (hidden) return found(hidden, '', 0)
      known.delete(host)
      known.set(host, { addresses, until: performance.now() + nameMs })
      if (known.size > mostNames) known.delete(known.keys().next().value as string)
      tell(addresses)
    })
  }
}
