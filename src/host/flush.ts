import { closeSync, constants, fsyncSync, openSync } from 'node:fs'
import { ToolError } from '../contracts/errors.ts'
import { runBriefly } from './process.ts'

/** How what was written reaches the disk: each file by itself, or all that was written so far at once. */
export interface Flush {
  readonly together: boolean
  /** After one file or folder was written. */
  one(fd: number): void
  /** What was written before is on the disk when it returns. */
  all(): void
}

export const eachByItself: Flush = { together: false, one: fsyncSync, all: () => undefined }

const few = 8

/** A few are flushed one by one; for many, one flush of the file system the folder is on costs far less. */
export function flushFor(count: number, folder: string): Flush {
  if (count <= few || !canFlushTogether(folder)) return eachByItself
  return { together: true, one: () => undefined, all: () => flushFileSystem(folder) }
}

let able: boolean | undefined

/** Tried once: not every system has the program, and not every one that has it knows the option. */
function canFlushTogether(folder: string): boolean {
  if (able !== undefined) return able
  try {
    if (process.platform === 'linux') flushFileSystem(folder)
    able = process.platform === 'linux'
  } catch {
    able = false
  }
  return able
}

const longestMs = 120_000

/** `syncfs`, which Node does not have: the folder is handed over open, so that its name cannot lead elsewhere. */
function flushFileSystem(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    if (runBriefly('sync', ['-f', '/dev/stdin'], { timeoutMs: longestMs, input: fd })) return
    throw new ToolError('E_IO', 'The disk did not take in what was written', {
      hint: 'Is the disk full, failing, or very busy? Nothing is acknowledged that is not on it.',
    })
  } finally {
    closeSync(fd)
  }
}
