import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { canonical } from '../../contracts/canonical.ts'
import { ToolError } from '../../contracts/errors.ts'
import type { Form } from '../../contracts/snapshot.ts'
import type { Effect, Ran, Sides } from '../../contracts/stage.ts'
import type { Card } from '../../contracts/tool.ts'
import type { Diffs } from '../diffs.ts'
import { sha256 } from '../files.ts'
import { contentAt, stateWord, type Standing } from '../standing.ts'
import { ioFault, type Root } from '../walk.ts'
import type { BeforeCopy, Earlier } from './before.ts'
import { effectsOf, type Contents, type Difference } from './effects.ts'
import { removeStage } from './places.ts'
import { nameStage, replaceRecord, type StageRecord } from './records.ts'
import { showEffects } from './show.ts'

/** One change as the journal takes it. */
export interface StagedChange {
  path: string
  expect: string | null
  expectMode?: number
  after: (() => Buffer) | null
  form: Form
  mode?: number
}

/** A program that has run, and what it did. */
export interface Staged {
  readonly ran: Ran
  /** The project's side of everything it changed. */
  readonly states: Record<string, string | null>
  /** Not real yet: what a commit would do. */
  changes(): StagedChange[]
  /** Real already, since it could not be confined: the states before, for undo. */
  made(): { path: string; before: Earlier | null }[]
  /** What a card shows of it; `sensitive` are the files that make other programs run something. */
  show(sensitive: ReadonlySet<string>): Promise<Pick<Card, 'changes' | 'rest'>>
  readonly sides: Sides
  /** Before a person is asked about it: refused where too many wait already. */
  mayWait(): void
  /** It waits for a person: the same call finds it again, also after a restart. */
  keep(approval: string): void
  /** It is this call's alone from here on: whoever else had found it finds nothing any more, and where we die that call is told of. */
  take(call: string): void
  /** No trace of it is left. */
  discard(): void
}

/** A program that ran on a stage, as the stage lies on the disk. */
export function onStage(
  project: Root,
  folder: string,
  record: StageRecord,
  ran: Ran,
  changed: readonly Difference[],
  diffs: Diffs,
  room: () => void = () => undefined,
): Staged {
  const byPath = new Map(changed.map((one) => [one.path, one]))
  let place = folder
  let asked = record.approval !== undefined
  const onDisk = (): Contents => contentsOf(project, join(place, 'upper'))
  // What is shown and what is committed is what was found when the program ended, or nothing is.
  const contents: Contents = {
    before: (path) => onDisk().before(path),
    after: (path) => asFound(onDisk().after(path), byPath.get(path)?.after, path),
  }
  const move = (): void => void (place = renamed(place))
  return {
    ran,
    states: statesBefore(changed),
    changes() {
      // A yes is to the effects, and a record on the disk can be edited: they must follow from what would be committed.
      if (canonical(effectsOf(changed, contents)) !== canonical(ran.effects)) throw touched('The record of the stage')
      return changed.map((one) => asChange(one, contents))
    },
    made: () => [],
    show(sensitive) {
      const both = ({ path }: Effect): readonly [Buffer, Buffer] => [
        byPath.get(path)?.before?.form === 'file' ? contents.before(path) : Buffer.alloc(0),
        contents.after(path),
      ]
      return showEffects(ran.effects, both, sensitive, diffs)
    },
    sides: sidesOf(changed, contents),
    mayWait: room,
    keep(approval) {
      replaceRecord(place, { ...record, approval, ran, changed })
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
export function madeAlready(
  ran: Ran,
  compared: ReturnType<BeforeCopy['compare']>,
  contents: Contents,
  discard: () => void,
): Staged {
  const changed = compared.map(({ difference }) => difference)
  return {
    ...withoutEffect(ran),
    states: statesBefore(changed),
    made: () => compared,
    sides: sidesOf(changed, contents),
    discard,
  }
}

function statesBefore(changed: readonly Difference[]): Record<string, string | null> {
  return Object.fromEntries(changed.map(({ path, before }) => [path, stateWord(before)]))
}

/** It changes nothing, so there is nothing to show, to commit or to take away. */
export function withoutEffect(ran: Ran): Staged {
  return {
    ran,
    states: {},
    changes: () => [],
    made: () => [],
    mayWait: () => undefined,
    show: async () => ({ changes: [] }),
    sides: () => [undefined, undefined],
    keep: () => undefined,
    take: () => undefined,
    discard: () => undefined,
  }
}

function asChange(one: Difference, contents: Contents): StagedChange {
  const { path, before, after } = one
  return {
    path,
    expect: stateWord(before),
    ...(before && before.form !== 'link' && { expectMode: before.mode }),
    after: after ? () => contents.after(path) : null,
    form: after?.form ?? before?.form ?? 'file',
    ...(after && after.form !== 'link' && { mode: after.mode }),
  }
}

function asFound(content: Buffer, found: Standing | undefined, path: string): Buffer {
  if (sha256(content) === found?.sha256) return content
  throw touched(path)
}

/** A stage that somebody touched since it was read is none. */
function touched(path: string, cause?: unknown): ToolError {
  return new ToolError('E_CONFLICT', `${path} is not what it was on the stage when the program ended`, {
    details: { path },
    hint: 'Somebody changed the stage itself. Nothing was taken over; make the call again.',
    cause,
  })
}

/** The content of a file, or the target of a link; a folder has neither. */
function sidesOf(changed: readonly Difference[], contents: Contents): Sides {
  const byPath = new Map(changed.map((one) => [one.path, one]))
  const holds = (standing: Difference['before']): boolean => standing !== undefined && standing.form !== 'folder'
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
    after(path) {
      try {
        return contentOf(join(upper, path))
      } catch (cause) {
        const { code = '' } = cause as NodeJS.ErrnoException
        throw replaced.has(code) ? touched(path, cause) : ioFault(path.split('/'), cause)
      }
    },
  }
}

/** What the system says where something else has taken a file's place. */
const replaced = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'EINVAL', 'ENXIO', 'EACCES'])

function contentOf(at: string): Buffer {
  const stat = lstatSync(at)
  if (stat.isSymbolicLink()) return readlinkSync(at, 'buffer')
  if (stat.isDirectory()) return Buffer.alloc(0)
  // A pipe is not waited for: it ends at once.
  const fd = openSync(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd) : Buffer.alloc(0)
  } finally {
    closeSync(fd)
  }
}
