import type { AuditLine } from '../../contracts/audit.ts'
import type { MemoryHit, MemoryKind, MemoryQuery } from '../../contracts/memory.ts'
import { excerptOf, wordsAsked, wordsIn } from '../../text/memory-words.ts'

/** Something that was done or said, made from what is kept of it. */
export interface Entry extends Omit<MemoryHit, 'excerpt' | 'at'> {
  at: number
  /** Everything it can be found by, in words. */
  text: string
}

/** So many characters of one thing are looked at. */
export const mostText = 16_384
export const mostPaths = 64

/** What is cut off ends at a blank: half a secret is not known as one. */
export const wholeWords = (cut: string): string => cut.slice(0, cut.search(/\s\S*$/) + 1)

/** Looking for something is no part of what was done. */
const looks = new Set(['search_memory', 'read_audit'])

/** The thing that a line of the log is about: a call, a run, or the line itself. */
export function refOf({ event, call, run, seq, tool }: AuditLine): string | undefined {
  if (event === 'run.progress' || event === 'audit.rotated' || (event === 'call.read' && looks.has(tool ?? ''))) return undefined
  if (call !== undefined) return `call ${call}`
  return run === undefined ? `line ${seq}` : `run ${run}`
}

export const kindOf = (ref: string): MemoryKind => {
  const word = ref.slice(0, ref.indexOf(' '))
  if (word === 'line') return 'event'
  return word === 'chat' || word === 'talk' ? 'conversation' : (word as MemoryKind)
}

/** What a call, a run or an event was, by its lines, in their order, and the files it changed. */
export function entryOf(ref: string, lines: readonly AuditLine[], changed: readonly string[] = []): Entry | undefined {
  const [first] = lines
  if (!first) return undefined
  const last = <T>(of: (line: AuditLine) => T | undefined): T | undefined =>
    lines.reduce<T | undefined>((found, line) => of(line) ?? found, undefined)
  const paths = [...new Set([...lines.flatMap(pathsOf), ...changed])].slice(0, mostPaths)
  const tool = last((line) => line.tool)
  const outcome = last(outcomeOf)
  const session = last((line) => line.session)
  const run = last((line) => line.run)
  const details = (first.details ?? {}) as { template?: unknown }
  const name = tool ?? (typeof details.template === 'string' ? `${first.event} ${details.template}` : first.event)
  const said = last((line) => line.message)
  const command = last(({ input }) => (input as { command?: unknown } | null | undefined)?.command)
  return {
    kind: kindOf(ref),
    id: ref.slice(ref.indexOf(' ') + 1),
    at: Date.parse(first.at),
    what: [name, typeof command === 'string' ? command.replace(/\s*\n\s*/g, ' ') : paths.slice(0, 3).join(', '), said]
      .filter(Boolean)
      .join(': ')
      .slice(0, 300),
    ...(tool !== undefined && { tool }),
    ...(paths.length > 0 && { paths }),
    ...(outcome !== undefined && { outcome }),
    ...(session !== undefined && { session }),
    ...(run !== undefined && { run }),
    lines: lines.map(({ seq }) => seq),
    text: [...lines.map(textOf), changed.slice(0, mostPaths).join(' ')].join('\n').slice(0, mostText),
  }
}

function outcomeOf({ outcome, error, approved, details }: AuditLine): string | undefined {
  const { exitCode, status } = (details ?? {}) as { exitCode?: unknown; status?: unknown }
  if (error !== undefined) return error
  if (typeof exitCode === 'number' && exitCode !== 0) return `exited ${exitCode}`
  if (outcome !== undefined) return outcome
  if (typeof status === 'string') return status
  return approved === undefined ? undefined : approved ? 'approved' : 'denied'
}

function pathsOf({ touches }: AuditLine): string[] {
  if (!Array.isArray(touches)) return []
  return touches.flatMap((touch: { path?: unknown } | null) => (typeof touch?.path === 'string' ? [touch.path] : []))
}

/** What a line says, as it stands in the log: what was redacted there is not here either. */
export function textOf({ tool, message, by, client, error, outcome, marks, input, details, touches, event }: AuditLine): string {
  const texts: string[] = []
  let left = 4_000
  const add = (value: unknown, depth: number): void => {
    if (left <= 0 || depth > 8) return
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).slice(0, left)
      left -= text.length + 1
      texts.push(text)
    } else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) add(one, depth + 1)
  }
  for (const one of [event, tool, message, by, client, error, outcome, touches, marks, input, details]) add(one, 0)
  return texts.join(' ')
}

/** What an entry is found by besides its words. */
export function facetsOf({ kind, tool, paths = [] }: Pick<Entry, 'kind' | 'tool' | 'paths'>): string[] {
  const folders = new Set(['.'])
  for (const path of paths)
    for (let at = path.length; at > 0 && folders.size < 4 * mostPaths; at = path.lastIndexOf('/', at - 1))
      folders.add(path.slice(0, at))
  return [`kind:${kind}`, ...(tool === undefined ? [] : [`tool:${tool}`]), ...[...folders].map((folder) => `path:${folder}`)]
}

/** What a question asks for: the words, and what else an answer must be found by. */
export function wanted({ words, path, tool, kind }: MemoryQuery): { words: string[]; facets: string[] } {
  const facets = [
    ...(kind === undefined ? [] : [`kind:${kind}`]),
    ...(tool === undefined ? [] : [`tool:${tool}`]),
    ...(path === undefined ? [] : [`path:${plainPath(path)}`]),
  ]
  return { words: wordsAsked(words ?? ''), facets }
}

const plainPath = (path: string): string => path.replace(/^(\.\/)+/, '').replace(/(?<!^|\/)\/+$/, '') || '.'

/** The entry as an answer, where it is one. */
export function hitOf(entry: Entry, query: MemoryQuery): MemoryHit | undefined {
  const { words, facets } = wanted(query)
  const { text, at, ...rest } = entry
  if (at < (query.since ?? 0) || at > (query.until ?? Number.POSITIVE_INFINITY)) return undefined
  const there = words.length > 0 ? wordsIn(text) : undefined
  if (words.some((word) => there?.has(word) !== true)) return undefined
  const own = facets.length > 0 ? new Set(facetsOf(entry)) : undefined
  if (facets.some((facet) => own?.has(facet) !== true)) return undefined
  return { ...rest, at: new Date(at).toISOString(), ...(words.length > 0 && { excerpt: excerptOf(text, words) }) }
}
