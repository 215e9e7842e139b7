import { opendirSync, readFileSync, readlinkSync, type Dir } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Socket } from 'node:net'
import type { Peers } from '../text/connections.ts'
import { socketTables } from './socket-table.ts'

/** Processes that connected lately; a client that opens one connection after another is found among them first. */
const mostKnown = 64
/**
 * So many names are looked at in one turn of the event loop. The system has them at hand: a turn for each few, which may be long where there
 * is much else to do, made everybody wait for whoever holds a thousand connections.
 */
const atOnce = 256

interface Asked {
  /** Both addresses, as Linux prints them. */
  ends: string
  tell(word: string): void
}

/**
 * Who is at the other end of a connection: a word that stands for one process, from its start to its end. Linux says which process holds the other end of a loopback connection. Where a system does not, or the other end is on another
 * machine, its address is all there is. Looked up once for each connection, off the event loop; all who wait share one look, so that
 * ten thousand connections cost no more looks than a few.
 */
export function openPeers(): Peers<Socket> {
  const found = new WeakMap<Socket, Promise<string>>()
  const known = new Set<string>()
  let waiting: Asked[] = []
  let looking: Promise<void> | undefined
  let unknown = 0

  const lookOnce = async (asked: Asked[]): Promise<void> => {
    const look = openTurns()
    const wanted = await inodesOf(asked)
    // Whoever connected last first.
    for (const pid of [...[...known].toReversed(), ...(await processes()).filter((one) => !known.has(one))]) {
      if (wanted.size === 0) break
      const mine = await heldBy(pid, wanted, look)
      const word = mine.length ? await wordFor(pid) : undefined
      if (word === undefined) continue
      known.delete(pid)
      known.add(pid)
      if (known.size > mostKnown) known.delete(known.values().next().value as string)
      for (const inode of mine) {
        wanted.get(inode)?.tell(word)
        wanted.delete(inode)
      }
    }
    // Told already, where it was found.
    for (const one of asked) one.tell(`connection ${++unknown}`)
  }
  const lookForAll = async (): Promise<void> => {
    while (waiting.length) {
      const asked = waiting
      waiting = []
      await lookOnce(asked)
    }
    looking = undefined
  }
  const look = (socket: Socket): Promise<string> => {
    const ends = endsOf(socket)
    if (ends === undefined || process.platform !== 'linux') return Promise.resolve(`address ${socket.remoteAddress ?? ''}`)
    return new Promise((tell) => {
      waiting.push({ ends, tell })
      looking ??= lookForAll()
    })
  }
  return {
    of(socket) {
      const word = found.get(socket) ?? look(socket)
      found.set(socket, word)
      return word
    },
  }
}

/** The system's numbers for the other ends that are still there. */
async function inodesOf(asked: readonly Asked[]): Promise<Map<string, Asked>> {
  const byEnds = new Map(asked.map((one) => [one.ends, one]))
  const wanted = new Map<string, Asked>()
  const kinds = new Set(asked.map(({ ends }) => (ends.indexOf(':') > 8 ? ('tcp6' as const) : ('tcp' as const))))
  for (const kind of kinds) {
    const table = (await socketTables[kind]()) ?? ''
    for (const [, ends = '', inode = ''] of table.matchAll(/^ *\d+: (\S+ \S+) \S+ \S+ \S+ \S+ +\d+ +\d+ (\d+)/gm)) {
      const one = byEnds.get(ends)
      if (one && inode !== '0') wanted.set(inode, one)
    }
  }
  return wanted
}

/** Whoever connects has mostly begun not long ago: the newest first. */
async function processes(): Promise<string[]> {
  const names = await readdir('/proc').catch(() => [] as string[])
  return names.filter((name) => /^\d+$/.test(name)).toSorted((one, other) => Number(other) - Number(one))
}

/** Those of the wanted connections that a process holds; the newest have the highest numbers, mostly. */
async function heldBy(pid: string, wanted: ReadonlyMap<string, Asked>, look: Looks): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const mine: string[] = []
  for (const name of (await namesIn(folder, look)).toReversed()) {
    if (mine.length === wanted.size) break
    const turn = look()
    if (turn) await turn
    const inode = /^socket:\[(\d+)\]$/.exec(targetOf(`${folder}/${name}`))?.[1]
    if (inode !== undefined && wanted.has(inode)) mine.push(inode)
  }
  return mine
}

/** What is in a folder of the system, however much; nothing where it is another user's, or its process is over. */
async function namesIn(folder: string, look: Looks): Promise<string[]> {
  const names: string[] = []
  let dir: Dir | undefined
  try {
    await look()
    dir = opendirSync(folder, { bufferSize: 128 })
    for (let entry = dir.readSync(); entry; entry = dir.readSync()) {
      names.push(entry.name)
      const turn = look()
      if (turn) await turn
    }
  } catch {
    // What was read is all there is.
  } finally {
    dir?.closeSync()
  }
  return names
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

/** Counts looks, and after so many of them has everybody else have a turn. */
type Looks = () => Promise<void> | undefined

function openTurns(): Looks {
  let looks = 0
  return () => {
    if (++looks < atOnce) return undefined
    looks = 0
    return new Promise((resolve) => setImmediate(resolve))
  }
}

/** The two ends as the other side sees them; nothing where it is not on this machine. */
export function endsOf({ remoteAddress = '', remotePort, localAddress = '', localPort }: Socket): string | undefined {
  const [from, to] = [hexAddress(remoteAddress, remotePort), hexAddress(localAddress, localPort)]
  return from === undefined || to === undefined ? undefined : `${from} ${to}`
}

/** A loopback address as Linux prints it; nothing for any other. */
function hexAddress(address: string, port: number | undefined): string | undefined {
  const hex = (port ?? 0).toString(16).toUpperCase().padStart(4, '0')
  if (address === '::1') return `00000000000000000000000001000000:${hex}`
  const parts = address.split('.').map(Number)
  if (parts.length !== 4 || parts[0] !== 127) return undefined
  return `${parts
    .toReversed()
    .map((part) => part.toString(16).toUpperCase().padStart(2, '0'))
    .join('')}:${hex}`
}

/** The program behind such a word, and its number, for a person; nothing where it is over. Its own words for itself are not asked. */
export function programOf(peer: string): string | undefined {
  const [, pid, began] = /^process (\d+) (\d+)$/.exec(peer) ?? []
  if (pid === undefined) return undefined
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    if (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] !== began) return undefined
    return `${basename(readlinkSync(`/proc/${pid}/exe`))} ${pid}`
  } catch {
    return undefined
  }
}

/** A number is given again to another process one day; with the moment it began it is one of a kind. */
async function wordFor(pid: string): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined)
  const began = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return began === undefined ? undefined : `process ${pid} ${began}`
}
