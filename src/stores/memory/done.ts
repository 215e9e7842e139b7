import type { ArtifactStore } from '../../contracts/run-ports.ts'
import { bounds } from '../../contracts/kept.ts'
import type { AuditLine } from '../../contracts/audit.ts'
import type { Database } from '../../host/database.ts'
import { wordsIn } from '../../text/memory-words.ts'
import { redact } from '../../text/redact/redact.ts'
import type { Pace } from '../../text/steps.ts'
import type { AuditStore } from '../audit.ts'
import { openArtifactRows } from '../artifact-rows.ts'
import { entryOf, facetsOf, kindOf, mostPaths, mostText, refOf, type Entry } from './entry.ts'
import type { Found, IndexFile } from './index-file.ts'

export interface Records {
  audit: Pick<AuditStore, 'line' | 'lines' | 'head'>
  db: Database
  artifacts: Pick<ArtifactStore, 'read'>
}

/** The log is not the one it was made from. */
export class OtherLog extends Error {}

/** Lines that are taken up in one transaction: a few milliseconds. */
const batch = 32
/** So many words of one line are kept. */
const mostWords = 128
/** Of one run. */
const mostArtifacts = 200

/** The place in the log up to which all is taken up. */
function cursorOf(index: IndexFile): { seq: number; hash: string } {
  const [seq = '0', hash = ''] = (index.fact('log') ?? '').split(' ')
  return { seq: Number(seq) || 0, hash }
}

export const knownLines = (index: IndexFile): number => cursorOf(index).seq

/** Takes up the log from where it was left, whichever process did so. */
export async function indexLog(
  index: IndexFile,
  records: Records,
  pace: Pace,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<void> {
  const { audit } = records
  const { seq: head } = audit.head()
  const known = cursorOf(index)
  if (known.seq > head) throw new OtherLog()
  const there = known.seq > 0 ? audit.line(known.seq) : undefined
  // Lines may have been dropped since; another line in its place is another log.
  if (there && there.hash !== known.hash) throw new OtherLog()
  const first = Math.max(known.seq + 1, head - bounds.memory.entries + 1)
  const lines = audit.lines(first)[Symbol.iterator]()
  let at = known.seq
  for (;;) {
    const some: AuditLine[] = []
    for (let next = lines.next(); ; next = lines.next()) {
      if (next.done) break
      some.push(next.value)
      if (some.length >= batch || pace.due()) break
    }
    const last = some.at(-1)
    if (!last) return
    const isOurs = index.transaction(() => {
      // Somebody else went on from there meanwhile.
      if (cursorOf(index).seq !== at) return false
      for (const line of some) take(index, line, records.db)
      index.setFact('log', `${last.seq} ${last.hash}`)
      return true
    })
    if (!isOurs) return indexLog(index, records, pace, onProgress)
    for (const { event, run } of some) if (event === 'run.ended' && run !== undefined) await takeArtifacts(index, run, records)
    at = last.seq
    onProgress(at - first + 1, Math.max(head, at) - first + 1)
    await pace.turn()
  }
}

function take(index: IndexFile, line: AuditLine, db: Database): void {
  const ref = refOf(line)
  if (ref === undefined) return
  const entry = entryOf(ref, [line], changedBy(line, db)) as Entry
  index.add('log', ref, entry.at, line.seq, [...wordsIn(entry.text, mostWords), ...facetsOf(entry)])
}

/** A program does not say before which files it will change: the states of them that were kept do. */
function changedBy({ call, snapshots }: AuditLine, db: Database): string[] {
  if (call === undefined || !snapshots?.length) return []
  return db
    .all<{ path: string }>(`SELECT DISTINCT path FROM snapshots WHERE call = ? LIMIT ${mostPaths}`, call)
    .map(({ path }) => path)
}

/** What a run left is known from when it has ended. */
async function takeArtifacts(index: IndexFile, run: string, { db, artifacts }: Records): Promise<void> {
  for (const { artifactId } of openArtifactRows(db).list(run).slice(0, mostArtifacts)) {
    const ref = `artifact ${artifactId}`
    const entry = index.find(ref) ? undefined : await artifactOf(ref, { db, artifacts })
    if (entry)
      index.transaction(() =>
        index.add('log', ref, entry.at, undefined, [...wordsIn(entry.text, 4 * mostWords), ...facetsOf(entry)]),
      )
  }
}

/** An artifact with the beginning of what it says, without secrets. */
async function artifactOf(ref: string, { db, artifacts }: Pick<Records, 'db' | 'artifacts'>): Promise<Entry | undefined> {
  const id = ref.slice(ref.indexOf(' ') + 1)
  const info = openArtifactRows(db).get(id)
  if (!info || info.expired) return undefined
  const isText = /^(text\/|application\/(.*\+)?json\b)/.test(info.mimeType)
  const content = isText ? await artifacts.read(id, 0, mostText).catch(() => undefined) : Buffer.alloc(0)
  if (!content) return undefined
  const what = `${info.mimeType}, ${info.bytes} bytes, of ${info.runId}`
  return {
    kind: 'artifact',
    id,
    at: info.createdAt,
    run: info.runId,
    what,
    text: `${what}\n${redact(wholeWords(content.toString('utf8'), content.length >= mostText))}`,
  }
}

/** Half a secret is not known as one: what was cut off ends at a blank. */
const wholeWords = (text: string, isCut: boolean): string => (isCut ? text.slice(0, text.search(/\s\S*$/) + 1) : text)

/** What somebody may see of it. */
export interface Sight {
  sees(line: AuditLine): boolean
  /** Whether a path is in a root of theirs. */
  reaches(path: string): boolean
}

/** A thing of the log, as the log and the artifacts have it now. */
export async function doneOf({ ref, lines }: Found, records: Records, { sees, reaches }: Sight): Promise<Entry | undefined> {
  if (kindOf(ref) === 'artifact') return artifactOf(ref, records)
  const found: AuditLine[] = []
  for (const seq of lines.split(' ')) {
    const line = records.audit.line(Number(seq))
    if (!line || refOf(line) !== ref) continue
    if (!sees(line)) return undefined
    found.push(line)
  }
  const changed = found.flatMap((line) => changedBy(line, records.db)).filter(reaches)
  return entryOf(ref, found, changed)
}
