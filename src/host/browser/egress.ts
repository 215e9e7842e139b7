import { lookup as resolveName, type LookupAddress } from 'node:dns'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import { BlockList, connect, isIP, type AddressInfo, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { loopbackNames, portOf, type NetworkScope } from './network-scope.ts'

/** The only way a page has to any network. */
export interface Egress {
  readonly port: number
  /** Hosts and ports that were asked for and refused, in order, each once. */
  readonly refused: readonly string[]
  close(): Promise<void>
}

const mostRefused = 100

/**
 * A forward proxy on loopback that judges every connection at the moment it is made: redirects, frames, fetches, WebSockets,
 * workers and downloads have no other way, and the browser itself never resolves a name.
 */
export function openEgress(scope: NetworkScope): Promise<Egress> {
  const refused: string[] = []
  const sockets = new Set<Duplex>()
  const mayReach = (host: string, port: number): boolean => {
    if (scope.mayReach(host, port)) return true
    const asked = `${host}:${port}`
    if (refused.length < mostRefused && !refused.includes(asked)) refused.push(asked)
    return false
  }

  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => forward(request, response, mayReach))
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => tunnel(request, client, head, mayReach))
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
      resolve({
        port: (server.address() as AddressInfo).port,
        refused,
        close: () =>
          new Promise((done) => {
            server.close(() => done())
            for (const socket of sockets) socket.destroy()
          }),
      })
    })
  })
}

type MayReach = (host: string, port: number) => boolean

function forward(request: IncomingMessage, response: ServerResponse, mayReach: MayReach): void {
  let url: URL
  try {
    url = new URL(request.url ?? '')
  } catch {
    return void response.destroy()
  }
  // A refused host gives no answer at all, so that no page can be made to look as if it came from there.
  if (url.protocol !== 'http:' || !mayReach(url.hostname, portOf(url))) return void response.destroy()
  const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = request.headers
  const onward = send(
    { ...target(url.hostname, portOf(url)), method: request.method, path: url.pathname + url.search, headers, agent: false },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders)
      answer.pipe(response)
      answer.once('error', () => response.destroy())
    },
  )
  onward.once('error', () => response.destroy())
  response.once('close', () => onward.destroy())
  request.pipe(onward)
}

function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, mayReach: MayReach): void {
  client.on('error', () => client.destroy())
  const [, host = '', port = ''] = /^(\[[0-9a-f:.]+\]|[^:/@]+):(\d{1,5})$/i.exec(request.url ?? '') ?? []
  if (host === '' || !mayReach(host, Number(port))) return void client.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
  const onward: Socket = connect(target(host, Number(port)), () => {
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
function target(host: string, port: number): { host: string; port: number; lookup: LookupFunction; autoSelectFamily: true } {
  const plain = host.replace(/^\[|\]$/g, '')
  return { host: plain, port, lookup: isThisMachine(host) ? thisMachine : publicOnly, autoSelectFamily: true }
}

const isThisMachine = (host: string): boolean => loopbackNames.includes(host) || host.endsWith('.localhost')

const loopback: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

const thisMachine: LookupFunction = (_, options, found) => {
  if (options.all) found(null, loopback)
  else found(null, '127.0.0.1', 4)
}

/** A name that the settings allow may not turn out to be this machine or its network. */
const publicOnly: LookupFunction = (host, options, found) => {
  resolveName(host, { ...options, all: true }, (fault, addresses) => {
    const hidden = fault ?? (addresses.some(isPrivate) ? new Error(`${host} leads into a private network`) : undefined)
    if (hidden) found(hidden, '', 0)
    else if (options.all) found(null, addresses)
    else found(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 0)
  })
}

/** One list for each family: a list with mapped addresses in it would take every IPv4 address for one of them. */
const privateNetworks = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const net of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
])
  forbid(net, 'ipv4')
for (const net of ['::/96', '::ffff:0:0/96', '64:ff9b::/96', 'fc00::/7', 'fe80::/10', 'ff00::/8']) forbid(net, 'ipv6')

function forbid(net: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits] = net.split('/')
  privateNetworks[family].addSubnet(address, Number(bits), family)
}

function isPrivate({ address }: LookupAddress): boolean {
  const family = isIP(address)
  return family === 0 || privateNetworks[family === 6 ? 'ipv6' : 'ipv4'].check(address, family === 6 ? 'ipv6' : 'ipv4')
}
