import { createRequire } from 'node:module'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ToolError } from '../contracts/errors.ts'
import { compileGlobs } from './globs.ts'
import { decodeText, turnMs, type Files } from './files.ts'
import type { PathRules } from './paths.ts'
import { splitPath } from './paths.ts'
import { runProcess } from './process.ts'
import type { RegexEngine } from './regex.ts'
import { openFolder, type Root } from './walk.ts'

export interface Match {
  path: string
  line: number
  preview: string
}

export interface Searching {
  path: string
  regex: string
  filePattern: string | undefined
  most: number
  signal: AbortSignal
  onProgress?: (filesDone: number) => void
}

export interface Search {
  readonly engine: 'ripgrep' | 'node'
  find(asked: Searching): Promise<Match[]>
}

const longestPattern = 16_384
const longestPreview = 400
/** Larger files are no text anybody searches; both engines pass them over. */
const largestFile = 64 << 20
/** How many hits are collected to be put in order before the first `most` are taken. */
const hitsInOrder = 100_000

/**
 * Content search. ripgrep proposes files and lines; what is answered comes only from our own judged reads, so that
 * nothing a link or a race could show it ever reaches the caller. Patterns it does not know go to the bounded engine.
 */
export function openSearch(parts: {
  root: Root
  rules: PathRules
  files: Files
  forbidden: readonly string[]
  regex: RegexEngine
  timeoutMs: number
  ripgrep?: string | undefined
}): Search {
  const { files, rules, ripgrep } = parts
  return {
    engine: ripgrep === undefined ? 'node' : 'ripgrep',
    async find(asked) {
      if (asked.regex.length === 0) throw badPattern(asked.regex, 'it is empty')
      if (asked.regex.length > longestPattern || asked.regex.includes('\0'))
        throw badPattern(asked.regex, `it is longer than ${longestPattern} characters or holds a NUL`)
      const names = splitPath(asked.path, rules)
      const wanted =
        asked.filePattern === undefined
          ? () => true
          : compileGlobs([asked.filePattern], { matchBase: !asked.filePattern.includes('/') })
      const base = names.length ? `${names.join('/')}/` : ''
      if (!files.isFolder(asked.path)) return scanInNode(parts, asked, '', (path) => path === names.join('/'))
      const hits = ripgrep === undefined ? undefined : await propose(parts, ripgrep, names, asked)
      if (!hits) return scanInNode(parts, asked, base, wanted)
      return readHits(files, hits, base, wanted, asked)
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

async function propose(
  parts: Parameters<typeof openSearch>[0],
  ripgrep: string,
  names: string[],
  asked: Searching,
): Promise<Hits | undefined> {
  const folder = openFolder(parts.root, names)
  const hits: Hits = new Map()
  let count = 0
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
        '--only-matching',
        '--replace=',
        '--encoding=none',
        `--max-filesize=${largestFile}`,
        ...(parts.root.mounts ? ['--one-file-system'] : []),
        ...parts.forbidden.map((name) => `--iglob=!**/${escapeGlob(name)}`),
        ...(isPlainGlob(asked.filePattern) ? [`--glob=${asked.filePattern}`] : []),
        `--regexp=${asked.regex}`,
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
        for (let newline = data.indexOf(0x0a); newline >= 0; newline = data.indexOf(0x0a, from)) {
          const zero = data.indexOf(0, from)
          if (zero > from && zero < newline) {
            const path = data.toString('utf8', from + 2, zero)
            const line = Number.parseInt(data.toString('latin1', zero + 1, newline), 10)
            const lines = hits.get(path)
            if (!lines) hits.set(path, [line])
            else if (lines.at(-1) !== line) lines.push(line)
            count++
          }
          from = newline + 1
        }
        rest = data.subarray(from)
        return count > hitsInOrder ? 'stop' : undefined
      },
    })
    if (end.timedOut)
      throw new ToolError('E_TIMEOUT', `The search took longer than ${parts.timeoutMs} ms`, {
        hint: 'Search a smaller folder, or give a filePattern.',
      })
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
  files: Files,
  hits: Hits,
  base: string,
  wanted: (path: string) => boolean,
  asked: Searching,
): Promise<Match[]> {
  const matches: Match[] = []
  let since = performance.now()
  for (const relative of [...hits.keys()].sort()) {
    if (matches.length >= asked.most) break
    if (!wanted(relative)) continue
    if (performance.now() - since > turnMs) {
      await nextTurn()
      asked.signal.throwIfAborted()
      since = performance.now()
    }
    const path = base + relative
    const text = textOf(files, path)
    if (text === undefined) continue
    addLines(matches, path, text, hits.get(relative) as number[], asked.most)
  }
  return matches
}

/** Adds the given lines of a text, walking from line to line without splitting the whole. */
function addLines(matches: Match[], path: string, text: string, lines: number[], most: number): void {
  let number = 1
  let at = 0
  for (const line of lines) {
    if (matches.length >= most) return
    while (number < line) {
      const newline = text.indexOf('\n', at)
      if (newline < 0) return
      at = newline + 1
      number++
    }
    const end = text.indexOf('\n', at)
    matches.push({ path, line, preview: preview(text.slice(at, end < 0 ? undefined : end)) })
  }
}

/** Without ripgrep, or for patterns only JavaScript knows: our own walk, the bounded engine for the pattern. */
async function scanInNode(
  parts: Parameters<typeof openSearch>[0],
  asked: Searching,
  base: string,
  wanted: (path: string) => boolean,
): Promise<Match[]> {
  const { files, regex } = parts
  const found: string[] = []
  if (!files.isFolder(asked.path)) found.push(files.normal(asked.path))
  else await files.scan(asked.path, (path, kind) => void (kind === 'file' && wanted(path) && found.push(path)), asked.signal)
  const until = performance.now() + parts.timeoutMs
  const matches: Match[] = []
  for (let from = 0; from < found.length && matches.length < asked.most;) {
    const batch: { path: string; text: string }[] = []
    for (let size = 0; from < found.length && batch.length < 500 && size < 4 << 20; from++) {
      const path = base + (found[from] as string)
      const text = textOf(files, path)
      if (text === undefined) continue
      size += text.length
      batch.push({ path, text })
    }
    asked.signal.throwIfAborted()
    asked.onProgress?.(from)
    const lines = await regex.find(
      asked.regex,
      '',
      batch.map((one) => one.text),
      asked.most - matches.length,
      Math.max(1, until - performance.now()),
    )
    batch.forEach((one, index) => addLines(matches, one.path, one.text, lines[index] ?? [], asked.most))
  }
  return matches
}

/** The text of a file that may be read; binary, unreadable and vanished ones are passed over. */
function textOf(files: Files, path: string): string | undefined {
  try {
    return decodeText(files.read(path, largestFile), path)
  } catch (fault) {
    if (fault instanceof ToolError) return undefined
    throw fault
  }
}

function preview(line: string): string {
  const plain = line.endsWith('\r') ? line.slice(0, -1) : line
  return plain.length > longestPreview ? `${plain.slice(0, longestPreview)}…` : plain
}

/** Patterns both glob dialects read alike; others are only applied by ours. */
function isPlainGlob(glob: string | undefined): glob is string {
  return glob !== undefined && /^[^!()[\]{}\\]+$/.test(glob) && !glob.startsWith('/')
}

function escapeGlob(name: string): string {
  return name.replace(/[[\]{}*?!\\]/g, '\\$&')
}

function badPattern(regex: string, why: string): ToolError {
  return new ToolError('E_BAD_ARGS', `Not a valid regular expression: ${why}`, {
    details: { regex: regex.slice(0, 200) },
    hint: 'Give a pattern such as "changeBg:.*".',
  })
}
