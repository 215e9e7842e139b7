import { openWorkerPool } from '../worker-pool.ts'
import { longestRow } from './inside.ts'
import { makeDatabaseReader, type DatabaseLimits, type DatabaseRows } from './database-rows.ts'

/** Two states of a database as rows, read in a thread of its own: a hostile file costs that thread its time and memory, and nobody else. */
export interface Databases {
  /** `unreadable` where they are none, or take too long. */
  compare(before: Buffer, after: Buffer): Promise<DatabaseRows | 'unreadable'>
  close(): void
}

const limits: DatabaseLimits = { rows: 100_000, told: 2_000, longest: longestRow + 1 }
const timeoutMs = 3_000

const program = `
const { parentPort } = require('node:worker_threads')
const compare = (${makeDatabaseReader.toString()})()
parentPort.on('message', ({ before, after, limits }) => {
  let answer = 'unreadable'
  try {
    answer = compare(before, after, limits)
  } catch {}
  parentPort.postMessage(answer)
})`

export function openDatabases(): Databases {
  const pool = openWorkerPool<{ before: Buffer; after: Buffer; limits: DatabaseLimits }, DatabaseRows | 'unreadable'>(program, {
    memoryMb: 256,
    restMs: 5_000,
  })
  return {
    async compare(before, after) {
      try {
        // Cards are made for whoever is asked, so all of them share one place in the line.
        const late = (): Error => new Error('it took too long')
        return await pool.run({ job: { before, after, limits }, client: 'cards', timeoutMs, late, broken: (cause) => cause })
      } catch {
        return 'unreadable'
      }
    },
    close: pool.close,
  }
}
