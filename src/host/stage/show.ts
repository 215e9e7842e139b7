import { setImmediate as breathe } from 'node:timers/promises'
import type { LineDiff } from '../../contracts/diff.ts'
import { shownName } from '../../contracts/plain.ts'
import type { Effect } from '../../contracts/stage.ts'
import { inTurns, sorted } from '../../contracts/steps.ts'
import type { Card, CardChange } from '../../contracts/tool.ts'
import type { Diffs } from '../diffs.ts'
import { legible } from './legible.ts'

/** More than a person looks through one by one is told by folder, and agreed to only as that. */
const mostListed = 2_000
const mostFolders = 200
/** What one card shows of lines: more than this nobody reads in one sitting, and every card is kept. */
const mostLines = 10_000
const mostCharacters = 400_000
/** What is compared to find out, in one file and in all of them. */
const largestText = 8_388_608
const mostCompared = 67_108_864
/** The event loop is given back after this long. */
const sliceMs = 5
const none: LineDiff = { type: 'line', hunks: [] }

/**
 * Changes as the card shows them: with the content that will stand there, or marked as not shown. Each has its kind, its sizes and its
 * hashes. What goes away and what makes programs run something comes first, then the small before the large, so that nothing hides
 * behind another.
 */
export async function showEffects(
  effects: readonly Effect[],
  contents: (effect: Effect) => readonly [Buffer, Buffer],
  sensitive: ReadonlySet<string>,
  diffs: Diffs,
): Promise<Pick<Card, 'changes' | 'rest'>> {
  const rank = ({ kind, path, from }: Effect): number =>
    kind === 'deleted' ? 0 : sensitive.has(path) || (from !== undefined && sensitive.has(from)) ? 1 : 2
  const before = (a: Effect, b: Effect): number => rank(a) - rank(b) || largest(a) - largest(b) || (a.path < b.path ? -1 : 1)
  const ordered = await inTurns(sorted(effects, before))
  const left = { lines: mostLines, characters: mostCharacters, compared: mostCompared }
  const changes: CardChange[] = []
  let slice = performance.now()
  for (const effect of ordered.slice(0, mostListed)) {
    changes.push(await shown(effect))
    if (performance.now() - slice < sliceMs) continue
    await breathe()
    slice = performance.now()
  }
  const rest = byFolder(ordered.slice(mostListed))
  return { changes, ...(rest.length && { rest }) }

  async function shown(effect: Effect): Promise<CardChange> {
    const { path, sizes, hashes, form } = effect
    const says = sentence(effect)
    const weight = form === 'folder' ? {} : { sizes, hashes }
    const change: CardChange = { path, says, diff: none, ...weight, ...(rank(effect) === 1 && { sensitive: true as const }) }
    // What a link leads to is not on the card; where it only names something, its target is all there is to see.
    if (form === 'link' && effect.kind !== 'deleted')
      return change.sensitive || targetIsOdd(effect) ? { ...change, unshown: { why: 'what it leads to' } } : change
    const old = form === 'file' && isOldUnderNewMeaning(effect, change.sensitive === true)
    if (form !== 'file' || !(old || effect.kind === 'created' || effect.kind === 'modified')) return change
    const size = largest(effect)
    if (size > largestText || left.compared < size) return { ...change, unshown: {} }
    left.compared -= size
    const [was, is] = contents(effect)
    const [before, after] = [legible(old ? Buffer.alloc(0) : was), legible(is)]
    if (!before || !after) return { ...change, says: `${says}, binary`, unshown: { why: 'it is no text' } }
    const told = { ...change, says: [says, ...(old ? ['content unchanged'] : []), ...oddWords(after.odd)].join(', ') }
    const { lines, diff } = await diffs.measure(before.text, after.text, left)
    if (!diff) return { ...told, unshown: { lines } }
    if (diff.hunks.length === 0 && size > 0) return { ...told, unshown: { why: 'it differs in bytes, not in lines' } }
    left.lines -= lines
    for (const { linesOld, linesNew } of diff.hunks) for (const line of [...linesOld, ...linesNew]) left.characters -= line.length
    return { ...told, diff }
  }
}

/** Content that nobody was asked about, under a name that runs or with the right to be executed: shown as if it were new. */
function isOldUnderNewMeaning({ kind, modes: [, mode] }: Effect, sensitive: boolean): boolean {
  return (kind === 'renamed' && (sensitive || ((mode ?? 0) & 0o111) !== 0)) || (kind === 'mode' && sensitive)
}

function targetIsOdd({ targets }: Effect): boolean {
  return targets?.[1]?.includes('\ufffd') ?? false
}

function oddWords(odd: number): string[] {
  return odd === 0 ? [] : [`${odd} ${odd === 1 ? 'byte that is' : 'bytes that are'} no text written out`]
}

const largest = ({ sizes: [before, after] }: Effect): number => Math.max(before ?? 0, after ?? 0)

/** Changes counted by the folder at the top that they lie in; past a number of folders, all the others together. */
function byFolder(effects: readonly Effect[]): NonNullable<Card['rest']> {
  const folders = new Map<string, { folder: string; changes: number; bytes: number }>()
  for (const effect of effects) {
    const top = effect.path.includes('/') ? effect.path.slice(0, effect.path.indexOf('/')) : '.'
    const name = folders.has(top) || folders.size < mostFolders ? top : 'other folders'
    const found = folders.get(name) ?? { folder: name, changes: 0, bytes: 0 }
    found.changes++
    found.bytes += largest(effect)
    folders.set(name, found)
  }
  return [...folders.values()]
}

/** What happens to a path, in words. */
export function sentence({ kind, form, was, from, modes, targets }: Effect): string {
  const [modeBefore, modeAfter] = modes.map((mode) => mode?.toString(8).padStart(3, '0'))
  const bits =
    modeBefore !== undefined && modeAfter !== undefined && modeBefore !== modeAfter && form !== 'link'
      ? `, permissions ${modeBefore} → ${modeAfter}`
      : ''
  const what = form === 'file' ? '' : ` ${form}`
  const leads = form === 'link' ? ` → ${shownName(targets?.[1] ?? '?')}${outside(targets?.[1])}` : ''
  const isNew = kind === 'created' || was !== undefined
  const runs = isNew && form === 'file' && modes[1] !== null && (modes[1] & 0o111) !== 0 ? ', executable' : ''
  if (was !== undefined) return `${was} becomes a ${form}${leads}${runs}`
  if (form === 'link' && kind !== 'deleted') return `${kind} link${leads}`
  if (kind === 'deleted') return `deleted${what}`
  if (kind === 'renamed') return `renamed from ${shownName(from ?? '?')}${bits}`
  if (kind === 'mode') return `${form === 'folder' ? 'folder, ' : ''}permissions ${modeBefore} → ${modeAfter}`
  return `${kind}${what}${bits}${runs}`
}

function outside(target: string | null | undefined): string {
  return target?.startsWith('/') || target?.split('/').includes('..') ? ' (it may lead out of the project)' : ''
}
