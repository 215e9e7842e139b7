import type { Config } from '../contracts/config.ts'
import type { Effect, Extent, Sides } from '../contracts/stage.ts'
import type { Draft } from '../contracts/tool.ts'
import { isIgnoreFile } from '../text/ignore-files.ts'
import { openPace, type Steps } from '../text/steps.ts'

type Limits = Pick<Config['policies'], 'unaskedRemovals' | 'unaskedFiles' | 'unaskedBytes' | 'batchMaxLines'>

export function* extentOf(effects: readonly Effect[]): Steps<Extent> {
  const gone = new Set<string>()
  for (const { kind, hashes } of effects) {
    if ((kind === 'deleted' || kind === 'renamed') && hashes[0] !== null) gone.add(hashes[0])
    yield
  }
  const extent: Extent = { removals: 0, files: effects.length, bytes: 0 }
  for (const effect of effects) {
    const [before, after] = effect.sizes
    if (isRemoval(effect, gone)) extent.removals++
    if (effect.kind !== 'mode') extent.bytes += Math.max(before ?? 0, after ?? 0)
    yield
  }
  return extent
}

/** Those that stand no more under their name, or with nothing of what they held. */
export function* takenAway(effects: readonly Effect[]): Steps<Set<string>> {
  const gone = new Set<string>()
  for (const { path, kind, from, was, sizes } of effects) {
    if (kind === 'deleted' || was !== undefined || (kind === 'modified' && isEmptied(sizes))) gone.add(path)
    if (from !== undefined) gone.add(from)
    yield
  }
  return gone
}

/** A folder is what is in it. New content in the old place is a change, however a program puts it there. */
function isRemoval({ kind, form, was, sizes, hashes }: Effect, gone: ReadonlySet<string>): boolean {
  if (was !== undefined) return was !== 'folder'
  if (form === 'folder') return false
  if (kind === 'deleted' || kind === 'renamed') return true
  return kind === 'modified' && (isEmptied(sizes) || gone.has(hashes[1] ?? ''))
}

/** But for a little, which would cost nobody anything to leave. */
function isEmptied([before, after]: Effect['sizes']): boolean {
  return (before ?? 0) > (after ?? 0) * 20
}

/** Why a person is asked about so much; each ends a sentence about the program. */
export function tooMuch({ removals, files, bytes }: Extent, most: Limits): string[] {
  return [
    ...(removals > most.unaskedRemovals ? [`removes, empties, moves or replaces ${count(removals, 'file')} of the project`] : []),
    ...(files > most.unaskedFiles ? [`changes ${whole(files)} files and folders`] : []),
    ...(bytes > most.unaskedBytes ? [`changes files of ${whole(bytes)} bytes together`] : []),
  ]
}

/** Why a person is asked about what is no plain change of content, however little it is. */
export function* notPlain(effects: readonly Effect[]): Steps<string[]> {
  let [links, permissions, open] = [0, 0, 0]
  for (const { kind, form, was, modes } of effects) {
    const [before, after] = modes
    if (form === 'link' && kind !== 'deleted') links++
    else if (after !== null && form !== 'link') {
      if (before !== null && before !== after && was === undefined) permissions++
      else if (after & 0o002 && !((before ?? 0) & 0o002)) open++
    }
    yield
  }
  return [
    ...(links > 0 ? [`makes or changes ${count(links, 'link')}`] : []),
    ...(permissions > 0 ? [`changes the permissions of ${count(permissions, 'file or folder', 'files or folders')}`] : []),
    ...(open > 0 ? [`makes ${count(open, 'file or folder', 'files or folders')} that anybody can write to`] : []),
  ]
}

/** What is known of the contents that a program leaves, once they have been read. */
export interface Contents {
  /** Lines it added and took away; counted until they are too many. */
  lines: number
  /** How each file begins that it made or changed: scripts are known by it. */
  begins: Draft[]
}

const isText = (bytes: Uint8Array): boolean => !bytes.includes(0)

/** Reads both sides of what a program made and changed. Only for so much as is applied unasked: it is read in whole files. */
export async function readContents(
  effects: readonly Effect[],
  sides: Sides,
  { most, compare }: { most: number; compare: (before: string, after: string) => Promise<number> },
  signal?: AbortSignal,
): Promise<Contents> {
  const contents: Contents = { lines: 0, begins: [] }
  const pace = openPace(signal)
  for (const effect of effects) {
    if (effect.form !== 'file' || (effect.kind !== 'created' && effect.kind !== 'modified')) continue
    const [before, after] = sides(effect)
    if (after) contents.begins.push({ path: effect.path, text: judgedPart(effect.path, after) })
    if (contents.lines <= most) contents.lines += await linesBetween(before, after, compare)
    if (pace.due()) await pace.turn()
  }
  return contents
}

/** As much of a file as it is judged by: how it begins, or all that it keeps back. */
export function judgedPart(path: string, bytes: Uint8Array): string {
  const [part, form] = isIgnoreFile(path) ? ([bytes, 'utf8'] as const) : ([bytes.subarray(0, 4), 'latin1'] as const)
  return Buffer.from(part).toString(form)
}

/** What is no text is one thing to look at; the lines that it takes the place of count. */
async function linesBetween(
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
  compare: (before: string, after: string) => Promise<number>,
): Promise<number> {
  const [old, now] = [before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)]
  if (old.length > 0 && isText(old) && isText(now)) return compare(textOf(old), textOf(now))
  return (isText(old) ? linesIn(old) : 1) + (isText(now) ? linesIn(now) : 1)
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')

function linesIn(bytes: Uint8Array): number {
  let lines = bytes.length > 0 && bytes.at(-1) !== 10 ? 1 : 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

export function tooManyLines(lines: number, { batchMaxLines }: Limits): string[] {
  return lines > batchMaxLines ? [`changes more than ${whole(batchMaxLines)} lines`] : []
}

/** By hand: `toLocaleString` loads the languages of the world. */
const whole = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')
const count = (n: number, one: string, several = `${one}s`): string => `${whole(n)} ${n === 1 ? one : several}`
