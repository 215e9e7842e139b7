import { createRequire } from 'node:module'
import { Fault } from '../contracts/faults/fault.ts'
import { runProcess } from './process.ts'
import { tooSlow, type Match, type SearchParts, type SearchState } from './search-request.ts'
import { openFolder } from './walk.ts'

/** How many hits are collected to be put in order before the first `most` are taken, and how long their paths may be together. */
const hitsInOrder = 100_000
const charactersOfPaths = 32 << 20

let binary: { path: string | undefined } | undefined

/** Where ripgrep's binary is, if its package came with one for this system. Looked for once, when it is first asked for: that takes milliseconds. */
export function findRipgrep(): string | undefined {
  return (binary ??= { path: resolveBinary() }).path
}

function resolveBinary(): string | undefined {
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

/** Numbers of lines by path, relative to the folder that is searched. */
export type Hits = Map<string, number[]>

/** Files and lines that may match; undefined where it does not know the pattern. */
export async function propose(
  parts: SearchParts,
  ripgrep: string,
  names: readonly string[],
  state: SearchState,
): Promise<Hits | undefined> {
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
    if (cause instanceof Fault || asked.signal.aborted) throw cause
    return undefined
  } finally {
    folder.close()
  }
}

/**
 * What ripgrep proposed was found under a name, which may have led outside for a moment; so the lines that were read by us
 * must match themselves. It is asked once more, about these lines on its stdin, without their CR.
 */
export async function confirmed(
  parts: SearchParts,
  ripgrep: string,
  matches: Match[],
  { asked, pattern }: SearchState,
): Promise<Match[]> {
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

/** Patterns both glob dialects read alike; others are only applied by ours. */
function isPlainGlob(glob: string | undefined): glob is string {
  return glob !== undefined && /^[^!()[\]{}\\]+$/.test(glob) && !glob.startsWith('/')
}

function escapeGlob(name: string): string {
  return name.replace(/[[\]{}*?!\\]/g, '\\$&')
}
