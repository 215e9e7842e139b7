import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { canonical } from '../../text/canonical.ts'
import type { Change } from '../../contracts/change.ts'
import { largestInMemory, type Content } from '../../contracts/content.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Effect, ProgramResult, Sides } from '../../contracts/stage.ts'
import type { Staged } from '../../contracts/staged.ts'
import { each, runInSlices, type Steps } from '../../text/steps.ts'
import type { Diffs } from '../diffs.ts'
import { sha256 } from '../files.ts'
import type { PathRules } from '../paths.ts'
import { contentAt, stateFingerprint, type PathState } from '../path-state.ts'
import { ioFault, type Root } from '../walk.ts'
import type { Compared } from './pre-run-copy.ts'
import { linkTargetsAt, targetMoved, type LinkTargets } from './link-targets.ts'
import { effectsOf, type Contents, type Difference } from './effects.ts'
import { removeStage } from './places.ts'
import { nameStage, replaceRecord, writeStory, type StageRecord, type StageStory } from './records.ts'
import { cardChanges } from './card-changes.ts'

/** A program that ran on a stage, as the stage lies on the disk. */
export function* onStage(
  project: Root,
  folder: string,
  record: StageRecord,
  story: StageStory,
  { diffs, rules }: { diffs: Diffs; rules: PathRules },
  room: (lapse: (approval: string) => boolean) => void = () => undefined,
): Steps<Staged> {
  const { ran, changed } = story
  const byPath = yield* indexOf(changed)
  const states = yield* statesBefore(changed)
  let place = folder
  let asked = record.approval !== undefined
  const onDisk = (): Contents => contentsOf(project, join(place, 'upper'))
  // What is shown and what is committed is what was found when the program ended, or nothing is.
  const contents: Contents = {
    before: (path) => onDisk().before(path),
    after: (path) => asFound(onDisk().after(path), byPath.get(path)?.after, path),
  }
  const whole = (one: Difference): Content => {
    const { path, after } = one
    if (after?.form !== 'file' || after.bytes <= largestInMemory) return contents.after(path)
    const { sha256: hash, bytes } = after
    return { sha256: hash, bytes, open: () => openAfter(join(place, 'upper'), path), changed: () => touched(path) }
  }
  const move = (): void => void (place = renamed(place))
  const changes = function* (): Steps<Change[]> {
    // A yes is to the effects, and a record on the disk can be edited: they must follow from what would be committed.
    const effects = yield* effectsOf(changed, contents)
    if (effects.length !== ran.effects.length) throw touched('The record of the stage')
    for (const [index, effect] of effects.entries()) {
      if (canonical(effect) !== canonical(ran.effects[index])) throw touched('The record of the stage')
      yield
    }
    return yield* each(changed, (one) => asChange(one, () => whole(one)))
  }
  return {
    ran,
    states,
    changes: () => runInSlices(changes()),
    made: () => [],
    show(sensitive, links) {
      const both = ({ path }: Effect): readonly [Buffer, Buffer] => [
        byPath.get(path)?.before?.form === 'file' ? contents.before(path) : Buffer.alloc(0),
        contents.after(path),
      ]
      const targetsAt = async (at: string, most: number): Promise<LinkTargets> => {
        const found = await runInSlices(linkTargetsAt(project, rules, at, (path) => byPath.has(path), most))
        // A yes is bound to this state: what stood there for a moment while the card was made is not what is shown.
        for (const { path, standing: pathState } of found.files)
          if (path === at && links?.states[at] !== stateFingerprint(pathState)) throw targetMoved(path)
        return found
      }
      return cardChanges(ran.effects, both, sensitive, diffs, links && { ends: links.ends, targetsAt })
    },
    sides: sidesOf(byPath, contents),
    async mayWait(lapse) {
      if (asked) return
      room(lapse)
      await runInSlices(writeStory(place, story))
    },
    keep(approval) {
      replaceRecord(place, { ...record, approval, at: Date.now() })
      asked = true
    },
    take(call) {
      const { session, tool, inputDigest, confined } = record
      const waited = place
      move()
      if (place !== waited) replaceRecord(place, { call, session, tool, inputDigest, confined })
    },
    discard() {
      // Killed half way, we leave what is known to be nobody's, whoever made it.
      if (asked) move()
      removeStage(place)
    },
  }
}

/** A stage under a name of this process; as it was where somebody else was quicker. */
function renamed(folder: string): string {
  const own = join(dirname(folder), nameStage())
  try {
    renameSync(folder, own)
    return own
  } catch {
    return folder
  }
}

/** A program that nothing confined: what it did is done. */
export function* madeAlready(
  ran: ProgramResult,
  compared: readonly Compared[],
  contents: Contents,
  discard: () => void,
): Steps<Staged> {
  const changed = compared.map(({ difference }) => difference)
  return {
    ...withoutEffect(ran),
    states: yield* statesBefore(changed),
    made: () => compared,
    sides: sidesOf(yield* indexOf(changed), contents),
    discard,
  }
}

function* statesBefore(changed: readonly Difference[]): Steps<Record<string, string | null>> {
  const states = Object.create(null) as Record<string, string | null>
  for (const { path, before } of changed) {
    states[path] = stateFingerprint(before)
    yield
  }
  return states
}

function* indexOf(changed: readonly Difference[]): Steps<ReadonlyMap<string, Difference>> {
  const byPath = new Map<string, Difference>()
  for (const one of changed) {
    byPath.set(one.path, one)
    yield
  }
  return byPath
}

/** It changes nothing, so there is nothing to show, to commit or to take away. */
export function withoutEffect(ran: ProgramResult): Staged {
  return {
    ran,
    states: {},
    changes: async () => [],
    made: () => [],
    mayWait: async () => undefined,
    show: async () => ({ changes: [] }),
    sides: () => [undefined, undefined],
    keep: () => undefined,
    take: () => undefined,
    discard: () => undefined,
  }
}

function asChange(one: Difference, content: () => Content): Change {
  const { path, before, after } = one
  return {
    path,
    expect: stateFingerprint(before),
    ...(before && before.form !== 'link' && { expectMode: before.mode }),
    after: after ? content : null,
    form: after?.form ?? before?.form ?? 'file',
    ...(after && after.form !== 'link' && { mode: after.mode }),
  }
}

function asFound(content: Buffer, found: PathState | undefined, path: string): Buffer {
  if (sha256(content) === found?.sha256) return content
  throw touched(path)
}

/** A stage that somebody touched since it was read is none. */
function touched(path: string, cause?: unknown): Fault {
  return new Fault('conflict', `${path} is not what it was on the stage when the program ended`, {
    details: { path },
    hint: 'Somebody changed the stage itself. Nothing was applied; make the call again.',
    cause,
  })
}

/** The content of a file, or the target of a link; a folder has neither. */
function sidesOf(byPath: ReadonlyMap<string, Difference>, contents: Contents): Sides {
  const holds = (pathState: Difference['before']): boolean => pathState !== undefined && pathState.form !== 'folder'
  return ({ path, from = path }) => [
    holds(byPath.get(from)?.before) ? contents.before(from) : undefined,
    holds(byPath.get(path)?.after) ? contents.after(path) : undefined,
  ]
}

/** A path on both sides of a stage. */
export function contentsOf(project: Root, upper: string): Contents {
  return {
    before: (path) => contentAt(project, path.split('/')),
    // Our own folder, and whatever is read of it is held against the hash that was found.
    after: (path) => lookingAfter(path, () => contentOf(join(upper, path))),
  }
}

/** A large file of a stage, opened to be read piece by piece. */
const openAfter = (upper: string, path: string): number => lookingAfter(path, () => openSync(join(upper, path), readOnly))

function lookingAfter<T>(path: string, look: () => T): T {
  try {
    return look()
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    throw replaced.has(code) ? touched(path, cause) : ioFault(path.split('/'), cause)
  }
}

// A pipe is not waited for: it ends at once.
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** What the system says where something else has taken a file's place. */
const replaced = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'EINVAL', 'ENXIO', 'EACCES'])

function contentOf(at: string): Buffer {
  const stat = lstatSync(at)
  if (stat.isSymbolicLink()) return readlinkSync(at, 'buffer')
  if (stat.isDirectory()) return Buffer.alloc(0)
  const fd = openSync(at, readOnly)
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd) : Buffer.alloc(0)
  } finally {
    closeSync(fd)
  }
}
