import type { PayloadOf } from '../../contracts/bridge.ts'
import type { ArtifactOutput, CommandOutcome } from '../../contracts/command-result.ts'
import { canonical } from '../../text/canonical.ts'
import { isFields } from './request.ts'
import type { TraceAsked } from './params.ts'

const outputKey = 'traceSlim'

export interface Trace {
  text: string
  /** Of the whole, where only a part of it is there. */
  totalBytes: number
}

/** Tells a trace as started, chunks and finished, whatever there is of it: the command has ended. */
export async function tellTrace(
  outcome: CommandOutcome,
  /** A file of the project; nothing where it cannot be read. */
  read: (path: string) => Promise<Trace | undefined>,
  { maxBytes, chunkBytes }: TraceAsked,
  tell: {
    started(payload: PayloadOf<'dev.event.trace.started'>): void
    /** False where nobody reads. */
    chunk(payload: PayloadOf<'dev.event.trace.chunk'>): Promise<boolean>
    finished(payload: PayloadOf<'dev.event.trace.finished'>): void
  },
): Promise<void> {
  tell.started({ schemaVersion: 1, kind: 'DevServerTraceStarted', fileName: 'trace.slim.json' })
  const finished = { schemaVersion: 1, kind: 'DevServerTraceFinished' } as const
  const trace = await traceOf(outcome, read)
  if (!trace) return tell.finished({ ...finished, available: false })
  let sent = 0
  let seq = 0
  for (const text of piecesOf(trace.text, chunkBytes, maxBytes)) {
    const bytes = Buffer.byteLength(text)
    if (!(await tell.chunk({ schemaVersion: 1, kind: 'DevServerTraceChunk', seq: seq++, text, bytes }))) break
    sent += bytes
  }
  const { totalBytes } = trace
  tell.finished({ ...finished, available: true, truncated: sent < totalBytes, totalBytes, droppedBytes: totalBytes - sent })
}

async function traceOf(outcome: CommandOutcome, read: (path: string) => Promise<Trace | undefined>): Promise<Trace | undefined> {
  const artifact = traceArtifact(outcome)
  if (!artifact || outcome.kind !== 'result') return undefined
  const { inline, file } = artifact
  const found = file === undefined || outcome.outFolder === undefined ? undefined : await read(`${outcome.outFolder}/${file}`)
  if (found || inline === undefined) return found
  if (isFields(inline) && inline['_tag'] === 'oversized' && typeof inline['bytes'] === 'number')
    return { text: String(inline['preview'] ?? ''), totalBytes: inline['bytes'] }
  const text = canonical(inline)
  return { text, totalBytes: Buffer.byteLength(text) }
}

function traceArtifact(outcome: CommandOutcome): ArtifactOutput | undefined {
  return outcome.kind === 'result' ? outcome.result.artifacts.find((one) => one.outputKey === outputKey && one.ok) : undefined
}

/** Pieces of whole characters, each within its bound and all of them within theirs. */
export function* piecesOf(text: string, pieceBytes: number, mostBytes: number): Generator<string> {
  const bytes = Buffer.from(text)
  const most = Math.min(mostBytes, bytes.length)
  for (let at = 0; at < most;) {
    let end = Math.min(at + pieceBytes, most)
    // Not into the middle of a character, whose further bytes are 10xxxxxx.
    if (end < bytes.length) while (end > at && ((bytes[end] as number) & 0xc0) === 0x80) end--
    if (end === at) return
    yield bytes.toString('utf8', at, end)
    at = end
  }
}
