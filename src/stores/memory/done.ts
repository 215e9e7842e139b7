import type { ArtifactStore } from '../../contracts/run-ports.ts'
import { bounds } from '../../contracts/kept.ts'
import type { AuditLine } from '../../contracts/audit.ts'
import type { Database } from '../../host/database.ts'
import { wordsIn } from '../../text/memory-words.ts'
import { redact } from '../../text/redact/redact.ts'
import { paced, type Pace } from '../../text/steps.ts'
import type { AuditStore } from '../audit.ts'
import { openArtifactRows } from '../artifact-rows.ts'
import { entryOf, facetsOf, kindOf, mostPaths, mostText, refOf, wholeWords, type Entry } from './entry.ts'
import { mostLines, type Found, type IndexFile, type Thing } from './index-file.ts'

export interface Records {
  audit: Pick<AuditStore, 'line' | 'lines' | 'head'>
  db: Database
  artifacts: Pick<ArtifactStore, 'read'>
}

/** The log is not the one it was made from. */
export class OtherLog extends Error {}

/** Lines that are taken up together. What was begun and not finished is taken up again. */
const batch = 256
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
    const some: Thing[] = []
    const ended: string[] = []
    let last: AuditLine | undefined
    for (let next = lines.next(); !next.done; next = lines.next()) {
      last = next.value
      const { event, run } = last
      some.push(...thingOf(last, records.db))
      if (event === 'run.ended' && run !== undefined) ended.push(run)
      if (last.seq - at >= batch) break
      if (pace.due()) await pace.turn()
    }
    if (!last) return
    const upTo = `${last.seq} ${last.hash}`
    const isOurs = (): boolean => cursorOf(index).seq === at
    if (isOurs()) await paced(index.put('log', some), pace)
    const isDone = index.transaction(() => {
      // Somebody else went on from there meanwhile.
      if (!isOurs()) return false
      index.setFact('log', upTo)
      return true
    })
    if (!isDone) return indexLog(index, records, pace, onProgress)
    for (const run of ended) await takeArtifacts(index, run, records, pace)
    at = last.seq
    onProgress(at - first + 1, Math.max(head, at) - first + 1)
    await pace.turn()
  }
}

function thingOf(line: AuditLine, db: Database): Thing[] {
  const ref = refOf(line)
  if (ref === undefined) return []
  const entry = entryOf(ref, [line], changedBy(line, db)) as Entry
  return [{ ref, at: entry.at, line: line.seq, words: [...wordsIn(entry.text, mostWords), ...facetsOf(entry)] }]
}

/** A program does not say before which files it will change: the states of them that were kept do. */
function changedBy({ call, snapshots }: AuditLine, db: Database): string[] {
  if (call === undefined || !snapshots?.length) return []
  return db
    .all<{ path: string }>(`SELECT DISTINCT path FROM snapshots WHERE call = ? LIMIT ${mostPaths}`, call)
    .map(({ path }) => path)
}

/** What a run left is known from when it has ended. */
async function takeArtifacts(index: IndexFile, run: string, { db, artifacts }: Records, pace: Pace): Promise<void> {
  for (const { artifactId } of openArtifactRows(db).list(run).slice(0, mostArtifacts)) {
    const ref = `artifact ${artifactId}`
    const entry = index.find(ref) ? undefined : await artifactOf(ref, { db, artifacts })
    if (!entry) continue
    const words = [...wordsIn(entry.text, 4 * mostWords), ...facetsOf(entry)]
    await paced(index.put('log', [{ ref, at: entry.at, words }]), pace)
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
    text: `${what}\n${redact(content.length < mostText ? content.toString('utf8') : wholeWords(content.toString('utf8')))}`,
  }
}

/** What somebody may see of it. */
export interface Sight {
  sees(line: AuditLine): boolean
  /** Whether a path is in a root of theirs. */
  reaches(path: string): boolean
  /** What runs left: not for whoever may have no run. */
  artifacts: boolean
}

/** A thing of the log, as the log and the artifacts have it now. */
export async function doneOf(
  { ref, lines }: Found,
  records: Records,
  { sees, reaches, artifacts }: Sight,
): Promise<Entry | undefined> {
  if (kindOf(ref) === 'artifact') return artifacts ? artifactOf(ref, records) : undefined
  const found: AuditLine[] = []
  for (const seq of lines.split(' ', mostLines)) {
    const line = records.audit.line(Number(seq))
    if (!line || refOf(line) !== ref) continue
    if (!sees(line)) return undefined
    found.push(line)
  }
  const changed = found.flatMap((line) => changedBy(line, records.db)).filter(reaches)
  return entryOf(ref, found, changed)
}
