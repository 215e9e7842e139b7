import { Fault } from '../contracts/faults/fault.ts'
import { compileGlobs } from '../text/glob.ts'
import { decodeText, type Files } from './files.ts'
import { byText, runInSlices, openPace, sorted } from '../text/steps.ts'
import { splitPath } from './paths.ts'
import { readPattern } from './regex-dialect.ts'
import { confirmed, propose, type Hits } from './ripgrep.ts'
import { tooSlow, type Match, type SearchParts, type SearchRequest, type SearchState } from './search-request.ts'

export interface Search {
  readonly engine: 'ripgrep' | 'node'
  find(asked: SearchRequest): Promise<Found>
}

export interface Found {
  matches: Match[]
  /** Something that may hold more was not looked at: too many hits, files or names, or one too large. */
  cut: boolean
}

const longestPreview = 400
/** Larger files are no text anybody searches; our own reads pass them over, whatever is proposed. */
const largestFile = 16 << 20
/** More than anybody reads; and how long what is kept of them may be together. */
const mostMatches = 1_000_000
const charactersKept = 32 << 20
/** How many files are searched one by one without ripgrep. */
const mostFiles = 200_000
/** Lines that are held at once until they are confirmed. Of a confirmed one only its beginning is kept. */
const charactersAtOnce = 4 << 20

/**
 * Content search. ripgrep proposes files and lines; what is answered comes only from our own judged reads, so that
 * nothing a link or a race could show it ever reaches the caller. Patterns it does not know go to the bounded engine.
 */
export function openSearch(parts: SearchParts): Search {
  const { files, rules } = parts
  return {
    get engine() {
      return parts.ripgrep() === undefined ? 'node' : 'ripgrep'
    },
    async find(asked) {
      const pattern = readPattern(asked.regex)
      const names = splitPath(asked.path, rules)
      const { filePattern } = asked
      const state: SearchState = {
        asked: { ...asked, most: Math.min(asked.most, mostMatches) },
        pattern,
        cut: false,
        left: charactersKept,
      }
      const wanted =
        filePattern === undefined ? () => true : compileGlobs([filePattern], { matchBase: !filePattern.includes('/') })
      const base = names.length ? `${names.join('/')}/` : ''
      if (!files.isFolder(asked.path)) {
        // A file that is named must be one that may be read.
        files.read(asked.path, largestFile)
        return { matches: await scanInNode(parts, state, '', () => true), cut: state.cut }
      }
      const ripgrep = parts.ripgrep()
      const hits = ripgrep === undefined ? undefined : await propose(parts, ripgrep, names, state)
      const matches = hits
        ? await readHits(parts, ripgrep as string, hits, base, wanted, state)
        : await scanInNode(parts, state, base, wanted)
      return { matches, cut: state.cut }
    },
  }
}

/** Takes the first hits in the order of their paths, and reads each line itself. */
async function readHits(
  parts: SearchParts,
  ripgrep: string,
  hits: Hits,
  base: string,
  wanted: (path: string) => boolean,
  state: SearchState,
): Promise<Match[]> {
  const { most, signal } = state.asked
  const matches: Match[] = []
  const pace = openPace(signal)
  let lines: Match[] = []
  let held = 0
  const settle = async (): Promise<void> => {
    const fresh = await confirmed(parts, ripgrep, lines, state)
    for (const one of fresh) keep(matches, one, state)
    lines = []
    held = 0
  }
  const paths = await runInSlices(sorted([...hits.keys()], byText), signal)
  for (const relative of paths) {
    if (matches.length >= most || state.left < 0) break
    if (!wanted(relative)) continue
    if (pace.due()) await pace.turn()
    const text = textOf(parts.files, base + relative, state)
    if (text === undefined) continue
    for (const { line, preview } of linesAt(text, hits.get(relative) as number[])) {
      lines.push({ path: base + relative, line, preview })
      held += preview.length
      if (held < charactersAtOnce && matches.length + lines.length < most) continue
      await settle()
      if (matches.length >= most) break
    }
    // A line holds on to the whole text it was cut from.
    if (held > charactersAtOnce / 4 || text.length > charactersAtOnce) await settle()
  }
  await settle()
  return matches
}

/** The given lines of a text, walking from line to line without splitting the whole. */
function* linesAt(text: string, lines: number[]): Generator<{ line: number; preview: string }> {
  let number = 1
  let at = 0
  for (const line of lines) {
    while (number < line) {
      const newline = text.indexOf('\n', at)
      if (newline < 0) return
      at = newline + 1
      number++
    }
    const end = text.indexOf('\n', at)
    yield { line, preview: text.slice(at, end < 0 ? undefined : end) }
  }
}

/** Without ripgrep, or for patterns only JavaScript knows: our own walk, the bounded engine for the pattern. */
async function scanInNode(
  parts: SearchParts,
  state: SearchState,
  base: string,
  wanted: (path: string) => boolean,
): Promise<Match[]> {
  const { files, regex } = parts
  const { asked, pattern } = state
  const until = performance.now() + parts.timeoutMs
  const found: string[] = []
  if (!files.isFolder(asked.path)) found.push(files.normal(asked.path))
  else {
    const { more } = await files.scan(
      asked.path,
      (path, kind) => {
        if (performance.now() > until) throw tooSlow(parts.timeoutMs)
        if (kind !== 'file' || !wanted(path)) return undefined
        if (found.length < mostFiles) return void found.push(path)
        state.cut = true
        return 'stop'
      },
      asked.signal,
    )
    if (more) state.cut = true
  }
  const pace = openPace(asked.signal)
  const ordered = await runInSlices(sorted(found, byText), asked.signal)
  const matches: Match[] = []
  for (let from = 0; from < ordered.length && matches.length < asked.most && state.left >= 0;) {
    const batch: { path: string; text: string }[] = []
    for (let size = 0; from < ordered.length && batch.length < 500 && size < charactersAtOnce; from++) {
      if (pace.due()) await pace.turn()
      const path = base + (ordered[from] as string)
      const text = textOf(files, path, state)
      if (text === undefined) continue
      size += text.length
      batch.push({ path, text })
    }
    asked.signal.throwIfAborted()
    asked.onProgress?.(from)
    const texts = batch.map((one) => one.text)
    const timeoutMs = Math.max(1, until - performance.now())
    const lines = await regex.find(pattern, texts, asked.most - matches.length, {
      client: asked.client,
      timeoutMs,
      signal: asked.signal,
    })
    batch.forEach(({ path, text }, index) => {
      for (const one of linesAt(text, lines[index] ?? [])) if (matches.length < asked.most) keep(matches, { path, ...one }, state)
    })
  }
  return matches
}

/** The text of a file that may be read; binary, unreadable and vanished ones are passed over. */
function textOf(files: Files, path: string, state: SearchState): string | undefined {
  try {
    return decodeText(files.read(path, largestFile), path)
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    if (fault.reason === 'too-large') state.cut = true
    return undefined
  }
}

function keep(matches: Match[], match: Match, state: SearchState): void {
  const kept = shown(match)
  state.left -= kept.preview.length
  if (state.left >= 0) matches.push(kept)
  else state.cut = true
}

/** The line as it is answered: without its CR, not endless, and on its own: a slice would hold on to the whole file. */
function shown(match: Match): Match {
  const line = match.preview.endsWith('\r') ? match.preview.slice(0, -1) : match.preview
  const start = Buffer.from(line.slice(0, longestPreview), 'utf16le').toString('utf16le')
  return { ...match, preview: line.length > longestPreview ? `${start}…` : start }
}
