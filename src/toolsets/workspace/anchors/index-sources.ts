import { createHash } from 'node:crypto'
import type { AnchorIndex, Factory } from '../../../contracts/anchors.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Files } from '../../../host/files.ts'
import { canonical } from '../../../text/canonical.ts'
import { openPace } from '../../../text/steps.ts'
import { anchorsOf, mayHold, type FileAnchors } from './definitions.ts'
import { byText } from './patch-plan.ts'
import { openParser } from './syntax.ts'

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
/** Longer than any source that somebody wrote. */
const largest = 1_048_576
const mostFiles = 100_000

interface Known extends FileAnchors {
  stamp: string
}

/** What was found in files that have not changed since, by the folder and the factories; the oldest folder goes first. */
const known = new Map<string, Map<string, Known>>()
const mostKnown = 4
const nothing: FileAnchors = { entries: [], raw: [] }

/** What the TypeScript sources below a folder define. Nothing of them is run; the same files give the same bytes. */
export async function indexSources(
  files: Files,
  factories: readonly Factory[],
  options: { folder?: string | undefined; signal?: AbortSignal | undefined; onProgress?: (done: number, total: number) => void },
): Promise<AnchorIndex> {
  const { folder = '', signal, onProgress } = options
  const parse = openParser()
  const sources: { file: string; stamp: string | undefined }[] = []
  const base = folder === '' ? '' : `${folder}/`
  const skipped: string[] = []
  await files.scan(
    folder === '' ? '.' : folder,
    (relative, kind, stamp) => {
      if (skipped.length > 0 && relative.startsWith(skipped.at(-1) as string)) return undefined
      if (kind === 'folder' && passedOver.has(relative.slice(relative.lastIndexOf('/') + 1))) skipped.push(`${relative}/`)
      else if (kind === 'file' && isSource.test(relative)) sources.push({ file: base + relative, stamp: stamp() })
      return sources.length >= mostFiles ? 'stop' : undefined
    },
    signal,
  )
  const name = `${files.root}\0${createHash('sha256').update(canonical(factories)).digest('hex')}`
  const before = known.get(name)
  const after = new Map<string, Known>(folder === '' ? [] : before)
  const all: FileAnchors[] = []
  let unreadable = 0
  const pace = openPace(signal)
  for (const [index, { file, stamp }] of sources.entries()) {
    const kept = before?.get(file)
    if (kept && kept.stamp === stamp) {
      after.set(file, kept)
      if (kept.entries.length > 0 || kept.raw.length > 0) all.push(kept)
      continue
    }
    if (pace.due()) {
      onProgress?.(index, sources.length)
      await pace.turn()
    }
    const found = anchorsIn(files, parse, file, factories)
    if (!found) unreadable++
    else if (stamp !== undefined) after.set(file, { ...found, stamp })
    if (found && (found.entries.length > 0 || found.raw.length > 0)) all.push(found)
  }
  known.delete(name)
  known.set(name, after)
  if (known.size > mostKnown) known.delete(known.keys().next().value as string)
  return asIndex(files.root, all, sources.length, unreadable)
}

function anchorsIn(
  files: Files,
  parse: ReturnType<typeof openParser>,
  file: string,
  factories: readonly Factory[],
): FileAnchors | undefined {
  let text: string
  try {
    text = files.readText(file, largest)
  } catch (fault) {
    // Secrets, other encodings, what is too large, and what went away meanwhile.
    if (fault instanceof Fault) return undefined
    throw fault
  }
  if (!mayHold(text, factories)) return nothing
  const syntax = parse(file, text)
  return syntax.broken ? undefined : anchorsOf(file, text, syntax, factories)
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
