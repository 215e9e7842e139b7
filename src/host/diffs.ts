import { Worker } from 'node:worker_threads'
import { changedLines, lineDiff, makeDiffer, wholeBudget, type LineDiff } from '../contracts/diff.ts'
import { ToolError } from '../contracts/errors.ts'

/** Most of a diff that somebody wants to see; of a larger one only the size is told. */
export interface DiffLimit {
  lines: number
  characters: number
}

/** Lines added and taken away, and the diff itself unless it is larger than was asked for. */
export interface Measured {
  lines: number
  diff?: LineDiff
}

/** Diffs of texts of any size. What takes longer than a moment is done in a thread of its own, and ended with its call. */
export interface Diffs {
  lines(before: string, after: string, signal?: AbortSignal): Promise<LineDiff>
  measure(before: string, after: string, most: DiffLimit, signal?: AbortSignal): Promise<Measured>
  close(): void
}

interface Job {
  before: string
  after: string
  most: DiffLimit
}

/** What is done on the spot: a few milliseconds. */
const smallMiddle = 131_072
const smallBudget = 300_000
const allOfIt: DiffLimit = { lines: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY }

/** The thread's whole program; it must not refer to anything outside itself but the source it is handed. */
const program = `
const { parentPort } = require('node:worker_threads')
const differ = (${makeDiffer.toString()})(${wholeBudget})
const cut = (${cut.toString()})
const size = (${changedLines.toString()})
parentPort.on('message', ({ before, after, most }) => {
  const diff = differ(before, after)
  parentPort.postMessage(cut(diff, size(diff), most))
})`

export function openDiffs(timeoutMs: number): Diffs {
  let worker: Worker | undefined
  let line: Promise<unknown> = Promise.resolve()

  const inTurn = (job: Job, signal?: AbortSignal): Promise<Measured> => {
    const turn = line.then(() => {
      signal?.throwIfAborted()
      return inThread(job, signal)
    })
    line = turn.catch(() => undefined)
    return turn
  }
  const inThread = (job: Job, signal?: AbortSignal): Promise<Measured> =>
    new Promise((resolve, reject) => {
      const thread = (worker ??= new Worker(program, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 1_024 } }))
      thread.ref()
      const finish = (keep: boolean): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        thread.off('message', onMessage)
        thread.off('error', onError)
        if (keep) return thread.unref()
        worker = undefined
        void thread.terminate()
      }
      const timer = setTimeout(() => {
        finish(false)
        reject(
          new ToolError('E_TIMEOUT', `Comparing the two texts took longer than ${timeoutMs} ms`, {
            hint: 'Change less at once, or raise limits.callTimeoutMs.',
          }),
        )
      }, timeoutMs)
      const onAbort = (): void => {
        finish(false)
        reject(signal?.reason as Error)
      }
      const onMessage = (answer: Measured): void => {
        finish(true)
        resolve(answer)
      }
      const onError = (cause: unknown): void => {
        finish(false)
        reject(
          new ToolError('E_TOO_LARGE', 'The two texts are too large to compare', {
            hint: 'Change less at once.',
            cause,
          }),
        )
      }
      signal?.addEventListener('abort', onAbort)
      thread.on('message', onMessage)
      thread.on('error', onError)
      thread.postMessage(job)
    })

  const measure: Diffs['measure'] = async (before, after, most, signal) => {
    const diff = lineDiff(before, after, { steps: smallBudget, characters: smallMiddle })
    if (!diff.coarse) return cut(diff, changedLines(diff), most)
    return inTurn({ before, after, most }, signal)
  }
  return {
    measure,
    lines: async (before, after, signal) => (await measure(before, after, allOfIt, signal)).diff as LineDiff,
    close() {
      void worker?.terminate()
      worker = undefined
    },
  }
}

/** Handed to the thread as source, too. */
function cut(diff: LineDiff, lines: number, most: DiffLimit): Measured {
  let characters = 0
  for (const { linesOld, linesNew } of diff.hunks) {
    for (const one of linesOld) characters += one.length
    for (const one of linesNew) characters += one.length
  }
  return lines <= most.lines && characters <= most.characters ? { lines, diff } : { lines }
}
