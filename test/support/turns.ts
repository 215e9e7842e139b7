import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** What was done on the event loop while something went on: in all, and between two of its turns at most. */
export interface Turns<T> {
  result: T
  /** Calls to the file system that were waited for on the spot. */
  calls: { all: number; most: number }
  /** Bytes that were hashed. */
  hashed: { all: number; most: number }
}

const onTheSpot = [
  'chmodSync',
  'closeSync',
  'fstatSync',
  'fsyncSync',
  'linkSync',
  'lstatSync',
  'mkdirSync',
  'openSync',
  'opendirSync',
  'readSync',
  'readdirSync',
  'renameSync',
  'rmSync',
  'unlinkSync',
  'writeSync',
] as const

type Watched = (typeof onTheSpot)[number]

/**
 * To be called with each thing that is counted: `over` is called once the event loop has turned since the first of them. Whoever would be told of
 * every turn instead keeps the loop turning, which takes a whole processor.
 */
export function untilTurn(over: () => void): () => void {
  let isTold = false
  return () => {
    if (isTold) return
    isTold = true
    setImmediate(() => {
      isTold = false
      over()
    })
  }
}

/** Counts work, not time: on any machine, however busy, the same thing is counted. `onCall` is told of each call beforehand. */
export async function countingTurns<T>(
  act: () => Promise<T>,
  onCall: (name: Watched, path: unknown) => void = () => undefined,
): Promise<Turns<T>> {
  const calls = { all: 0, most: 0 }
  const hashed = { all: 0, most: 0 }
  let turn = { calls: 0, bytes: 0 }
  const isCounted = untilTurn(() => (turn = { calls: 0, bytes: 0 }))
  const real = Object.fromEntries(onTheSpot.map((name) => [name, fs[name]]))
  const { createHash } = crypto
  for (const name of onTheSpot)
    Object.assign(fs, {
      [name](...given: unknown[]): unknown {
        isCounted()
        onCall(name, given[0])
        calls.all++
        calls.most = Math.max(calls.most, ++turn.calls)
        return (real[name] as (...all: unknown[]) => unknown)(...given)
      },
    })
  Object.assign(crypto, {
    createHash(algorithm: string): crypto.Hash {
      const hash = createHash(algorithm)
      const update = hash.update.bind(hash) as (data: crypto.BinaryLike) => crypto.Hash
      hash.update = (data: crypto.BinaryLike): crypto.Hash => {
        isCounted()
        const bytes = Buffer.byteLength(data as Uint8Array)
        hashed.all += bytes
        hashed.most = Math.max(hashed.most, (turn.bytes += bytes))
        return update(data)
      }
      return hash
    },
  })
  syncBuiltinESMExports()
  try {
    return { result: await act(), calls, hashed }
  } finally {
    Object.assign(fs, real)
    Object.assign(crypto, { createHash })
    syncBuiltinESMExports()
  }
}
