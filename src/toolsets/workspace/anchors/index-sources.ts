import type { AnchorIndex, Factory, RawEntry } from '../../../contracts/anchors.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Files } from '../../../host/files.ts'
import { largestSource } from '../../../host/source-parser.ts'
import { openPace } from '../../../text/steps.ts'
import { anchorsOf, mayHold, type FileAnchors } from './definitions.ts'
import { openKnown, type KnownAnchors } from './known.ts'
import { byText } from './patch-plan.ts'
import { placesIn, type Parse } from './syntax.ts'

export type { KnownAnchors } from './known.ts'

const isSource = /(?<!\.d)\.[cm]?tsx?$/
const passedOver = new Set([
  'node_modules',
  'dist',
  'build',
  'coverage',
  '.turbo',
  '.vite',
  '.next',
  'public',
  'out',
  '.cache',
  '.git',
])
const mostFiles = 100_000

const nothing: FileAnchors = { entries: [], raw: [] }

/** What the TypeScript sources below a folder define. Nothing of them is run; the same files give the same bytes. */
export async function indexSources(
  files: Files,
  parse: Parse,
  factories: readonly Factory[],
  options: {
    folder: string
    known: KnownAnchors
    signal?: AbortSignal | undefined
    onProgress?: (done: number, total: number) => void
  },
): Promise<AnchorIndex> {
  const { folder, signal, onProgress } = options
  const sources: { file: string; stamp: string | undefined }[] = []
  const base = folder === '' ? '' : `${folder}/`
  await files.scan(
    folder === '' ? '.' : folder,
    (relative, kind, stamp) => {
      if (kind === 'folder') return passedOver.has(relative.slice(relative.lastIndexOf('/') + 1)) ? 'pass' : undefined
      if (kind === 'file' && isSource.test(relative)) sources.push({ file: base + relative, stamp: stamp() })
      return sources.length >= mostFiles ? 'stop' : undefined
    },
    signal,
  )
  const known = await openKnown(options.known, files.root, factories, base, signal)
  const all: FileAnchors[] = []
  let unreadable = 0
  const pace = openPace(signal)
  for (const [index, { file, stamp }] of sources.entries()) {
    const kept = stamp === undefined ? undefined : known.of(file, stamp)
    if (!kept && pace.due()) {
      onProgress?.(index, sources.length)
      await pace.turn()
    }
    const found = kept ?? (await anchorsIn(files, parse, file, factories))
    if (!found || found.unreadable) unreadable++
    if (!found) continue
    if (!kept && stamp !== undefined) known.learn(file, stamp, found)
    if (found.entries.length > 0 || found.raw.length > 0) all.push(found)
  }
  await known.keep()
  return asIndex(files.root, all, sources.length, unreadable)
}

/** Nothing where it may not be read. What may be and cannot is listed, with the reason. */
async function anchorsIn(
  files: Files,
  parse: Parse,
  file: string,
  factories: readonly Factory[],
): Promise<FileAnchors | undefined> {
  let text: string
  try {
    text = files.readText(file, largestSource)
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    // Secrets, and what went away meanwhile.
    if (fault.reason !== 'too-large' && fault.reason !== 'encoding') return undefined
    return unread(file, fault.reason === 'encoding' ? 'not_text' : 'too_large')
  }
  if (!mayHold(text, factories)) return nothing
  const parsed = parse(file, text)
  const syntax = parsed instanceof Promise ? await parsed : parsed
  return syntax.broken === false ? anchorsOf(file, text, syntax, factories) : unread(file, syntax.broken)
}

const start = placesIn('')(0, 0)

const unread = (file: string, why: string): FileAnchors => {
  const raw: RawEntry = { file, span: start, reasonCodes: [`file.${why}`] }
  return { entries: [], raw: [raw], unreadable: true }
}

interface Placed {
  file: string
  span: { start: { offset: number }; end: { offset: number } }
}

function asIndex(repoRoot: string, all: readonly FileAnchors[], filesScanned: number, filesUnreadable: number): AnchorIndex {
  const inOrder = (a: Placed, b: Placed): number =>
    byText(a.file, b.file) || a.span.start.offset - b.span.start.offset || a.span.end.offset - b.span.end.offset
  const entries = all.flatMap((one) => one.entries).sort(inOrder)
  const rawMode = all.flatMap((one) => one.raw).sort(inOrder)
  const definitions: Record<string, number> = {}
  for (const { kind } of entries) if (kind !== 'AutofillTarget') definitions[kind] = (definitions[kind] ?? 0) + 1
  return {
    schemaVersion: 1,
    kind: 'AnchorIndex',
    repoRoot,
    entries,
    rawMode,
    summary: {
      filesScanned,
      filesUnreadable,
      entriesTotal: entries.length,
      rawModeTotal: rawMode.length,
      autofillTargetsTotal: entries.filter(({ kind }) => kind === 'AutofillTarget').length,
      definitions,
    },
  }
}
