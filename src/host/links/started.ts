import { includeRowOf, includesIn } from '../../text/files-that-run/includes.ts'
import { startedParts, takesIn } from '../../text/files-that-run/started-parts.ts'
import { starterAt, startersBelow, type StarterKind } from '../../text/files-that-run/starters.ts'
import { foldName, foldPath } from '../../text/fold-name.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { openPace, runInSlices, sorted, type Pace } from '../../text/steps.ts'
import { readSmall } from '../small-file.ts'
import { filesIn, hasOneName, isFile, stampOf } from './found.ts'
import type { GitText } from './git-starts.ts'
import { followIncludes, type Included, type Stamps } from './included.ts'
import type { StarterIndex } from './starter-index.ts'
import { includedUnit, namedIn, startUnitOf, type Named, type StartUnit } from './start-units.ts'

/** A file that starts others: the name it has in the project, and where it lies. */
export interface Starter {
  path: string
  at: string
  kind: StarterKind
}

/** A link, and where it leads. */
interface LinkTo {
  path: string
  at: string
}

/** Files that start others by the name that links give them. */
interface Linked {
  starters: readonly Starter[]
  /** A link behind which nobody looked, since there were too many. */
  left: string | undefined
}

interface Read {
  at: string
  stamp: string
  /** It has no second name. */
  alone: boolean
  base: string
  unread: boolean
  itself: StartUnit
  called: ReadonlyMap<string, () => StartUnit>
  by: string | undefined
  includes: Included | undefined
}

/** Files that start others, in one project; more of them may name anything. */
const mostStarters = 4_096
const longestRead = 1_048_576

export interface Started {
  findNamed(
    starterIndex: StarterIndex,
    git: { texts: readonly GitText[]; version: number },
    made: readonly LinkTo[],
  ): Promise<Named>
}

/** Knows what the files of a project start. They are read again where they have changed, and a text is looked through once. */
export function openStarted(root: string): Started {
  const known = new Map<string, Read>()
  let last: { version: string; named: Named; stamps: Stamps } | undefined

  const read = ({ path, at, kind }: Starter): Read | undefined => {
    const stamp = stampOf(at)
    const before = known.get(path)
    if (before && stamp === before.stamp) return before
    known.delete(path)
    if (stamp === undefined) return undefined
    const text = readSmall(at, longestRead)
    if (text === undefined && !isFile(at)) return undefined
    const names = path.split('/')
    const base = foldPath(names.slice(0, -kind.below).join('/'))
    const said = (text ?? '').replace(/^\uFEFF/, '')
    const parts = kind.includes ? takesIn : startedParts(foldName(names.at(-1) as string), said)
    const row = includeRowOf(names.at(-1) as string)
    // What is called by its name is started in its own folder; others from wherever somebody is.
    const bases = parts.by === undefined ? [...new Set([base, foldPath(names.slice(0, -1).join('/')), ''])] : [base]
    const unit = (said: string): StartUnit => startUnitOf(path, said, bases, root)
    const found: Read = {
      at,
      stamp,
      alone: hasOneName(at),
      base,
      unread: text === undefined,
      itself: unit(parts.itself),
      called: new Map([...parts.called].map(([name, said]) => [name, () => unit(said)])),
      by: parts.by,
      includes: row && { row, starter: path, folder: names.slice(0, -1).join('/'), words: includesIn(row, said) },
    }
    known.set(path, found)
    return found
  }

  const build = async (
    given: readonly Starter[],
    links: readonly Linked[],
    texts: readonly GitText[],
  ): Promise<{ named: Named; stamps: Stamps }> => {
    const pace = openPace()
    const starters = [...given, ...links.flatMap((one) => one.starters)]
    const active: StartUnit[] = []
    for (const { path, bases, text } of texts) {
      active.push(startUnitOf(path, text, bases, root))
      if (pace.due()) await pace.turn()
    }
    const unread = texts.flatMap(({ path, unread, bases }) => (unread ? [{ starter: path, base: bases[0] ?? '' }] : []))
    for (const { left } of links) if (left !== undefined) unread.push({ starter: left, base: '' })
    const files: Read[] = []
    const take = async (some: readonly Starter[]): Promise<void> => {
      for (const one of some) {
        if (pace.due()) await pace.turn()
        if (files.length >= mostStarters) return void unread.push({ starter: one.path, base: '' })
        const file = read(one)
        if (!file) continue
        files.push(file)
        active.push(file.itself)
        if (file.unread) unread.push({ starter: one.path, base: file.base })
      }
    }
    await take(starters.filter(({ kind }) => kind.called === undefined && !kind.includes))
    // Whoever is called may call others.
    const words = new Map<string, Set<string>>()
    const started = new Set<() => StartUnit>()
    for (let at = 0; at < active.length;) {
      for (; at < active.length; at++) {
        const { calls, names } = active[at] as StartUnit
        for (const key of calls) {
          const said = words.get(key) ?? new Set()
          if (!words.has(key)) await take(starters.filter(({ kind }) => kind.called === key))
          words.set(key, said)
          for (const word of names.words) said.add(word)
        }
        if (pace.due()) await pace.turn()
      }
      for (const { by = '', called } of files) {
        for (const [name, unit] of words.has(by) ? called : [])
          if (!started.has(unit) && (name === '*' || words.get(by)?.has(foldPath(name)))) {
            started.add(unit)
            active.push(unit())
          }
        if (pace.due()) await pace.turn()
      }
    }
    const { found, stamps } = await followIncludes(root, await includers(starters, pace), pace)
    for (const { starter, words, bases } of found) {
      active.push(includedUnit(starter, words, bases.map(foldPath), root))
      if (pace.due()) await pace.turn()
    }
    return { named: await namedIn(active, unread, pace), stamps }
  }

  /** Those nearest the top, where there are more than anybody reads. */
  const includers = async (starters: readonly Starter[], pace: Pace): Promise<Included[]> => {
    const found: Included[] = []
    const some = starters.filter(({ path }) => includeRowOf(path.slice(path.lastIndexOf('/') + 1)))
    const inOrder = await runInSlices(sorted(some, (one, other) => depthOf(one) - depthOf(other)))
    for (const one of inOrder.slice(0, mostStarters)) {
      const includes = read(one)?.includes
      if (includes && includes.words.length > 0) found.push(includes)
      if (pace.due()) await pace.turn()
    }
    return found
  }

  const findNamedOnce: Started['findNamed'] = async (starterIndex, git, made) => {
    const linked = await behindAll([...starterIndex.links].map((path) => ({ path, at: `${root}/${path}` })))
    const files = (): Starter[] => [...starterIndex.files].map(([path, kind]) => ({ path, at: `${root}/${path}`, kind }))
    const pace = openPace()
    let same = true
    for (const [path, { at, stamp, alone }] of known) {
      // Under a second name it is changed where nobody tells of it.
      if (!starterIndex.mayHaveChanged(path) && alone) continue
      if (stampOf(at) !== stamp) {
        known.delete(path)
        same = false
      }
      if (pace.due()) await pace.turn()
    }
    const version = `${starterIndex.version} ${git.version} ${linked.left ?? ''} ${linked.starters.map(({ path }) => path).join(' ')}`
    for (const [at, stamp] of last?.stamps ?? []) {
      same &&= stampOf(at) === stamp
      if (pace.due()) await pace.turn()
    }
    if (!same || last?.version !== version) last = { version, ...(await build(files(), [linked], git.texts)) }
    return made.length === 0 ? last.named : (await build(files(), [linked, await behindAll(made)], git.texts)).named
  }

  // Whoever looks forgets what has changed: nobody else may look before it is read again.
  const inTurn = openSerialQueue()
  return { findNamed: (...given) => inTurn(() => findNamedOnce(...given)) }
}

const depthOf = ({ path }: Starter): number => path.split('/').length

/** In small steps, and no more than anybody reads: a project can have thousands of links to a folder of thousands of files. */
async function behindAll(links: readonly LinkTo[]): Promise<Linked> {
  const pace = openPace()
  const starters: Starter[] = []
  let left: string | undefined
  for (const link of links) {
    if (starters.length >= mostStarters) return { starters, left: left ?? link.path }
    const { found, cut } = behind(link)
    starters.push(...found)
    if (cut) left ??= link.path
    if (pace.due()) await pace.turn()
  }
  return { starters, left }
}

/** A link, and the files below it, that start others by the name they get there; `cut` where a folder holds more than is looked at. */
function behind({ path, at }: LinkTo): { found: Starter[]; cut: boolean } {
  const names = path.split('/')
  const itself = starterAt(names.slice(0, -1), names.at(-1) as string)
  let cut = false
  const allIn = (folder: string): string[] => {
    const files = filesIn(folder)
    cut ||= files.cut
    return files.names
  }
  const below = startersBelow(names).flatMap((rest) => {
    const inner = rest.split('/').slice(0, -1)
    const file = rest.split('/').at(-1) as string
    const folder = [at, ...inner].join('/')
    return (file === '*' ? allIn(folder) : [file]).flatMap((name) => {
      const kind = starterAt([...names, ...inner], name)
      return kind ? [{ path: [path, ...inner, name].join('/'), at: `${folder}/${name}`, kind }] : []
    })
  })
  return { found: itself ? [{ path, at, kind: itself }, ...below] : below, cut }
}
