import { createRequire } from 'node:module'
import { ToolError } from '../contracts/errors.ts'
import { compileGlobs } from '../text/glob.ts'
import { decodeText, type Files } from './files.ts'
import { byText, runInSlices, openPace, sorted } from '../text/steps.ts'
import type { PathRules } from './paths.ts'
import { splitPath } from './paths.ts'
import { runProcess } from './process.ts'
import type { RegexEngine } from './regex.ts'
import { readPattern, type SearchPattern } from './regex-dialect.ts'
import { openFolder, type Root } from './walk.ts'

export interface Match {
  path: string
  line: number
  preview: string
}

export interface SearchRequest {
  path: string
  regex: string
  filePattern: string | undefined
  most: number
  /** Whose search it is. */
  client: string
  signal: AbortSignal
  onProgress?: (filesDone: number) => void
}

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
/** How many hits are collected to be put in order before the first `most` are taken, and how long their paths may be together. */
const hitsInOrder = 100_000
const charactersOfPaths = 32 << 20
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
export function openSearch(parts: Parts): Search {
  const { files, rules, ripgrep } = parts
  return {
    engine: ripgrep === undefined ? 'node' : 'ripgrep',
    async find(asked) {
      const pattern = readPattern(asked.regex)
      const names = splitPath(asked.path, rules)
      const { filePattern } = asked
      const state: State = {
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
      const hits = ripgrep === undefined ? undefined : await propose(parts, ripgrep, names, state)
      const matches = hits
        ? await readHits(parts, ripgrep as string, hits, base, wanted, state)
        : await scanInNode(parts, state, base, wanted)
      return { matches, cut: state.cut }
    },
  }
}

/** Where ripgrep's binary is, if its package came with one for this system. */
export function findRipgrep(): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    const name = process.platform === 'win32' ? 'rg.exe' : 'rg'
    return createRequire(require.resolve('@vscode/ripgrep')).resolve(
      `@vscode/ripgrep-${process.platform}-${process.arch}/bin/${name}`,
    )
  } catch {
    return undefined
  }
}

type Hits = Map<string, number[]>

/** One search under way. */
interface State {
  readonly asked: SearchRequest
  readonly pattern: SearchPattern
  cut: boolean
  /** Characters that may still be kept. */
  left: number
}

interface Parts {
  root: Root
  rules: PathRules
  files: Files
  forbidden: readonly string[]
  regex: RegexEngine
  timeoutMs: number
  ripgrep?: string | undefined
}

async function propose(parts: Parts, ripgrep: string, names: readonly string[], state: State): Promise<Hits | undefined> {
  const { asked, pattern } = state
  if (pattern.ripgrep === undefined) return undefined
  const folder = openFolder(parts.root, names)
  const hits: Hits = new Map()
  let count = 0
  let length = 0
  let rest: Buffer = Buffer.alloc(0)
  try {
    const end = await runProcess({
      file: ripgrep,
      args: [
        '--no-config',
        '--no-messages',
        '--hidden',
        '--no-ignore',
        '--no-heading',
        '--with-filename',
        '--line-number',
        '--null',
        '--color=never',
        // Only path and line number are of use; the line itself is read again by us.
        '--max-columns=1',
        '--crlf',
        '--encoding=none',
        ...(parts.root.mounts ? ['--one-file-system'] : []),
        ...parts.forbidden.map((name) => `--iglob=!**/${escapeGlob(name)}`),
        ...(isPlainGlob(asked.filePattern) ? [`--glob=${asked.filePattern}`] : []),
        `--regexp=${pattern.ripgrep}`,
        '--',
        '.',
      ],
      cwd: folder.at('.'),
      env: {},
      signal: asked.signal,
      timeoutMs: parts.timeoutMs,
      onOutput(chunk) {
        const data = rest.length ? Buffer.concat([rest, chunk]) : chunk
        let from = 0
        for (;;) {
          // A path may hold a line break, so its end comes first.
          const zero = data.indexOf(0, from)
          const newline = zero < 0 ? -1 : data.indexOf(0x0a, zero)
          if (newline < 0) break
          const path = data.toString('utf8', from + 2, zero)
          const line = Number.parseInt(data.toString('latin1', zero + 1, zero + 12), 10)
          const lines = hits.get(path)
          if (lines) lines.push(line)
          else {
            hits.set(path, [line])
            length += path.length
          }
          count++
          from = newline + 1
        }
        rest = data.subarray(from)
        if (count <= Math.max(hitsInOrder, asked.most) && length <= charactersOfPaths) return undefined
        state.cut = true
        return 'stop'
      },
    })
    if (end.timedOut) throw tooSlow(parts.timeoutMs)
    asked.signal.throwIfAborted()
    // Code 2 is a pattern it does not know (look-around, references), or a fault: the other engine decides.
    return end.stopped || end.code === 0 || end.code === 1 || hits.size > 0 ? hits : undefined
  } catch (cause) {
    if (cause instanceof ToolError || asked.signal.aborted) throw cause
    return undefined
  } finally {
    folder.close()
  }
}

/** Takes the first hits in the order of their paths, and reads each line itself. */
async function readHits(
  parts: Parts,
  ripgrep: string,
  hits: Hits,
  base: string,
  wanted: (path: string) => boolean,
  state: State,
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

/**
 * What ripgrep proposed was found under a name, which may have led outside for a moment; so the lines that were read by us
 * must match themselves. It is asked once more, about these lines on its stdin, without their CR.
 */
async function confirmed(parts: Parts, ripgrep: string, matches: Match[], { asked, pattern }: State): Promise<Match[]> {
  if (matches.length === 0) return []
  const input = matches.map((match) => `${match.preview.endsWith('\r') ? match.preview.slice(0, -1) : match.preview}\n`).join('')
  let output = ''
  const end = await runProcess({
    file: ripgrep,
    args: [
      '--no-config',
      '--text',
      '--line-number',
      '--no-filename',
      '--color=never',
      '--max-columns=1',
      '--encoding=none',
      `--regexp=${pattern.ripgrep}`,
      '-',
    ],
    cwd: '/',
    env: {},
    signal: asked.signal,
    timeoutMs: parts.timeoutMs,
    input,
    onOutput: (chunk) => void (output += chunk.toString('latin1')),
  })
  if (end.timedOut) throw tooSlow(parts.timeoutMs)
  asked.signal.throwIfAborted()
  const lines = new Set(output.split('\n').map((line) => Number.parseInt(line, 10)))
  return matches.filter((_, index) => lines.has(index + 1))
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
async function scanInNode(parts: Parts, state: State, base: string, wanted: (path: string) => boolean): Promise<Match[]> {
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
function textOf(files: Files, path: string, state: State): string | undefined {
  try {
    return decodeText(files.read(path, largestFile), path)
  } catch (fault) {
    if (!(fault instanceof ToolError)) throw fault
    if (fault.code === 'E_TOO_LARGE') state.cut = true
    return undefined
  }
}

function keep(matches: Match[], match: Match, state: State): void {
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

/** Patterns both glob dialects read alike; others are only applied by ours. */
function isPlainGlob(glob: string | undefined): glob is string {
  return glob !== undefined && /^[^!()[\]{}\\]+$/.test(glob) && !glob.startsWith('/')
}

function escapeGlob(name: string): string {
  return name.replace(/[[\]{}*?!\\]/g, '\\$&')
}

function tooSlow(ms: number): ToolError {
  return new ToolError('E_TIMEOUT', `The search took longer than ${ms} ms`, {
    hint: 'Search a smaller folder, or give a filePattern.',
  })
}
