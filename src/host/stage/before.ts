import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs'
import { join } from 'node:path'
import { ToolError } from '../../contracts/errors.ts'
import type { Form } from '../../contracts/snapshot.ts'
import type { PathRules } from '../paths.ts'
import { sha256 } from '../files.ts'
import { standingAt } from '../standing.ts'
import type { Root } from '../walk.ts'
import type { Difference } from './effects.ts'

/** A state that was, for the journal to keep. */
export interface Earlier {
  form: Form
  mode: number
  content: () => Buffer
}

interface Seen {
  form: Form
  /** Changes whenever anything about the file does; no program can set it. */
  stamp: string
  mode: number
  copy: string
}

const mostFiles = 20_000
const indexFile = 'index.json'

/** A copy of the project as it is before a program runs unconfined, so that what it does can be undone. */
export interface BeforeCopy {
  /** What is different now, and the states before. */
  compare(): { path: string; before: Earlier | null; difference: Difference }[]
}

/** Makes the copy, and an index of it last: without the index nothing has run yet. */
export function copyBefore(root: Root, rules: PathRules, folder: string, mostBytes: number): BeforeCopy {
  const before = new Map<string, Seen>()
  let bytes = 0
  mkdirSync(folder, { mode: 0o700 })
  for (const [path, stat] of walk(root, rules)) {
    bytes += stat.isFile() ? Number(stat.size) : 0
    if (before.size >= mostFiles || bytes > mostBytes)
      throw new ToolError(
        'E_UNSUPPORTED',
        `The project is too large to keep a copy for undo (${mostFiles} files, ${mostBytes} bytes)`,
        {
          hint: 'Install bubblewrap so that programs run on a stage, which copies nothing; `handrail doctor` says what is missing.',
        },
      )
    const form = formOf(stat)
    const copy = form === 'link' ? readlinkSync(join(root.path, path)) : join(folder, String(before.size))
    if (form === 'file') copyFileSync(join(root.path, path), copy, constants.COPYFILE_FICLONE)
    before.set(path, { form, stamp: stampOf(stat), mode: Number(stat.mode) & 0o777, copy })
  }
  writeFileSync(join(folder, indexFile), JSON.stringify([...before]))
  return { compare: () => compareWith(before, root, rules) }
}

/** The copy a killed process left. */
export function reopenBefore(root: Root, rules: PathRules, folder: string): BeforeCopy {
  const index = join(folder, indexFile)
  const before = new Map(existsSync(index) ? (JSON.parse(readFileSync(index, 'utf8')) as [string, Seen][]) : [])
  return { compare: () => (before.size ? compareWith(before, root, rules) : []) }
}

function compareWith(before: ReadonlyMap<string, Seen>, root: Root, rules: PathRules): ReturnType<BeforeCopy['compare']> {
  const found: ReturnType<BeforeCopy['compare']> = []
  const left = new Map(before)
  const push = (path: string, was: Seen | undefined): void => {
    const earlier = was && earlierOf(was)
    const after = standingAt(root, path.split('/'))
    const old = earlier && standingOf(earlier)
    if (old && after && old.form === after.form && old.sha256 === after.sha256 && old.mode === after.mode) return
    found.push({ path, before: earlier ?? null, difference: { path, before: old, after } })
  }
  for (const [path, stat] of walk(root, rules)) {
    const was = left.get(path)
    left.delete(path)
    if (was?.stamp !== stampOf(stat)) push(path, was)
  }
  for (const [path, was] of left) push(path, was)
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function earlierOf({ form, mode, copy }: Seen): Earlier {
  // A link's copy is its target.
  return { form, mode, content: () => (form === 'file' ? readFileSync(copy) : Buffer.from(form === 'link' ? copy : '')) }
}

/** Every file, link and folder a tool could name, folders before what is in them. */
function* walk(root: Root, rules: PathRules, names: readonly string[] = []): Generator<[string, BigIntStats]> {
  for (const name of readdirSync([root.path, ...names].join('/')).sort()) {
    const here = [...names, name]
    if (rules.refuse(here) !== undefined) continue
    const stat = lstatSync([root.path, ...here].join('/'), { bigint: true, throwIfNoEntry: false })
    if (!stat || !(stat.isFile() || stat.isDirectory() || stat.isSymbolicLink())) continue
    yield [here.join('/'), stat]
    if (stat.isDirectory()) yield* walk(root, rules, here)
  }
}

function formOf(stat: BigIntStats): Form {
  return stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'file'
}

/** A folder changes whenever a name in it does; that is no change of the folder itself. */
function stampOf(stat: BigIntStats): string {
  return stat.isDirectory() ? `folder ${stat.mode}` : `${stat.ino} ${stat.ctimeNs} ${stat.size}`
}

function standingOf({ form, mode, content }: Earlier): Difference['before'] {
  const bytes = content()
  return { form, mode, sha256: sha256(bytes), bytes: bytes.length }
}
