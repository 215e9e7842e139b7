import { open } from 'node:fs/promises'

/** Nobody who serves pages needs so many; the system takes long to list them, and whoever waits for it waits for nothing. */
export const mostListening = 1_000
/** Of each table. Those who listen come first. */
const mostBytes = 1 << 18
const piece = 1 << 16

/** The TCP ports somebody listens on in the network of a process, and how many sockets do, as far as that was counted. */
export async function listeningPorts(pid: number): Promise<{ ports: number[]; sockets: number }> {
  const ports = new Set<number>()
  let sockets = 0
  for (const table of ['tcp', 'tcp6'])
    for await (const row of rowsOf(`/proc/${pid}/net/${table}`)) {
      const port = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A /.exec(row)?.[1]
      if (port === undefined) continue
      ports.add(parseInt(port, 16))
      if (++sockets > mostListening) return { ports: [], sockets }
    }
  return { ports: [...ports].sort((a, b) => a - b), sockets }
}

/** A program decides how long the table is: it is read in pieces, off the event loop, and no further than a bound. */
async function* rowsOf(path: string): AsyncGenerator<string> {
  const file = await open(path).catch(() => undefined)
  // It is gone, or has no such network.
  if (!file) return
  try {
    const buffer = Buffer.allocUnsafe(piece)
    let rest = ''
    for (let read = 0; read < mostBytes;) {
      const { bytesRead } = await file.read(buffer, 0, piece, null)
      if (bytesRead === 0) return
      read += bytesRead
      const rows = (rest + buffer.toString('latin1', 0, bytesRead)).split('\n')
      rest = rows.pop() ?? ''
      yield* rows
    }
  } catch {
    // It ended meanwhile.
  } finally {
    await file.close()
  }
}
