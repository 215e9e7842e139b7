import type { Config } from '../contracts/config.ts'
import { whatRuns, whatRunsBelow } from '../text/files-that-run/index.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { compileGlobs } from '../text/glob.ts'
import { hiddenTextNotes } from '../text/hidden-text.ts'
import type { KnownLinks, MadeLink } from '../contracts/links.ts'
import { isIgnoreFile, letsOut } from '../text/ignore-files.ts'
import { foldPath } from '../text/fold-name.ts'
import { quotedName } from '../text/printable.ts'
import { belowRoot } from '../text/root-path.ts'
import { mayBeSecret } from '../text/secret-files.ts'
import type { Effect } from '../contracts/stage.ts'
import { runToEnd, each, runInSlices, type Steps } from '../text/steps.ts'
import type { Card, Draft, Touch } from '../contracts/tool.ts'
import { posix } from 'node:path'
import { takenAway } from './extent.ts'
import { describeDecline } from './declined-paths.ts'
import type { ApprovalPort, AskedFor, WorldPort } from './ports.ts'
import { wouldBeRepository } from './runs-indirectly.ts'

/** Why a file that is written is not like any other, and whether the person is asked about it. */
export interface Mark extends AskedFor {
  /** `once`: the first yes counts for the session. `never`: said on a card that there is anyway, and in the log. */
  asks: 'always' | 'once' | 'never'
  /** It is for a no of the person that came before. */
  no?: true
}

/** What is known of a call when its files are judged. */
export interface PlannedWrite {
  touches: readonly Touch[]
  /** What will stand there, where the tool can say; asked for only where it matters. */
  drafts?: () => Draft[] | Promise<Draft[]>
  /** What a program did. */
  effects?: readonly Effect[]
  /** Whether a path is among those that are written, where that is known without looking through them. */
  isWritten?: (path: string) => boolean
}

/** At once where nothing is written and no write of the same session is ahead there. */
export type Marks = (written: PlannedWrite & { session: string }) => Mark[] | Promise<Mark[]>

/** On the files as they are at this moment, whoever is ahead. */
export type MarksNow = (written: PlannedWrite) => Promise<Mark[]>

/** Faults of a draft that its write has too, whenever it is made. */
const unwritable = new Set<string>(['not-found', 'encoding', 'bad-input', 'too-large', 'path-denied'])

/** `PACKAG~1.JSO`: on some systems another name of a file whose name we would know. */
const shortName = /(^|\/)[^/.~]{1,6}~\d+(\.[^/.]{0,3})?(\/|$)/

const isScript = (text: string): boolean => text.startsWith('#!') || text.startsWith('\x7fELF')

function orElse<T>(otherwise: T, look: () => T): T {
  try {
    return look()
  } catch {
    return otherwise
  }
}

/** Judges files that are written by their names, by what they are next to, and by what they hold. */
export function openMarks({ policies }: Config, world: WorldPort, declined: ApprovalPort['declined']): MarksNow {
  const sensitive = policies.sensitiveFiles.map((glob) => compileGlobs([glob, `**/${glob}`], { nocase: true }))

  const byName = (path: string): Mark[] => {
    const row = whatRuns(path)
    const secret = mayBeSecret(path.split('/'))
    const asks = row?.class === '2' ? 'once' : row?.class === '3' ? 'never' : 'always'
    return [
      ...(row ? [{ path, says: row.when, asks } as const] : []),
      ...(sensitive.some((fits) => fits(foldPath(belowRoot(path))))
        ? [{ path, says: 'is on your list of sensitive files', asks: 'always' } as const]
        : []),
      ...(shortName.test(path)
        ? [{ path, says: 'may be another name of a file that runs something', asks: 'always' } as const]
        : []),
      ...(secret === undefined ? [] : [{ path, says: secret, asks: 'never' } as const]),
    ]
  }

  /**
   * What could be executed before is an ordinary change, and said; what can be from now on is asked about. What cannot be drafted cannot
   * be written: the call itself says why.
   */
  const byContent = async (paths: readonly string[], drafts: PlannedWrite['drafts']): Promise<Mark[]> => [
    ...(await runInSlices(each(paths, byRight))).flat(),
    ...(drafts ? await scriptsIn(drafts) : []),
  ]
  const byRight = (path: string): Mark[] =>
    orElse(false, () => world.mayExecute(path))
      ? [{ path, says: 'can be executed, and is another from now on', asks: 'never' }]
      : []
  const declinedMarks = (path: string): Mark[] => {
    const stands = orElse(true, () => world.exists(path))
    const no = declined(path, stands)
    return no ? [{ path, says: describeDecline(no), asks: 'once', no: true }] : []
  }
  const scriptsIn = async (drafts: NonNullable<PlannedWrite['drafts']>): Promise<Mark[]> => {
    try {
      return (await drafts()).flatMap(({ path: given, text }): Mark[] => {
        const path = world.normal(given)
        if (isIgnoreFile(path)) return lessIgnored(path, text)
        if (!isScript(text)) return []
        if (!world.exists(path)) return [{ path, says: 'is new, and can be executed by its first bytes', asks: 'once' }]
        const before = world.read(path)?.subarray(0, 4).toString('latin1') ?? ''
        return isScript(before) ? [] : [{ path, says: 'can be executed by its first bytes from now on', asks: 'once' }]
      })
    } catch (fault) {
      // What the write itself must meet as well needs no judging; a draft that had no place or no time must not count as harmless.
      if (fault instanceof Fault && unwritable.has(fault.reason)) return []
      throw fault
    }
  }

  /** What an ignore file kept back, and keeps back no more. */
  const lessIgnored = (path: string, after: string | undefined): Mark[] => {
    const before = orElse('', () => (world.exists(path) ? world.read(path)?.toString('utf8') : undefined))
    const says = letsOut(path, before, after)
    return says === undefined ? [] : [{ path, says, asks: 'once' }]
  }

  return async (written) => {
    const paths: string[] = []
    for (const touch of written.touches) if ('path' in touch && touch.access === 'write') paths.push(touch.path)
    const { effects = [] } = written
    const made = (await runInSlices(each(effects, linkOf))).flat()
    const links = await world.links(made)
    /** What a program, or a call under that name, would be told, for a path and for each name that links give it. */
    const byWord = (path: string): Mark[] => {
      const source = sourceOf(path)
      // Tools compile all day; only in the place of what others start, or what runs by itself, it is more than that.
      const compiled =
        source === undefined ? [] : [...byName(source).filter(({ asks }) => asks === 'always'), ...startedBy(source)]
      const inPlaceOf = `is read in the place of ${quotedName(source ?? '')}, which`
      return [
        ...byName(path),
        ...startedBy(path),
        ...compiled.map(({ says, asks }): Mark => ({ path, says: `${inPlaceOf} ${says}`, asks })),
      ]
    }
    const startedBy = (path: string): Mark[] => {
      const by = links.namedBy(path)
      if (by === undefined) return []
      const { starter, how, included } = by
      const row = whatRuns(starter)
      const asks = row?.class === '2' || /(^|\/)package\.json$/i.test(starter) || how !== 'whole' ? 'once' : 'always'
      const why = how === 'unread' ? 'is too large to be looked at whole and ' : ''
      const says = `${how === 'whole' ? 'is' : 'may be'} ${included ? 'included' : 'started'} by ${quotedName(starter)}, which ${why}${row?.when ?? 'runs by itself'}`
      return [{ path, says, asks }]
    }
    const repositories = (found: readonly string[]): Mark[] =>
      found.map((path) => ({
        path,
        says: 'makes its folder a git repository of its own, whose settings run programs with every call of git',
        asks: 'always',
      }))
    const newLinks = new Set(made.map(({ path }) => path))
    const otherwise = (name: string, path: string): Mark[] => [
      ...byWord(name),
      ...repositories(runToEnd(wouldBeRepository(world, [name]))),
      ...(newLinks.has(path) ? byPlace(name) : []),
    ]
    const gone = await runInSlices(takenAway(effects))
    // Who lets a file be changed has not said that it may go.
    const orGone = (mark: Mark): Mark =>
      mark.asks === 'once' && gone.has(mark.path) ? { ...mark, says: `${mark.says}, and is removed or emptied` } : mark
    const marks = [
      ...(await runInSlices(each(paths, byWord))).flat(),
      ...(await runInSlices(each(paths, declinedMarks))).flat(),
      ...repositories(await runInSlices(wouldBeRepository(world, paths))),
      ...(await runInSlices(byLinks(paths, links, otherwise))),
      ...(await runInSlices(each(effects, byEffect))).flat(),
      ...(await byContent(written.effects ? [] : paths, written.drafts)),
      ...[...gone].filter(isIgnoreFile).flatMap((path) => lessIgnored(path, undefined)),
    ]
    return gone.size > 0 ? runInSlices(each(marks, orGone)) : marks
  }
}

/** What Python would have compiled into this file: `a/__pycache__/b.cpython-311.pyc` and `a/b.pyc` stand for `a/b.py`. */
function sourceOf(path: string): string | undefined {
  const [, folder = '', name] = /^(.*\/)?([^/]+)\.pyc$/i.exec(path) ?? []
  if (name === undefined) return undefined
  const cached = /(^|\/)__pycache__\/$/i.test(folder)
  return cached ? `${folder.slice(0, -'__pycache__/'.length)}${name.split('.', 1)[0]}.py` : `${folder}${name}.py`
}

/** Names one call is looked at by, all its files together. */
const mostNames = 20_000

/** What is written is also written under every name that a link gives it: `docs/tasks.json`, where `.vscode` leads to `docs`. */
function* byLinks(paths: readonly string[], links: KnownLinks, marksOf: (name: string, path: string) => Mark[]): Steps<Mark[]> {
  let room = mostNames
  const marks: Mark[] = []
  for (const path of paths) {
    const { names, all } = room > 0 ? links.namesOf(path) : { names: [], all: false }
    room -= names.length
    for (const one of names) {
      for (const { path: name, says, asks } of marksOf(one, path))
        marks.push({ path, says: `is also ${quotedName(name)}, which ${says}`, asks })
      yield
    }
    if (!all || !links.all)
      marks.push({ path, says: 'may have so many names by way of links that not all of them were looked at', asks: 'once' })
    yield
  }
  return marks
}

/** A link in the place of a folder whose files run something. */
function byPlace(path: string): Mark[] {
  const row = whatRuns(path) === undefined ? whatRunsBelow(path) : undefined
  return row ? [{ path, says: `holds what ${row.when}`, asks: 'always' }] : []
}

function linkOf({ path, form, targets }: Effect): MadeLink[] {
  const target = form === 'link' ? targets?.[1] : undefined
  return target ? [{ path, target }] : []
}

/** A program can make more than text: what can be executed, links to what has a name of its own, and links under such a name. */
function byEffect(effect: Effect): Mark[] {
  const {
    path,
    kind,
    form,
    modes: [was, after],
    hashes,
  } = effect
  // What was moved here could not be executed under this name before.
  const before = kind === 'renamed' ? null : was
  const [link] = linkOf(effect)
  const leads = link && posix.join(posix.dirname(path), link.target)
  const row = leads === undefined ? undefined : whatRuns(leads)
  const below = leads === undefined || row ? undefined : whatRunsBelow(leads)
  return [
    ...(row ? [{ path, says: `leads to ${quotedName(leads ?? '')}, which ${row.when}`, asks: 'always' } as const] : []),
    ...(below
      ? [{ path, says: `leads to ${quotedName(leads ?? '')}, which holds what ${below.when}`, asks: 'always' } as const]
      : []),
    ...(leads === undefined
      ? []
      : byPlace(path).map(({ says }): Mark => ({
          path,
          says: `is a link to ${quotedName(leads)}, and from now on what is written there counts here; it ${says}`,
          asks: 'always',
        }))),
    ...(form === 'file' && after !== null && after & 0o111 && !((before ?? 0) & 0o111)
      ? [{ path, says: 'can be executed from now on', asks: 'always' } as const]
      : []),
    ...(form === 'file' && (after ?? 0) & (before ?? 0) & 0o111 && hashes[0] !== hashes[1]
      ? [{ path, says: 'can be executed, and is another from now on', asks: 'never' } as const]
      : []),
  ]
}

/** Whether a person is asked for the sake of these. */
export function marksAsk(marks: readonly Mark[], mayChange: (mark: Mark) => boolean): boolean {
  return marks.some((mark) => mark.asks === 'always' || (mark.asks === 'once' && !mayChange(mark)))
}

/** Those a person is asked about who agreed to the others only. */
export function newAmong(marks: readonly Mark[], agreed: readonly Mark[], mayChange: (mark: Mark) => boolean): Mark[] {
  const known = new Set(agreed.map(sentence))
  return marks.filter((mark) => marksAsk([mark], mayChange) && !known.has(sentence(mark)))
}

/** What a yes is bound to besides the files themselves: why it was asked for. A no that came before is not among it, or the same call would not find its own. */
export function boundTo(marks: readonly Mark[]): string[] {
  return reasons(marks.filter(({ no }) => !no))
}

/** Why a person is asked. */
export function reasons(marks: readonly Mark[]): string[] {
  return marks.filter(({ asks }) => asks !== 'never').map(sentence)
}

const sentence = ({ path, says }: Mark): string => `${path}: ${says}`

/** Those a person is to look at first, for what they are: a no that came before makes nothing run. */
export function askedAbout(marks: readonly Mark[]): string[] {
  return [...new Set(marks.flatMap(({ path, asks, no }) => (asks === 'never' || no ? [] : [path])))]
}

/** Those whose first yes counts for the session: no file among them that is asked about each time, and none that the card has no room to name. */
export function askedOnce(marks: readonly Mark[]): Mark[] {
  const always = new Set(marks.flatMap(({ path, asks }) => (asks === 'always' ? [path] : [])))
  const once = marks.filter(({ path, asks }) => asks === 'once' && !always.has(path))
  const named = new Set([...new Set(once.map(({ path }) => path))].slice(0, mostNamed))
  return once.filter(({ path }) => named.has(path))
}

/** More names than this in one sentence nobody reads; every change stands in the card itself, and what is marked comes first there. */
const mostNamed = 200
const mostSayings = 100

/** A card that says why the person is asked, and what they would not see. */
export function tellMarks(card: Card, marks: readonly Mark[]): Card {
  const bySaying = new Map<string, string[]>()
  for (const { path, says } of marks) {
    const known = bySaying.get(says)
    if (known) known.push(path)
    else bySaying.set(says, [path])
  }
  const once = [...new Set(askedOnce(marks).map(({ path }) => path))]
  const notes = [
    ...[...bySaying].slice(0, mostSayings).map(([says, paths]) => `${namedIn(paths)}: ${says}.`),
    ...(bySaying.size > mostSayings ? [`There are ${bySaying.size - mostSayings} more reasons of this kind.`] : []),
    ...(once.length ? [`You will not be asked again for ${namedIn(once)} in this session, for the same reasons.`] : []),
    ...hiddenTextNotes(card.changes),
  ]
  return notes.length ? { ...card, notes: [...notes, ...(card.notes ?? [])] } : card
}

function namedIn(paths: readonly string[]): string {
  const more = paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : ''
  return `${paths.slice(0, mostNamed).map(quotedName).join(', ')}${more}`
}
