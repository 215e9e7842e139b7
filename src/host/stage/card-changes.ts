import type { LineDiff } from '../../contracts/line-diff.ts'
import { quotedName } from '../../text/printable.ts'
import type { Effect } from '../../contracts/stage.ts'
import { openPace, runInSlices, sorted, type Steps } from '../../text/steps.ts'
import type { Card, CardChange } from '../../contracts/tool.ts'
import type { Diffs } from '../diffs.ts'
import type { LinkTargets, TargetFile } from './link-targets.ts'
import { archiveRows } from '../readings/archive-rows.ts'
import { isDatabase } from '../readings/database-rows.ts'
import { insideOf } from '../readings/inside.ts'
import { pictureKind } from '../readings/picture-kind.ts'
import { packageRows } from '../../text/package-rows.ts'
import { readableText } from './readable-text.ts'

/** More than a person looks through one by one is told by folder, and agreed to only as that. */
const mostListed = 2_000
const mostFolders = 200
/** What one card shows of lines: more than this nobody reads in one sitting, and every card is kept. */
const mostLines = 10_000
const mostCharacters = 400_000
/** What is compared to find out, in one file and in all of them. */
const largestText = 8_388_608
const mostCompared = 67_108_864
/** So long databases are read for one card: whoever waits for it does not wait for each of a thousand hostile ones. */
const mostDatabaseMs = 10_000
/** Files and folders that new links lead to. */
const mostTargets = 200
const none: LineDiff = { type: 'line', hunks: [] }

/** New links that a person is asked about: where each ends in the project, and what stands there. */
interface Links {
  ends: ReadonlyMap<string, string>
  targetsAt(at: string, most: number): Promise<LinkTargets>
}

/** What a card shows: a change, or a file that did not change and gets another name by a new link. */
interface Item {
  effect: Effect
  also?: { names: string[]; file: TargetFile }
}

/**
 * Changes as the card shows them: with the content that will stand there, or marked as not shown. Each has its kind, its sizes and its
 * hashes. What goes away and what makes programs run something comes first, then the small before the large, so that nothing hides
 * behind another.
 */
export async function cardChanges(
  effects: readonly Effect[],
  contents: (effect: Effect) => readonly [Buffer, Buffer],
  sensitive: ReadonlySet<string>,
  diffs: Diffs,
  links: Links = { ends: new Map(), targetsAt: async () => ({ files: [] }) },
): Promise<Pick<Card, 'changes' | 'rest' | 'counts'>> {
  const isMarked = ({ path, from }: Effect): boolean => sensitive.has(path) || (from !== undefined && sensitive.has(from))
  const rank = ({ effect, also }: Item): number => (effect.kind === 'deleted' ? 0 : also || isMarked(effect) ? 1 : 2)
  const before = (a: Item, b: Item): number =>
    rank(a) - rank(b) || largest(a.effect) - largest(b.effect) || (a.effect.path < b.effect.path ? -1 : 1)
  const { led, items } = await allTargets(links)
  const ends = [...links.ends.values()]
  const isLinkTarget = (path: string): boolean => ends.some((end) => isAtOrBelow(path, end))
  const ordered = await runInSlices(sorted([...effects.map((effect): Item => ({ effect })), ...items], before))
  const left = { lines: mostLines, characters: mostCharacters, compared: mostCompared, databaseMs: mostDatabaseMs }
  const changes: CardChange[] = []
  const pace = openPace()
  for (const item of ordered.slice(0, mostListed)) {
    changes.push(await shown(item))
    if (pace.due()) await pace.turn()
  }
  const rest = await runInSlices(byFolder(ordered, mostListed))
  const counts = await runInSlices(byKind(effects))
  return { changes, counts, ...(rest.length && { rest }) }

  async function shown({ effect, also }: Item): Promise<CardChange> {
    const { path, sizes, hashes, form, kind } = effect
    const says = also ? `not changed, from now on also ${also.names.map(quotedName).join(' and ')}` : describeEffect(effect)
    const sizeAndHash =
      form === 'folder' ? {} : also ? { sizes: [null, sizes[1]] as const, hashes: [null, hashes[1]] as const } : { sizes, hashes }
    const marked = kind !== 'deleted' && !also && isMarked(effect)
    const known = also ? {} : { kind, ...(effect.from !== undefined && { from: effect.from }) }
    const change: CardChange = { path, ...known, says, diff: none, ...sizeAndHash, ...(marked && { sensitive: true as const }) }
    if (form === 'link' && kind !== 'deleted') return shownLink(change, effect)
    const old = form === 'file' && (also !== undefined || isOldUnderNewMeaning(effect, marked, isLinkTarget(path)))
    if (form !== 'file' || !(old || kind === 'created' || kind === 'modified')) return change
    const size = largest(effect)
    if (size > largestText || left.compared < size) return { ...change, unshown: {} }
    left.compared -= size
    const [was, is] = also ? [Buffer.alloc(0), also.file.content()] : contents(effect)
    const [before, after] = [readableText(old ? Buffer.alloc(0) : was), readableText(is)]
    if (!before || !after) return shownBinary(change, was, is)
    const whole = !old || also || kind === 'created' ? [] : [kind === 'modified' ? 'shown whole' : 'content unchanged']
    const inside = insideOf('packages', old ? undefined : packageRows(path, before.text, after.text))
    const told = { ...change, ...inside, says: [says, ...whole, ...oddWords(after.odd)].join(', ') }
    const { lines, diff } = await diffs.measure(before.text, after.text, left)
    if (!diff) return { ...told, unshown: { lines } }
    if (diff.hunks.length === 0 && size > 0) return { ...told, unshown: { why: 'it differs in bytes, not in lines' } }
    left.lines -= lines
    for (const { linesOld, linesNew } of diff.hunks) for (const line of [...linesOld, ...linesNew]) left.characters -= line.length
    return { ...told, diff }
  }

  async function shownBinary(change: CardChange, was: Buffer, is: Buffer): Promise<CardChange> {
    const sides = [pictureKind(was), pictureKind(is)] as const
    if (sides.some(Boolean)) {
      const sized = sides.flatMap((side) => (side ? [`${side.width} × ${side.height}`] : [])).join(' → ')
      const pictures = { ...(sides[0] && { before: true as const }), ...(sides[1] && { after: true as const }) }
      return { ...change, says: `${change.says}, picture ${sized}`, pictures, unshown: { why: 'a picture, shown on the page' } }
    }
    if ([was, is].some(isDatabase)) return shownDatabase(change, was, is)
    const inside = insideOf('archive', archiveRows(was, is))
    return { ...change, ...inside, says: `${change.says}, binary`, unshown: { why: 'it is no text' } }
  }

  /** Its rows add to the card: a file may hold more than its tables do, and whoever agrees is told that its bytes are not shown. */
  async function shownDatabase(change: CardChange, was: Buffer, is: Buffer): Promise<CardChange> {
    const unshown = { why: 'a database, of which rows are told and not bytes' }
    if (left.databaseMs <= 0) return { ...change, says: `${change.says}, a database that was not looked into`, unshown }
    const begun = performance.now()
    const found = await diffs.databases(was, is)
    left.databaseMs -= performance.now() - begun
    if (found === 'unreadable') return { ...change, says: `${change.says}, a database that cannot be read`, unshown }
    const none = found.rows.length === 0 ? ' in which no row of a table differs' : ''
    // SQLite takes over what stands beside a file when it opens it, whatever the file itself says of that.
    const beside = ['-wal', '-journal'].filter(
      (end) =>
        (end === '-wal' && found.wal) || effects.some(({ path, kind }) => path === `${change.path}${end}` && kind !== 'deleted'),
    )
    const without = beside.length > 0 ? `, without what its ${beside.join(' and ')} file holds` : ''
    const says = `${change.says}, database${none}${without}`
    return { ...change, ...insideOf('database', found.rows, found.more), says, unshown }
  }

  /** Where a link only names something, its target is all there is to see. */
  function shownLink(change: CardChange, effect: Effect): CardChange {
    const targets = led.get(effect.path)
    if (targetIsOdd(effect) || (change.sensitive && !targets)) return { ...change, unshown: { why: 'what it leads to' } }
    if (targets?.why !== undefined) return { ...change, unshown: { why: targets.why } }
    const end = links.ends.get(effect.path) ?? ''
    const isMade = effects.some(({ path, kind }) => kind !== 'deleted' && isAtOrBelow(path, end))
    return targets?.nothing && !isMade ? { ...change, says: `${change.says}, where nothing stands` } : change
  }
}

/** What stands behind all of them; a file that several lead to is there once. */
async function allTargets({ ends, targetsAt }: Links): Promise<{ led: Map<string, LinkTargets>; items: Item[] }> {
  const led = new Map<string, LinkTargets>()
  const items = new Map<string, Item>()
  for (const [link, end] of ends) {
    const targets = await targetsAt(end, mostTargets - items.size)
    led.set(link, targets)
    for (const file of targets.files) {
      const { path, standing: pathState } = file
      const name = `${link}${path.slice(end.length)}`
      const known = items.get(path)?.also
      if (known) known.names.push(name)
      else items.set(path, { effect: standingStill(path, pathState), also: { names: [name], file } })
    }
  }
  return { led, items: [...items.values()] }
}

const isAtOrBelow = (path: string, end: string): boolean => path === end || path.startsWith(`${end}/`)

function standingStill(path: string, { mode, bytes, sha256 }: TargetFile['standing']): Effect {
  return { path, kind: 'modified', form: 'file', modes: [mode, mode], sizes: [bytes, bytes], hashes: [sha256, sha256] }
}

/** Content that nobody was asked about, under a name that runs or with the right to be executed: shown as if it were new. */
function isOldUnderNewMeaning({ kind, modes: [, mode] }: Effect, sensitive: boolean, isTarget: boolean): boolean {
  if (isTarget) return kind !== 'deleted'
  return (kind === 'renamed' && (sensitive || ((mode ?? 0) & 0o111) !== 0)) || (kind === 'mode' && sensitive)
}

function targetIsOdd({ targets }: Effect): boolean {
  return targets?.[1]?.includes('\ufffd') ?? false
}

function oddWords(odd: number): string[] {
  return odd === 0 ? [] : [`${odd} ${odd === 1 ? 'byte that is' : 'bytes that are'} no text written out`]
}

const largest = ({ sizes: [before, after] }: Effect): number => Math.max(before ?? 0, after ?? 0)

function* byKind(effects: readonly Effect[]): Steps<NonNullable<Card['counts']>> {
  const counts: NonNullable<Card['counts']> = {}
  for (const { kind } of effects) {
    counts[kind] = (counts[kind] ?? 0) + 1
    yield
  }
  return counts
}

/** Changes counted by the folder at the top that they lie in; past a number of folders, all the others together. */
function* byFolder(items: readonly Item[], from: number): Steps<NonNullable<Card['rest']>> {
  const folders = new Map<string, { folder: string; changes: number; bytes: number }>()
  for (let at = from; at < items.length; at++) {
    const { effect } = items[at] as Item
    const top = effect.path.includes('/') ? effect.path.slice(0, effect.path.indexOf('/')) : '.'
    const name = folders.has(top) || folders.size < mostFolders ? top : 'other folders'
    const found = folders.get(name) ?? { folder: name, changes: 0, bytes: 0 }
    found.changes++
    found.bytes += largest(effect)
    folders.set(name, found)
    yield
  }
  return [...folders.values()]
}

/** What happens to a path, in words. */
export function describeEffect({ kind, form, was, from, modes, targets }: Effect): string {
  const [before, after] = modes
  const changes = before !== null && after !== null && before !== after && form !== 'link'
  const bits = changes ? `permissions ${octal(before)} → ${octal(after)}${openToAll(after)}` : ''
  const what = form === 'file' ? '' : ` ${form}`
  const leads = form === 'link' ? ` → ${quotedName(targets?.[1] ?? '?')}${outside(targets?.[1])}` : ''
  const fresh = form === 'link' || after === null ? '' : bitsOfNew(form, after)
  if (was !== undefined) return `${was} becomes a ${form}${leads}${fresh}`
  if (form === 'link' && kind !== 'deleted') return `${kind} link${leads}`
  if (kind === 'deleted') return `deleted${what}`
  if (kind === 'created') return `created${what}${fresh}`
  if (kind === 'renamed') return [`renamed from ${quotedName(from ?? '?')}`, bits].filter(Boolean).join(', ')
  if (kind === 'mode') return `${form === 'folder' ? 'folder, ' : ''}${bits}`
  return [`${kind}${what}`, bits].filter(Boolean).join(', ')
}

/** Permissions of something new are said where they are not what everything new gets here. */
function bitsOfNew(form: Effect['form'], mode: number): string {
  const runs = form === 'file' && (mode & 0o111) !== 0
  const usual = (form === 'folder' || runs ? 0o777 : 0o666) & ~process.umask()
  const said = mode === usual && openToAll(mode) === '' ? '' : `, permissions ${octal(mode)}${openToAll(mode)}`
  return `${runs ? ', executable' : ''}${said}`
}

const octal = (mode: number): string => mode.toString(8).padStart(3, '0')
const openToAll = (mode: number): string => (mode & 0o002 ? ' (anybody can write to it)' : '')

function outside(target: string | null | undefined): string {
  return target?.startsWith('/') || target?.split('/').includes('..') ? ' (it may lead out of the project)' : ''
}
