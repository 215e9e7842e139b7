import { isUtf8 } from 'node:buffer'
import { lstatSync, opendirSync, type Stats } from 'node:fs'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Effect, SkippedChange } from '../../contracts/stage.ts'
import { sorted, wait, type Steps } from '../../text/steps.ts'
import type { PathRules } from '../paths.ts'
import { deepest, PathDenied, splitPath } from '../paths.ts'
import { pathStateInSteps, type PathState } from '../path-state.ts'
import { fileFault, type Root } from '../walk.ts'

/** Both sides of one path: as the project has it, and as the program left it. */
export interface Difference {
  path: string
  before: PathState | undefined
  after: PathState | undefined
}

/** Everything a program changed on its stage, and what no commit takes over. */
export interface Differences {
  changed: Difference[]
  /** The first of them. */
  leftover: SkippedChange[]
  /** How many there are in all. */
  left: number
}

/** What is left behind is named up to here: a program can make any number of names that no commit takes over. */
const mostLeftover = 1_000

export interface StageSides {
  /** The project. */
  lower: Root
  /** The overlay's own folder. */
  upper: Root
  rules: PathRules
  /** The names in some folders as they stand on the stage: `./folder/name`, each with a zero byte after it. */
  list(folders: readonly string[]): Promise<Buffer>
  /** When the program started: what changed in the project after that was changed by somebody else. */
  since: bigint
  /** Permission bits of the overlay that had to be changed to read it. */
  were: ReadonlyMap<string, number>
}

/** The bytes of a path on each side. */
export interface Contents {
  before(path: string): Buffer
  after(path: string): Buffer
}

const notText = 'its name is not UTF-8 text'
/** What stands for bytes that are no text where a name is read as text. */
const unreadable = '\ufffd'

/** Whoever goes down folder by folder gets to where no path leads. A little less than Linux takes: a stage may get another name. */
const longestPath = 4_000

/** Reads off an overlay what was done on it, exactly: files made, changed, removed, permission bits, links, folders. */
export function* differences(sides: StageSides): Steps<Differences> {
  const found: Differences = { changed: [], leftover: [], left: 0 }
  const both: string[] = []
  yield* compareFolder(sides, [], found, true, both)
  if (both.length) {
    const left = yield* namesOn(sides, both)
    // A folder may have been removed and made anew, which no name in it shows: what is no longer there was removed.
    for (const folder of both)
      for (const name of yield* namesIn(sides.lower, folder)) {
        if (!left.has(`${folder}/${name}`)) yield* removed(sides, [...folder.split('/'), name], found)
        yield
      }
  }
  found.changed = yield* sorted(found.changed, (a, b) => (a.path < b.path ? -1 : 1))
  // Where nothing stood, a look at the path could lead through a link to somewhere else.
  for (const { path, before } of found.changed) {
    if (before) refuseIfMoved(sides, path)
    yield
  }
  return found
}

/** What stands in folders of the stage, without the `./` before each. */
function* namesOn({ list }: StageSides, folders: readonly string[]): Steps<Set<string>> {
  const names = new Set<string>()
  const bytes = yield* wait<Buffer>(
    () => {
      throw new Error('a program’s stage is not looked at on the spot')
    },
    () => list(folders),
  )
  for (let from = 0, at = bytes.indexOf(0); at >= 0; from = at + 1, at = bytes.indexOf(0, from)) {
    names.add(bytes.toString('utf8', from + 2, at))
    yield
  }
  return names
}

function leave(found: Differences, path: string, why: string): false {
  if (found.left++ < mostLeftover) found.leftover.push({ path, why })
  return false
}

/** Compares one folder of the overlay with the project's; adds the folders that stand on both sides, the root left out. */
function* compareFolder(
  sides: StageSides,
  names: readonly string[],
  found: Differences,
  merged: boolean,
  both: string[],
): Steps<void> {
  for (const entry of entriesOf(at(sides.upper, names))) {
    yield
    const here = [...names, entry.toString('utf8')]
    const path = here.join('/')
    const why = isUtf8(entry) ? refusal(sides.rules, here) : notText
    if (why !== undefined) {
      leave(found, path, why)
      continue
    }
    if (Buffer.byteLength(at(sides.upper, here)) > longestPath) {
      leave(found, path, 'its path is longer than the system takes')
      continue
    }
    const stat = lstatSync(at(sides.upper, here))
    const before = merged ? yield* pathState(sides.lower, here) : undefined
    if (isWhiteout(stat)) {
      if (names.length === 0) yield* removed(sides, here, found)
      continue
    }
    if (!stat.isFile() && !stat.isDirectory() && !stat.isSymbolicLink()) {
      leave(found, path, 'it is a pipe, socket or device')
      continue
    }
    const stands = (yield* pathState(sides.upper, here)) as PathState
    const after = { ...stands, mode: sides.were.get(path) ?? stands.mode }
    if (before?.form === 'folder' && after.form !== 'folder' && !(yield* emptied(sides, here, found))) {
      leave(found, path, 'the folder in its place holds what no commit removes')
      continue
    }
    const special = specialBits(sides, here, stat, merged)
    if (special.length) leave(found, path, `of this, only the ${special.join(' and the ')} bit: no commit gives such a bit`)
    if (!isSame(before, after)) found.changed.push({ path, before, after })
    if (after.form !== 'folder') continue
    if (before?.form === 'folder') both.push(path)
    yield* compareFolder(sides, here, found, before?.form === 'folder', both)
  }
}

const lending = { 'set-user-id': 0o4000, 'set-group-id': 0o2000, sticky: 0o1000 }

/** Bits beyond the nine that a program gave. What the project has there, and what a folder passes on to those in it, is not its doing. */
function specialBits(sides: StageSides, names: readonly string[], stat: Stats, merged: boolean): string[] {
  const { mode } = stat
  if ((mode & 0o7000) === 0) return []
  const there = merged ? lstatSync(at(sides.lower, names), { throwIfNoEntry: false }) : undefined
  const around = lstatSync(at(sides.upper, names.slice(0, -1)))
  const had = (there?.mode ?? 0) | (stat.isDirectory() ? around.mode & 0o2000 : 0)
  return Object.entries(lending).flatMap(([name, bit]) => (mode & bit & ~had ? [name] : []))
}

/** A path that is gone, with all below it. A folder that holds something no commit removes stays. */
function* removed(sides: StageSides, names: readonly string[], found: Differences): Steps<boolean> {
  const path = names.join('/')
  const why = refusal(sides.rules, names)
  if (why !== undefined) return leave(found, path, why)
  const before = yield* pathState(sides.lower, names)
  if (!before) {
    const there = lstatSync(at(sides.lower, names), { throwIfNoEntry: false })
    if (there) return leave(found, path, 'it is a pipe, socket or device')
    // It was listed a moment ago: by this name it cannot be asked for.
    return names.at(-1)?.includes(unreadable) ? leave(found, path, notText) : true
  }
  if (before.form === 'folder' && !(yield* emptied(sides, names, found))) return false
  found.changed.push({ path, before, after: undefined })
  return true
}

/** Everything in a folder is gone; false where something of it stays. */
function* emptied(sides: StageSides, names: readonly string[], found: Differences): Steps<boolean> {
  let all = true
  for (const name of yield* namesIn(sides.lower, names.join('/'))) {
    if (!(yield* removed(sides, [...names, name], found))) all = false
    yield
  }
  return all
}

/** The differences as a person and an agent read them: what was moved is said once. */
export function* effectsOf(changed: readonly Difference[], contents: Contents): Steps<Effect[]> {
  const gone = new Map<string, { all: Difference[]; used: number }>()
  for (const one of changed) {
    yield
    if (one.before?.form !== 'file' || one.after || one.before.bytes === 0) continue
    const known = gone.get(one.before.sha256)
    if (known) known.all.push(one)
    else gone.set(one.before.sha256, { all: [one], used: 0 })
  }
  const moved = new Map<Difference, Difference>()
  for (const one of changed) {
    yield
    if (one.before || one.after?.form !== 'file') continue
    const known = gone.get(one.after.sha256)
    const from = known?.all[known.used++]
    if (from) moved.set(one, from)
  }
  const folded = new Set(moved.values())
  const effects: Effect[] = []
  for (const one of changed) {
    if (!folded.has(one)) effects.push(effectOf(one, moved.get(one), contents))
    yield
  }
  return effects
}

function effectOf(one: Difference, movedFrom: Difference | undefined, contents: Contents): Effect {
  const before = movedFrom?.before ?? one.before
  const { after } = one
  const kind = movedFrom
    ? 'renamed'
    : !before
      ? 'created'
      : !after
        ? 'deleted'
        : isSameContent(before, after)
          ? 'mode'
          : 'modified'
  const targets = [
    one.before?.form === 'link' ? contents.before(one.path).toString('utf8') : null,
    after?.form === 'link' ? contents.after(one.path).toString('utf8') : null,
  ] as const
  return {
    path: one.path,
    kind,
    form: (after ?? before)?.form ?? 'file',
    ...(before && after && before.form !== after.form && { was: before.form }),
    ...(movedFrom && { from: movedFrom.path }),
    modes: [before?.mode ?? null, after?.mode ?? null],
    sizes: [before?.bytes ?? null, after?.bytes ?? null],
    hashes: [before?.sha256 ?? null, after?.sha256 ?? null],
    ...(targets.some((target) => target !== null) && { targets }),
  }
}

function at(root: Root, names: readonly string[]): string {
  return [root.path, ...names].join('/')
}

/** One name at a time, however many there are. */
function* entriesOf(folder: string): Generator<Buffer> {
  const opened = opendirSync(folder, { encoding: 'buffer' as never })
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) yield entry.name as unknown as Buffer
  } finally {
    opened.closeSync()
  }
}

function* namesIn(root: Root, path: string): Steps<string[]> {
  const names = new Set<string>()
  try {
    for (const name of entriesOf(`${root.path}/${path}`)) {
      names.add(name.toString('utf8'))
      yield
    }
  } catch (cause) {
    throw fileFault(path.split('/'), cause)
  }
  return yield* sorted([...names], (a, b) => (a < b ? -1 : 1))
}

/** What stands at a path; nothing for what is neither file, link nor folder. */
function* pathState(root: Root, names: readonly string[]): Steps<PathState | undefined> {
  try {
    return yield* pathStateInSteps(root, names)
  } catch (fault) {
    if (fault instanceof Fault && (fault.reason === 'path-denied' || fault.reason === 'not-found')) return undefined
    throw fault
  }
}

function isWhiteout(stat: Stats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0
}

function isSameContent(a: PathState, b: PathState): boolean {
  return a.form === b.form && a.sha256 === b.sha256
}

function isSame(a: PathState | undefined, b: PathState): boolean {
  // A link has no permissions of its own.
  return a !== undefined && isSameContent(a, b) && (a.mode === b.mode || a.form === 'link')
}

function refusal(rules: PathRules, names: readonly string[]): string | undefined {
  if (names.length > deepest) return `it is more than ${deepest} folders deep`
  try {
    splitPath(names.join('/'), rules)
    return undefined
  } catch (fault) {
    if (fault instanceof PathDenied) return fault.why
    throw fault
  }
}

function refuseIfMoved({ lower, since }: StageSides, path: string): void {
  const stat = lstatSync(`${lower.path}/${path}`, { bigint: true, throwIfNoEntry: false })
  if (stat && !stat.isDirectory() && stat.ctimeNs > since)
    throw new Fault('conflict', `${path} was changed by somebody else while the program ran`, {
      details: { path },
      hint: 'Look at the file and run the program again; nothing of this run was applied.',
    })
}
