import type { Socket } from 'node:net'
import { endsOf } from './peer.ts'
import { socketTables, type ReadTable } from './socket-table.ts'

/**
 * Whether a connection to a port of this machine comes from this user, or from root, who may do everything anyway. A port on loopback is open to every user
 * of the machine: what asks for no credential there would show another user the person's files. Linux says whose each end is; elsewhere
 * nobody can tell, and everybody is let in. Where Linux could not be asked this time, nobody is.
 */
export function openOwnUser(
  us = process.geteuid?.(),
  tables: readonly ReadTable[] = [socketTables.tcp, socketTables.tcp6],
): (socket: Socket) => Promise<boolean> {
  const found = new WeakMap<Socket, Promise<boolean>>()
  const look = async (socket: Socket): Promise<boolean> => {
    const ends = endsOf(socket)
    if (us === undefined || process.platform !== 'linux' || ends === undefined) return true
    const ours = ends.split(' ').toReversed().join(' ')
    let isTold = false
    for (const read of tables) {
      const table = await read()
      if (table === undefined) return false
      const owner = ownerIn(table, ends)
      if (owner !== undefined) return owner === us || owner === 0
      isTold ||= ownerIn(table, ours) !== undefined
    }
    // Where our own end is not told of either, nothing is told here at all.
    return !isTold
  }
  return (socket) => {
    const known = found.get(socket) ?? look(socket)
    found.set(socket, known)
    return known
  }
}

/** Who has the end of a connection that is written so; an address of the older kind may be held by a socket of the newer one. */
function ownerIn(table: string, ends: string): number | undefined {
  const mapped = ends.replaceAll(/\b([\dA-F]{8}):/g, '0000000000000000FFFF0000$1:')
  for (const one of new Set([ends, mapped])) {
    const at = table.indexOf(`: ${one} `)
    if (at < 0) continue
    // State, queues, timer, retransmits, then the user, a timeout and the file. One that is closed has no file any more, and root's number.
    const [, uid, file] = /^: \S+ \S+ \S+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) /.exec(table.slice(at, at + 300)) ?? []
    if (uid !== undefined && file !== '0') return Number(uid)
  }
  return undefined
}
