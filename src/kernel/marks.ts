import type { Config } from '../contracts/config.ts'
import { whatRuns } from '../contracts/files-that-run/index.ts'
import { compileGlobs } from '../contracts/glob.ts'
import { hiddenTextNotes } from '../contracts/hidden-text.ts'
import { foldPath } from '../contracts/names.ts'
import { shownName } from '../contracts/plain.ts'
import { mayBeSecret } from '../contracts/secret-files.ts'
import type { Effect } from '../contracts/stage.ts'
import type { Card, Draft, Touch } from '../contracts/tool.ts'
import { posix } from 'node:path'
import type { WorldPort } from './ports.ts'
import { namedByOthers, wouldBeRepository } from './shapes.ts'

/** Why a file that is written is not like any other, and whether the person is asked about it. */
export interface Mark {
  path: string
  /** Ends a sentence that begins with the path. */
  says: string
  /** `once`: the first yes counts for the session. `never`: said on a card that there is anyway, and in the log. */
  asks: 'always' | 'once' | 'never'
}

/** What is known of a call when its files are judged. */
export interface Written {
  touches: readonly Touch[]
  /** What will stand there, where the tool can say; asked for only where it matters. */
  drafts?: () => Draft[]
  /** What a program did. */
  effects?: readonly Effect[]
}

export type Marks = (written: Written) => Mark[]

/** `PACKAG~1.JSO`: on some systems another name of a file whose name we would know. */
const shortName = /(^|\/)[^/.~]{1,6}~\d+(\.[^/.]{0,3})?(\/|$)/

/** Judges files that are written by their names, by what they are next to, and by what they hold. */
export function openMarks({ policies }: Config, world: WorldPort): Marks {
  const sensitive = policies.sensitiveFiles.map((glob) => compileGlobs([glob, `**/${glob}`], { nocase: true }))

  const byName = (path: string): Mark[] => {
    const row = whatRuns(path)
    const secret = mayBeSecret(path.split('/'))
    const asks = row?.class === '2' ? 'once' : row?.class === '3' ? 'never' : 'always'
    return [
      ...(row ? [{ path, says: row.when, asks } as const] : []),
      ...(sensitive.some((fits) => fits(foldPath(path)))
        ? [{ path, says: 'is on your list of sensitive files', asks: 'always' } as const]
        : []),
      ...(shortName.test(path)
        ? [{ path, says: 'may be another name of a file that runs something', asks: 'always' } as const]
        : []),
      ...(secret === undefined ? [] : [{ path, says: secret, asks: 'never' } as const]),
    ]
  }

  /** A new file that can be executed by its first bytes. What cannot be drafted cannot be written: the call itself says why. */
  const byContent = (paths: readonly string[], drafts: Written['drafts']): Mark[] => {
    if (!drafts || paths.every((path) => world.stands(path))) return []
    try {
      return drafts().flatMap(({ path, text }): Mark[] =>
        text.startsWith('#!') || text.startsWith('\x7fELF')
          ? [{ path: world.normal(path), says: 'is new, and can be executed by its first bytes', asks: 'once' }]
          : [],
      )
    } catch {
      return []
    }
  }

  return (written) => {
    const paths = written.touches.flatMap((touch) => ('path' in touch && touch.access === 'write' ? [touch.path] : []))
    if (paths.length === 0) return []
    const named = namedByOthers(world)
    return [
      ...paths.flatMap(byName),
      ...wouldBeRepository(world, paths).map((path): Mark => ({
        path,
        says: 'makes its folder a git repository of its own, whose settings run programs with every call of git',
        asks: 'always',
      })),
      ...paths.flatMap((path): Mark[] => {
        const by = named.get(foldPath(path))
        return by === undefined
          ? []
          : [{ path, says: `is started by ${shownName(by)}, which ${whatRuns(by)?.when}`, asks: 'always' }]
      }),
      ...(written.effects ?? []).flatMap(byEffect),
      ...byContent(paths, written.drafts),
    ]
  }
}

/** A program can make more than text: what can be executed, and links to what has a name of its own. */
function byEffect({ path, form, modes: [before, after], targets }: Effect): Mark[] {
  const target = form === 'link' ? targets?.[1] : undefined
  const leads = target ? posix.join(posix.dirname(path), target) : undefined
  const row = leads === undefined ? undefined : whatRuns(leads)
  return [
    ...(row ? [{ path, says: `leads to ${shownName(leads ?? '')}, which ${row.when}`, asks: 'always' } as const] : []),
    ...(form === 'file' && after !== null && after & 0o111 && !((before ?? 0) & 0o111)
      ? [{ path, says: 'can be executed from now on', asks: 'always' } as const]
      : []),
  ]
}

/** Whether a person is asked for the sake of these. */
export function marksAsk(marks: readonly Mark[], mayChange: (path: string) => boolean): boolean {
  return marks.some(({ path, asks }) => asks === 'always' || (asks === 'once' && !mayChange(path)))
}

/** Those a person is to look at first. */
export function askedAbout(marks: readonly Mark[]): string[] {
  return [...new Set(marks.flatMap(({ path, asks }) => (asks === 'never' ? [] : [path])))]
}

/** Those whose first yes counts for the session. */
export function askedOnce(marks: readonly Mark[]): string[] {
  return [...new Set(marks.flatMap(({ path, asks }) => (asks === 'once' ? [path] : [])))]
}

/** A card that says why the person is asked, and what they would not see. All are named. */
export function tellMarks(card: Card, marks: readonly Mark[]): Card {
  const bySaying = new Map<string, string[]>()
  for (const { path, says } of marks) bySaying.set(says, [...(bySaying.get(says) ?? []), path])
  const always = new Set(marks.flatMap(({ path, asks }) => (asks === 'always' ? [path] : [])))
  const once = askedOnce(marks).filter((path) => !always.has(path))
  const notes = [
    ...[...bySaying].map(([says, paths]) => `${paths.map(shownName).join(', ')}: ${says}.`),
    ...(once.length ? [`You will not be asked again for ${once.map(shownName).join(', ')} in this session.`] : []),
    ...hiddenTextNotes(card.changes),
  ]
  return notes.length ? { ...card, notes: [...notes, ...(card.notes ?? [])] } : card
}
