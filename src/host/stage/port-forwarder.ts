import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { personCookie } from '../../contracts/person-cookie.ts'
import { couple, relaySocketName } from './relay.ts'

/** The way from this machine's loopback to a server that has a network of its own. Connections go in and never out. */
export interface PortForwarder {
  /** Opens what the server listens on by now, shuts what it has left, and says where it can be opened. */
  urls(): Promise<string[]>
  /** Which ports are open by now under another number than the server knows, in words. */
  elsewhere(): string[]
  close(): void
}

const mostPorts = 16
const mostConnections = 256
/**
 * Where dev servers usually listen, and nothing else that programs of this machine would send a secret to unasked. Only these are
 * opened under their own number, where it is free; every other at a number the system chooses, so that no server can pose as a
 * database, a cluster, a proxy or a collector that something here is set up to talk to. Left out on purpose: 3001 (WebGAL Terre),
 * 8001 (the cluster behind `kubectl proxy`), 8086 (InfluxDB), 8888 (Jupyter).
 */
// prettier-ignore
const usual = new Set([
  1234, 1313, 3000, 3002, 3003, 3004, 3005, 3006, 3007, 3008, 3009, 4000, 4173, 4174, 4175, 4176, 4200, 4321,
  5173, 5174, 5175, 5176, 5177, 5178, 5179, 5500, 6006, 8000, 8080, 8081, 8082, 8083, 8084, 8085, 8787, 24678, 35729,
])
/** The number the system chose for one address may be somebody's on the other. */
const tries = 10
/** Only names a place, whatever lies there. Node has no word for it. */
const onlyName = 0o10000000

/** `folder` is where the relay makes its socket; `pid` is any process that shares the server's network. */
export function openPortForwarder(folder: string, pid: number): PortForwarder {
  const open = new Map<number, { port: number; servers: Server[] }>()
  const connections = new Set<Socket>()
  let socket: number | undefined
  let closed = false
  let looking: Promise<string[]> | undefined

  const enter = (client: Socket, port: number): void => {
    if (socket === undefined || connections.size >= mostConnections) return void client.destroy()
    connections.add(client)
    client.once('close', () => connections.delete(client))
    // By its number: the server can put whatever it likes in the place of the socket, a link to one of this machine's too.
    const inner = connect({ path: `/proc/self/fd/${socket}`, allowHalfOpen: true })
    inner.write(Buffer.from([port >> 8, port & 0xff]))
    client.setNoDelay(true)
    keepPersonOut(client)
    couple(client, inner)
  }

  const look = async (): Promise<string[]> => {
    socket ??= openSocket(`${folder}/${relaySocketName}`)
    if (socket === undefined) return []
    const inside = listening(pid).slice(0, mostPorts)
    for (const [port, { servers }] of open) {
      if (inside.includes(port)) continue
      open.delete(port)
      for (const server of servers) server.close()
    }
    for (const port of inside) {
      if (open.has(port)) continue
      const found = await openFor(port, (client) => enter(client, port))
      if (closed) found?.servers.forEach((server) => server.close())
      else if (found) open.set(port, found)
    }
    return [...open.values()].map(({ port }) => `http://localhost:${port}/`)
  }

  return {
    urls() {
      if (closed) return Promise.resolve([])
      return (looking ??= look().finally(() => (looking = undefined)))
    },
    elsewhere: () =>
      [...open].flatMap(([inside, { port }]) =>
        port === inside ? [] : [`its port ${inside} is opened on this machine as http://localhost:${port}/`],
      ),
    close() {
      closed = true
      for (const { servers } of open.values()) for (const server of servers) server.close()
      for (const client of connections) client.destroy()
      if (socket !== undefined) closeSync(socket)
      socket = undefined
    },
  }
}

function openSocket(path: string): number | undefined {
  let fd: number
  try {
    fd = openSync(path, onlyName | constants.O_NOFOLLOW)
  } catch {
    return undefined
  }
  if (fstatSync(fd).isSocket()) return fd
  closeSync(fd)
  return undefined
}

/** The TCP ports somebody listens on in the network of a process. */
function listening(pid: number): number[] {
  const found = new Set<number>()
  for (const table of ['tcp', 'tcp6']) {
    let text = ''
    try {
      text = readFileSync(`/proc/${pid}/net/${table}`, 'latin1')
    } catch {
      // It is gone, or has no such network.
    }
    for (const [, port = ''] of text.matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A /gm))
      found.add(parseInt(port, 16))
  }
  return [...found].sort((a, b) => a - b)
}

async function openFor(
  wanted: number,
  enter: (client: Socket) => void,
): Promise<{ port: number; servers: Server[] } | undefined> {
  let found = usual.has(wanted) ? await listenOn(wanted, enter) : undefined
  for (let more = tries; !found && more > 0; more--) found = await listenOn(0, enter)
  return found
}

/** On both addresses of `localhost`: a browser may take either, and must not find somebody else there. */
async function listenOn(
  wanted: number,
  enter: (client: Socket) => void,
): Promise<{ port: number; servers: Server[] } | undefined> {
  const servers: Server[] = []
  let port = wanted
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer({ allowHalfOpen: true }, enter)
    const fault = await new Promise<string | undefined>((resolve) => {
      server.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code))
      server.listen({ port, host }, () => resolve(undefined))
    })
    if (fault === undefined) {
      servers.push(server.on('error', () => undefined))
      port = (server.address() as AddressInfo).port
    } else if (host === '127.0.0.1' || !['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(fault)) {
      for (const one of servers) one.close()
      return undefined
    }
  }
  return { port, servers }
}

const needle = Buffer.from(`${personCookie}=`)

/**
 * Cookies do not tell ports apart: a browser in which the person is signed in to Handrail shows that cookie to every server of
 * this machine, and whoever has it can approve. It is blanked on its way in, length kept; what is encrypted cannot be, and is not let in.
 */
function keepPersonOut(client: Socket): void {
  let matched = 0
  let first = true
  client.on('data', (chunk: Buffer) => {
    if (first && chunk[0] === 0x16) return void client.destroy()
    first = false
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (matched === needle.length) {
        if (/[\w.-]/.test(String.fromCharCode(byte))) chunk[at] = 0x78
        else matched = 0
      } else matched = byte === needle[matched] ? matched + 1 : byte === needle[0] ? 1 : 0
    }
  })
}
