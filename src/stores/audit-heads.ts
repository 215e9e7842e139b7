import type { AuditEntry } from '../contracts/audit.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { bootId } from '../host/heads.ts'
import type { LogFile, StateFolder } from '../host/state-folder.ts'

/** The folder and name under which the head of this log is kept apart from it. */
export interface ExternalHeadPlace {
  folder: StateFolder
  name: string
}

export const genesis = '0'.repeat(64)
const headBytes = 512

/** Where the log ends: after line `seq` with this hash, at this byte. */
export interface End {
  seq: number
  hash: string
  end: number
}

/**
 * `sealed` is where the log surely ends; `intended` where the batch under way would end. A log shorter than its seal
 * was cut, one that goes on past it in any way not intended was added to; between the two a process died.
 */
export interface Head {
  sealed: End
  intended: End
}

export const start: End = { seq: 0, hash: genesis, end: 0 }

type Line = Pick<End, 'seq' | 'hash'>

/**
 * What is known of a log outside its folder: its last line, the last that was flushed to the disk, and the last of those on their way. It
 * is written before and after the log, so after a kill the log is as far as one of the two says; only a halt of the whole system can lose
 * what was not flushed, on either side.
 */
export interface ExternalHead {
  /** Counts the logs of a project; a person starts another one after a break. */
  log: number
  last: Line
  durable: Line
  /** The same as `last` while nobody writes. Older heads have none, and are no judge of what stands behind them. */
  next?: Line
  /** The last who wrote has closed the log, and this is on the disk: not even a halt of the system explains more. */
  closed?: boolean
  at: string
  boot: string
}

/** Before anything is known of a log. */
export const unknown: ExternalHead = {
  log: 1,
  last: { seq: 0, hash: genesis },
  durable: { seq: 0, hash: genesis },
  at: '',
  boot: '',
}

/** Said in the log itself, for good: what a halt of the system explains, somebody may have made use of. */
export function foundBehind({ last }: ExternalHead, { seq }: End): AuditEntry {
  return {
    event: 'recovered',
    message: 'entries stand behind the head kept apart: the system stopped before it was on the disk, or somebody added them',
    details: { from: last.seq + 1, to: seq },
  }
}

/** Why lines up to this one can stand behind the last that is known; undefined where there are none, or a process died over them. */
export function behind({ last, next, closed, boot }: ExternalHead, end: Line): 'added' | 'halted or added' | undefined {
  if (end.seq <= last.seq || next === undefined) return undefined
  if (end.seq < next.seq || (end.seq === next.seq && end.hash === next.hash)) return undefined
  return closed || (boot !== '' && boot === bootId()) ? 'added' : 'halted or added'
}

/** What of the log is gone, in words; undefined where it holds all it must. `end` is where the log ends now. */
export function lost({ last, durable, boot }: ExternalHead, end: Line): string | undefined {
  if (end.seq >= last.seq || (end.seq >= durable.seq && boot !== bootId())) return undefined
  return `it is missing: the log had ${last.seq} entries, as its head kept apart says. It was removed, cut or put back to an older state`
}

export function broken(message: string): Fault {
  return new Fault('io', message, {
    details: { audit: 'broken' },
    hint:
      'What cannot be written down is not done. A person can look with `handrail audit verify`, and start a new log that ' +
      'records the break with `handrail audit renew`.',
  })
}

export function writeExternalHead(file: LogFile, externalHead: Omit<ExternalHead, 'at' | 'boot'>): void {
  writePadded(file, { ...externalHead, at: new Date().toISOString(), boot: bootId() })
}

export function readExternalHead(file: LogFile): ExternalHead | undefined {
  const externalHead = readPadded(file) as Partial<ExternalHead> | undefined
  return isLine(externalHead?.last) && isLine(externalHead?.durable) && Number.isSafeInteger(externalHead?.log)
    ? (externalHead as ExternalHead)
    : undefined
}

/** Up to where a log was verified: line `seq` ends at byte `end`, and all bytes before that have this digest. */
export interface Checked extends End {
  log: number
  digest: string
  /** Where those bytes begin: another one once earlier ones were dropped. */
  from?: number
}

/** It lies behind the head kept apart, in a block of its own: who can change the log cannot change what it is compared with. */
export function writeChecked(file: LogFile, checked: Checked): void {
  writePadded(file, checked, headBytes)
}

export function readChecked(file: LogFile): Checked | undefined {
  const checked = readPadded(file, headBytes) as Partial<Checked> | undefined
  return isEnd(checked) && Number.isSafeInteger(checked?.log) && isHash(checked?.digest) ? (checked as Checked) : undefined
}

/** The last entry that was dropped with the files before it, by a person or a setting of theirs, and when. */
export interface Dropped extends End {
  log: number
  by: string
  at: string
}

export const nothingDropped: Dropped = { ...start, log: 0, by: '', at: '' }

/** A third block: the files are gone after it is written, never before. */
export function writeDropped(file: LogFile, dropped: Dropped): void {
  writePadded(file, dropped, 2 * headBytes)
}

export function readDropped(file: LogFile, log: number): Dropped {
  const dropped = readPadded(file, 2 * headBytes) as Partial<Dropped> | undefined
  return isEnd(dropped) && dropped?.log === log ? { ...nothingDropped, ...(dropped as Dropped) } : nothingDropped
}

export function writeHead(file: LogFile, head: Head): void {
  writePadded(file, head)
}

export function readHead(file: LogFile): Head | undefined {
  const head = readPadded(file) as Partial<Head> | undefined
  return isEnd(head?.sealed) && isEnd(head?.intended) ? (head as Head) : undefined
}

function isEnd(end: Partial<End> | null | undefined): boolean {
  return isLine(end) && Number.isSafeInteger(end?.end)
}

function isLine(line: Partial<Line> | null | undefined): boolean {
  return Number.isSafeInteger(line?.seq) && isHash(line?.hash)
}

function isHash(hash: string | undefined): boolean {
  return /^[0-9a-f]{64}$/.test(hash ?? '')
}

/** Always the same number of bytes in one write, so that no half of it is ever read. */
function writePadded(file: LogFile, value: object, at = 0): void {
  file.writeAt(Buffer.from(JSON.stringify(value).padEnd(headBytes - 1) + '\n'), at)
}

function readPadded(file: LogFile, at = 0): unknown {
  try {
    return JSON.parse(file.readAt(at, headBytes).toString('utf8')) ?? undefined
  } catch {
    return undefined
  }
}
