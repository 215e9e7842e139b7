import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { personCookie } from '../../contracts/names.ts'
import { couple, doorName } from './relay.ts'

/** The way from this machine's loopback to a server that has a network of its own. Connections go in and never out. */
export interface Door {
  /** Opens what the server listens on by now, shuts what it has left, and says where it can be opened. */
  urls(): Promise<string[]>
  close(): void
}

const mostPorts = 16
const mostConnections = 256
/** Where a port is taken, so many after it are tried. */
const neighbours = 100
/**
 * Ports to which programs of this machine, and links of our own, send secrets without a second look: our page, databases,
 * debuggers, models. A server that listens there is opened elsewhere, so that it cannot pose as one of them.
 */
const spokenFor = new Set([1433, 1521, 2375, 2376, 3306, 4777, 5432, 5672, 6379, 8200, 9200, 9222, 9229, 11211, 11434, 27017])
/** Only names a place, whatever lies there. Node has no word for it. */
const onlyName = 0o10000000

/** `folder` is where the relay makes its socket; `pid` is any process that shares the server's network. */
export function openDoor(folder: string, pid: number): Door {
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
    socket ??= openSocket(`${folder}/${doorName}`)
    if (socket === undefined) return []
    const inside = listening(pid).slice(0, mostPorts)
    for (const [port, { servers }] of open) {
      if (inside.includes(port)) continue
      open.delete(port)
      for (const server of servers) server.close()
    }
    for (const port of inside) {
      if (open.has(port)) continue
      const found = await listenFrom(port, (client) => enter(client, port))
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

async function listenFrom(
  wanted: number,
  enter: (client: Socket) => void,
): Promise<{ port: number; servers: Server[] } | undefined> {
  for (let port = wanted; port < Math.min(wanted + neighbours, 65_536); port++) {
    const servers = spokenFor.has(port) ? undefined : await listenOn(port, enter)
    if (servers) return { port, servers }
  }
  return undefined
}

/** On both addresses of `localhost`: a browser may take either, and must not find somebody else there. */
async function listenOn(port: number, enter: (client: Socket) => void): Promise<Server[] | undefined> {
  const servers: Server[] = []
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer({ allowHalfOpen: true }, enter)
    const fault = await new Promise<string | undefined>((resolve) => {
      server.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code))
      server.listen({ port, host }, () => resolve(undefined))
    })
    if (fault === undefined) servers.push(server.on('error', () => undefined))
    else if (host === '127.0.0.1' || !['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(fault)) {
      for (const one of servers) one.close()
      return undefined
    }
  }
  return servers
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
