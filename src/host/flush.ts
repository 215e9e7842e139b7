import { closeSync, constants, openSync } from 'node:fs'
import { Fault } from '../contracts/faults/fault.ts'
import { wait, type Steps } from '../text/steps.ts'
import { flushOne } from './chunks.ts'
import { runBriefly, runBrieflySoon } from './process.ts'

/** How what was written reaches the disk: each file by itself, or all that was written so far at once. */
export interface Flush {
  readonly together: boolean
  /** After one file or folder was written. */
  one(fd: number): Steps<void>
  /** What was written before is on the disk when it returns. */
  all(): Steps<void>
}

function* done(): Steps<void> {}

export const eachByItself: Flush = { together: false, one: flushOne, all: done }

const few = 8

/** A few are flushed one by one; for many, one flush of the file system the folder is on costs far less. */
export function* flushFor(count: number, folder: string): Steps<Flush> {
  if (count <= few || !(yield* canFlushTogether(folder))) return eachByItself
  return { together: true, one: done, all: () => flushFileSystem(folder) }
}

let able: boolean | undefined

/** Tried once: not every system has the program, and not every one that has it knows the option. */
function* canFlushTogether(folder: string): Steps<boolean> {
  if (able !== undefined) return able
  try {
    if (process.platform === 'linux') yield* flushFileSystem(folder)
    able = process.platform === 'linux'
  } catch {
    able = false
  }
  return able
}

const longestMs = 120_000

/** `syncfs`, which Node does not have: the folder is handed over open, so that its name cannot lead elsewhere. */
function* flushFileSystem(folder: string): Steps<void> {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  const asked = ['sync', ['-f', '/dev/stdin'], { timeoutMs: longestMs, input: fd }] as const
  try {
    const did = yield* wait(
      () => runBriefly(...asked),
      () => runBrieflySoon(...asked),
    )
    if (did) return
    throw new Fault('io', 'The disk did not take in what was written', {
      hint: 'Is the disk full, failing, or very busy? Nothing is acknowledged that is not on it.',
    })
  } finally {
    closeSync(fd)
  }
}
