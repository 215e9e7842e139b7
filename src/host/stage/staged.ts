import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ToolError } from '../../contracts/errors.ts'
import type { Form } from '../../contracts/snapshot.ts'
import type { Ran, Sides } from '../../contracts/stage.ts'
import type { CardChange } from '../../contracts/tool.ts'
import { sha256 } from '../files.ts'
import { contentAt, stateWord, type Standing } from '../standing.ts'
import type { Root } from '../walk.ts'
import type { BeforeCopy, Earlier } from './before.ts'
import type { Contents, Difference } from './effects.ts'
import { replaceRecord, type StageRecord } from './records.ts'
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
  show(): CardChange[]
  readonly sides: Sides
  /** It waits for a person: the same call finds it again, also after a restart. */
  keep(approval: string): void
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
  leave: (folder: string) => void,
): Staged {
  const contents = contentsOf(project, join(folder, 'upper'))
  const byPath = new Map(changed.map((one) => [one.path, one]))
  return {
    ran,
    states: statesBefore(changed),
    changes: () => changed.map((one) => asChange(one, contents)),
    made: () => [],
    show: () =>
      showEffects(ran.effects, ({ path }) => [
        byPath.get(path)?.before?.form === 'file' ? contents.before(path) : Buffer.alloc(0),
        contents.after(path),
      ]),
    sides: sidesOf(changed, contents),
    keep: (approval) => replaceRecord(folder, { ...record, approval, ran, changed }),
    discard: () => leave(folder),
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
    show: () => [],
    sides: () => [undefined, undefined],
    keep: () => undefined,
    discard: () => undefined,
  }
}

function asChange(one: Difference, contents: Contents): StagedChange {
  const { path, before, after } = one
  return {
    path,
    expect: stateWord(before),
    ...(before && before.form !== 'link' && { expectMode: before.mode }),
    after: after ? () => asApproved(contents.after(path), after, path) : null,
    form: after?.form ?? before?.form ?? 'file',
    ...(after && after.form !== 'link' && { mode: after.mode }),
  }
}

/** What was shown is what is committed: a stage that somebody touched since is none. */
function asApproved(content: Buffer, shown: Standing, path: string): Buffer {
  if (sha256(content) === shown.sha256) return content
  throw new ToolError('E_CONFLICT', `${path} is not what it was on the stage when it was shown`, {
    details: { path },
    hint: 'Somebody changed the stage itself. Nothing was taken over; make the call again.',
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
    // Our own folder, and whatever is read of it is held against the hash that was shown.
    after(path) {
      const at = join(upper, path)
      const stat = lstatSync(at)
      return stat.isSymbolicLink() ? readlinkSync(at, 'buffer') : stat.isDirectory() ? Buffer.alloc(0) : readFileSync(at)
    },
  }
}
