import { changedLines, lineDiff, makeDiffer, wholeBudget } from '../text/diff.ts'
import type { LineDiff } from '../contracts/line-diff.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { openDatabases, type Databases } from './readings/databases.ts'
import { openWorkerPool } from './worker-pool.ts'

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

/** The call a diff is made for. */
export interface DiffCall {
  client: string
  signal?: AbortSignal | undefined
}

/** Diffs of texts of any size. What takes longer than a moment is done in one of a few threads, and ended with its call. */
export interface Diffs {
  lines(before: string, after: string, call?: DiffCall): Promise<LineDiff>
  /** The first of it, as much as an answer holds: everybody on its way takes the whole of it in hand. */
  shown(before: string, after: string, call?: DiffCall): Promise<LineDiff>
  measure(before: string, after: string, most: DiffLimit, call?: DiffCall): Promise<Measured>
  /** Of two states of a database, by rows. */
  databases: Databases['compare']
  close(): void
}

interface Job {
  before: string
  after: string
  most: DiffLimit
  /** Give the first of it where there is more. */
  begin?: true
}

/** What is done on the spot: a few milliseconds. */
const smallMiddle = 131_072
const smallBudget = 300_000
/** Cards are made for whoever is asked, so all of them share one place in the line. */
const forCards: DiffCall = { client: 'cards' }
const oneAnswer: DiffLimit = { lines: 20_000, characters: 2_000_000 }
const allOfIt: DiffLimit = { lines: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY }

/** The thread's whole program; it must not refer to anything outside itself but the source it is handed. */
const program = `
const { parentPort } = require('node:worker_threads')
const differ = (${makeDiffer.toString()})(${wholeBudget})
const cut = (${cut.toString()})
const firstOf = (${firstOf.toString()})
const size = (${changedLines.toString()})
parentPort.on('message', ({ before, after, most, begin }) => {
  const diff = differ(before, after)
  parentPort.postMessage(begin ? { lines: 0, diff: firstOf(diff, size(diff), most) } : cut(diff, size(diff), most))
})`

export function openDiffs(limitMs: () => number): Diffs {
  const pool = openWorkerPool<Job, Measured>(program, { memoryMb: 1_024 })
  const databases = openDatabases()
  const late = (timeoutMs: number) => (): Fault =>
    new Fault('timeout', `Comparing the two texts took longer than ${timeoutMs} ms`, {
      hint: 'Change less at once, or raise limits.callTimeoutMs.',
    })
  const broken = (cause: unknown): Fault =>
    new Fault('too-large', 'The two texts are too large to compare', { hint: 'Change less at once.', cause })
  const measure: Diffs['measure'] = async (before, after, most, { client, signal } = forCards) => {
    const diff = lineDiff(before, after, { steps: smallBudget, characters: smallMiddle })
    if (!diff.coarse) return cut(diff, changedLines(diff), most)
    const timeoutMs = limitMs()
    return pool.run({ job: { before, after, most }, client, timeoutMs, late: late(timeoutMs), broken, signal })
  }
  const shown: Diffs['shown'] = async (before, after, { client, signal } = forCards) => {
    const diff = lineDiff(before, after, { steps: smallBudget, characters: smallMiddle })
    if (!diff.coarse) return firstOf(diff, changedLines(diff), oneAnswer)
    const job: Job = { before, after, most: oneAnswer, begin: true }
    const timeoutMs = limitMs()
    return (await pool.run({ job, client, timeoutMs, late: late(timeoutMs), broken, signal })).diff as LineDiff
  }
  return {
    measure,
    shown,
    lines: async (before, after, call) => (await measure(before, after, allOfIt, call)).diff as LineDiff,
    databases: databases.compare,
    close() {
      databases.close()
      pool.close()
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

/** Whole hunks as long as there is room, and the beginning of the next one; each is true for the lines it names. Handed to the thread, too. */
function firstOf(diff: LineDiff, lines: number, most: DiffLimit): LineDiff {
  const lengthOf = (side: string[]): number => side.reduce((sum, line) => sum + line.length, 0)
  let left = most
  const beginningOf = (side: string[]): string[] => {
    let characters = left.characters / 2
    const end = side.findIndex((line, index) => index >= left.lines / 2 || (characters -= line.length) < 0)
    return end < 0 ? side : side.slice(0, end)
  }
  const hunks: LineDiff['hunks'] = []
  for (const hunk of diff.hunks) {
    const [length, characters] = [hunk.lenOld + hunk.lenNew, lengthOf(hunk.linesOld) + lengthOf(hunk.linesNew)]
    if (length > left.lines || characters > left.characters) {
      // Something of either side: what goes says little without what comes.
      const [linesOld, linesNew] = [beginningOf(hunk.linesOld), beginningOf(hunk.linesNew)]
      hunks.push({ ...hunk, lenOld: linesOld.length, lenNew: linesNew.length, linesOld, linesNew })
      const shown = hunks.reduce((sum, { lenOld, lenNew }) => sum + lenOld + lenNew, 0)
      return { ...diff, hunks, notShown: lines - shown }
    }
    left = { lines: left.lines - length, characters: left.characters - characters }
    hunks.push(hunk)
  }
  return diff
}
