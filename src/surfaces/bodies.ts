import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../contracts/refusal.ts'
import type { Peers } from '../text/connections.ts'
import { holderOf } from '../text/eviction.ts'

export const longestBody = 32 << 20
/** All bodies that are being read, together, but for the beginning of each. */
const mostBytes = 128 << 20
/** So much of each is always taken: nobody's forms and ordinary calls wait for room, whoever sends much. */
const freeBytes = 65_536

interface Reading {
  socket: Socket
  /** What it takes of the room that all share. */
  bytes: number
  drop(): void
}

/** Reads bodies of requests. Where all of them are too much, the largest of the process that sends most goes. */
export function openBodies(peers: Peers<Socket>): (request: IncomingMessage) => Promise<Buffer> {
  const readings = new Set<Reading>()
  let settling: Promise<void> | undefined
  const all = (): number => sum(readings)

  const settle = async (): Promise<void> => {
    while (all() > mostBytes) {
      const shares = new Map<string, Reading[]>()
      const among = await Promise.all([...readings].map(async (one) => ({ one, holder: holderOf(await peers.of(one.socket)) })))
      for (const { one, holder } of among) if (readings.has(one)) shares.set(holder, [...(shares.get(holder) ?? []), one])
      const [most = []] = [...shares.values()].toSorted((one, other) => sum(other) - sum(one))
      most.toSorted((one, other) => other.bytes - one.bytes)[0]?.drop()
    }
    settling = undefined
  }

  return (request) => {
    if (request.headers['content-encoding'] !== undefined) throw new Refusal(415, 'Send the body as it is, not compressed.')
    if (Number(request.headers['content-length'] ?? 0) > longestBody) throw tooLarge()
    return new Promise((resolve, reject) => {
      // One buffer that grows: a million pieces of one byte must not become a million objects.
      let buffer = Buffer.allocUnsafe(4_096)
      let size = 0
      const over = (why?: () => Refusal): void => {
        if (!readings.delete(reading)) return
        request.off('data', take)
        if (why) reject(why())
        else resolve(buffer.subarray(0, size))
      }
      const brokeOff = (): void => over(() => new Refusal(400, 'The body broke off.'))
      const reading: Reading = {
        socket: request.socket,
        bytes: 0,
        drop: () => over(() => new Refusal(503, 'Too much is being sent at once; try again.')),
      }
      const take = (piece: Buffer): void => {
        size += piece.length
        reading.bytes = Math.max(0, size - freeBytes)
        if (size > longestBody) return over(tooLarge)
        if (size > buffer.length) buffer = Buffer.concat([buffer], Math.max(size, 2 * buffer.length))
        piece.copy(buffer, size - piece.length)
        if (reading.bytes === 0 || all() <= mostBytes) return
        request.pause()
        settling ??= settle()
        void settling.then(() => readings.has(reading) && request.resume())
      }
      readings.add(reading)
      if (request.destroyed && !request.complete) return brokeOff()
      request
        .on('data', take)
        .once('end', () => over())
        .once('error', brokeOff)
        .once('close', brokeOff)
    })
  }
}

function sum(readings: Iterable<Reading>): number {
  let bytes = 0
  for (const one of readings) bytes += one.bytes
  return bytes
}

function tooLarge(): Refusal {
  return new Refusal(413, `A body may have ${longestBody} bytes.`)
}
