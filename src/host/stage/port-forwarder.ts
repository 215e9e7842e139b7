import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { claimPort } from '../own-ports.ts'
import { openOwnUser } from '../own-user.ts'
import { listeningPorts, mostListening } from './listening-ports.ts'
import { relaySocketName } from './relay.ts'

/** The way from this machine's loopback to a server that has a network of its own. Connections go in and never out. */
export interface PortForwarder {
  /** Opens what the server listens on by now, shuts what it has left, and says where it can be opened. */
  urls(): Promise<string[]>
  /** Where each of its ports is open by now, in words. */
  says(): string[]
  /** The names with their ports under which pages are shown. */
  hosts(): string[]
  close(): void
}

/** What is decided once for each port that servers of a project have inside, and holds for the next one too. */
export interface KnownPort {
  /** Nobody guesses it, and no other server of this machine has it. */
  readonly name: string
  /** Somebody had the number on this machine. It may be free now because they start anew: it is not taken from them. */
  busy: boolean
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

/**
 * `folder` is where the relay makes its socket; `pid` is any process that shares the server's network. `tooMuch` is told where the server
 * listens more than anybody can follow. With `caughtUp` a request waits until the server sees what was written before it came.
 */
export function openPortForwarder(
  folder: string,
  pid: number,
  known: Map<number, KnownPort>,
  tooMuch: (why: string) => void,
  { project, caughtUp }: { project?: string; caughtUp?: (() => Promise<void>) | undefined } = {},
): PortForwarder {
  const open = new Map<number, Opened>()
  const connections = new Set<Socket>()
  let socket: number | undefined
  let closed = false
  let looking: Promise<string[]> | undefined

  const isOwn = openOwnUser()
  const dial = (port: number): Socket => {
    // By its number: the server can put whatever it likes in the place of the socket, a link to one of this machine's too.
    const inner = connect({ path: `/proc/self/fd/${socket ?? -1}`, allowHalfOpen: true })
    inner.write(Buffer.from([port >> 8, port & 0xff]))
    return inner
  }
  const knownOf = (port: number): KnownPort => {
    const found = known.get(port) ?? { name: `dev-${randomBytes(8).toString('hex')}.localhost`, busy: !usual.has(port) }
    known.set(port, found)
    return found
  }
  const openOne = async (inside: number): Promise<Opened | undefined> => {
    const decided = knownOf(inside)
    let host = ''
    // Loaded when there is a server: every other start does without HTTP.
    const { openServerFront } = await import('./server-front.ts')
    const front = openServerFront(
      () => host,
      () => dial(inside),
      caughtUp,
    )
    const enter = (client: Socket): void => {
      if (socket === undefined || connections.size >= mostConnections) return void client.destroy()
      connections.add(client)
      client.once('close', () => connections.delete(client))
      client.setNoDelay(true)
      const drop = (): void => void client.destroy()
      client.once('error', drop)
      void isOwn(client).then((own) => {
        if (!own || client.destroyed || socket === undefined) return drop()
        client.off('error', drop)
        front.take(client)
      })
    }
    let found = decided.busy ? undefined : await listenOn(inside, enter)
    decided.busy ||= !found
    for (let more = tries; !found && more > 0; more--) found = await listenOn(0, enter)
    if (!found) return undefined
    host = `${decided.name}:${found.port}`
    return { ...found, host, release: claimPort(found.port, project ?? '') }
  }

  const look = async (): Promise<string[]> => {
    socket ??= openSocket(`${folder}/${relaySocketName}`)
    if (socket === undefined) return []
    const { ports, sockets } = await listeningPorts(pid)
    if (sockets > mostListening) tooMuch(`it listened with more than ${mostListening} sockets`)
    const inside = ports.slice(0, mostPorts)
    for (const [port, one] of open) {
      if (inside.includes(port)) continue
      open.delete(port)
      shut(one)
    }
    for (const port of inside) {
      if (open.has(port)) continue
      const found = await openOne(port)
      if (closed && found) shut(found)
      else if (found) open.set(port, found)
    }
    return [...open.values()].map(({ host }) => `http://${host}/`)
  }

  return {
    urls() {
      if (closed) return Promise.resolve([])
      return (looking ??= look().finally(() => (looking = undefined)))
    },
    says: () =>
      [...open].map(
        ([inside, { host, port }]) =>
          `its port ${inside} is opened on this machine as http://${host}/ (for programs that do not find that name: http://localhost:${port}/, without cookies)`,
      ),
    hosts: () => [...open.values()].map(({ host }) => host),
    close() {
      closed = true
      for (const one of open.values()) shut(one)
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

/** Connections that are open are somebody's until they end. */
function shut({ servers, release }: Opened): void {
  release()
  for (const server of servers) server.close()
}

interface Opened {
  port: number
  servers: Server[]
  host: string
  /** It is no port of ours any more. */
  release: () => void
}

/** On both addresses of this machine: a browser may take either for a name, and must not find somebody else there. */
async function listenOn(wanted: number, enter: (client: Socket) => void): Promise<Omit<Opened, 'host' | 'release'> | undefined> {
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
