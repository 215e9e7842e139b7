import { readdir, readFile, readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** Who is at the other end of a connection: a word that stands for one process, from its start to its end. */
export interface Peers {
  of(socket: Socket): Promise<string>
}

/** Processes that connected lately; a client that opens one connection after another is found among them at once. */
const mostKnown = 64
const atOnce = 16

/**
 * Linux says which process holds the other end of a loopback connection. Where a system does not, or the other end is on another
 * machine, its address is all there is. Looked up once for each connection, off the event loop.
 */
export function openPeers(): Peers {
  const found = new WeakMap<Socket, Promise<string>>()
  const known = new Map<string, string>()
  let unknown = 0

  const look = async (socket: Socket): Promise<string> => {
    const inode = await otherEnd(socket)
    if (inode === undefined) return `address ${socket.remoteAddress ?? ''}`
    for (const [pid, word] of known) if ((await holds(pid, inode)) && (await wordFor(pid)) === word) return word
    // Whoever connects has mostly begun not long ago.
    const everybody = (await readdir('/proc').catch(() => [] as string[])).filter((name) => /^\d+$/.test(name))
    const newest = everybody.toSorted((one, other) => Number(other) - Number(one))
    for (let from = 0; from < newest.length; from += atOnce) {
      const some = newest.slice(from, from + atOnce)
      const held = await Promise.all(some.map((pid) => holds(pid, inode)))
      const pid = some[held.indexOf(true)]
      const word = pid === undefined ? undefined : await wordFor(pid)
      if (pid === undefined || word === undefined) continue
      known.set(pid, word)
      if (known.size > mostKnown) known.delete(known.keys().next().value as string)
      return word
    }
    // It is on this machine and cannot be seen, so it is like nobody else.
    return `connection ${++unknown}`
  }
  return {
    of(socket) {
      const looking = found.get(socket) ?? look(socket)
      found.set(socket, looking)
      return looking
    },
  }
}

/** The system's number for the other end of a connection, 0 where it is gone; nothing where there are no such numbers. */
async function otherEnd(socket: Socket): Promise<string | undefined> {
  const { remoteAddress = '', remotePort, localAddress = '', localPort } = socket
  const [from, to] = [hexAddress(remoteAddress, remotePort), hexAddress(localAddress, localPort)]
  if (from === undefined || to === undefined) return undefined
  const table = await readFile(`/proc/net/${remoteAddress.includes(':') ? 'tcp6' : 'tcp'}`, 'latin1').catch(() => undefined)
  if (table === undefined) return undefined
  const row = table.split('\n').find((line) => line.includes(`: ${from} ${to} `))
  return row?.trim().split(/\s+/)[9] ?? '0'
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

async function holds(pid: string, inode: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const descriptors = await readdir(folder).catch(() => [] as string[])
  const wanted = `socket:[${inode}]`
  const targets = await Promise.all(descriptors.map((fd) => readlink(`${folder}/${fd}`).catch(() => '')))
  return targets.includes(wanted)
}

/** A number is given again to another process one day; with the moment it began it is one of a kind. */
async function wordFor(pid: string): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined)
  const began = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return began === undefined ? undefined : `process ${pid} ${began}`
}
