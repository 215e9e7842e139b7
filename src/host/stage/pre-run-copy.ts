import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Earlier } from '../../contracts/change.ts'
import { largestInMemory, type Content } from '../../contracts/content.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Form } from '../../contracts/snapshot.ts'
import { wait, type Steps } from '../../text/steps.ts'
import type { PathRules } from '../paths.ts'
import { sha256 } from '../files.ts'
import { hashChunks } from '../chunks.ts'
import { pathStateInSteps } from '../path-state.ts'
import type { Root } from '../walk.ts'
import type { Difference } from './effects.ts'

export interface Compared {
  path: string
  before: Earlier | null
  difference: Difference
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
export interface PreRunCopy {
  /** What is different now, and the states before. */
  compare(): Steps<Compared[]>
}

/** Makes the copy, and an index of it last: without the index nothing has run yet. */
export function* makePreRunCopy(root: Root, rules: PathRules, folder: string, mostBytes: number): Steps<PreRunCopy> {
  const before = new Map<string, Seen>()
  let bytes = 0
  mkdirSync(folder, { mode: 0o700 })
  for (const [path, stat] of walk(root, rules)) {
    yield
    bytes += stat.isFile() ? Number(stat.size) : 0
    if (before.size >= mostFiles || bytes > mostBytes)
      throw new Fault(
        'unsupported',
        `The project is too large to keep a copy for undo (${mostFiles} files, ${mostBytes} bytes)`,
        {
          hint: 'Install bubblewrap so that programs run on a stage, which copies nothing; `handrail doctor` says what is missing.',
        },
      )
    const form = formOf(stat)
    const copy = form === 'link' ? readlinkSync(join(root.path, path)) : join(folder, String(before.size))
    const copying = [join(root.path, path), copy, constants.COPYFILE_FICLONE] as const
    if (form === 'file')
      yield* wait(
        () => copyFileSync(...copying),
        () => copyFile(...copying),
      )
    before.set(path, { form, stamp: stampOf(stat), mode: Number(stat.mode) & 0o777, copy })
  }
  writeFileSync(join(folder, indexFile), JSON.stringify([...before]))
  return { compare: () => compareWith(before, walk(root, rules), root) }
}

/** The copy a killed process left. */
export function reopenPreRunCopy(root: Root, rules: PathRules, folder: string): PreRunCopy {
  const index = join(folder, indexFile)
  const before = new Map(existsSync(index) ? (JSON.parse(readFileSync(index, 'utf8')) as [string, Seen][]) : [])
  return { compare: () => compareWith(before, before.size ? walk(root, rules) : [], root) }
}

function* compareWith(before: ReadonlyMap<string, Seen>, now: Iterable<[string, BigIntStats]>, root: Root): Steps<Compared[]> {
  const found: Compared[] = []
  const left = new Map(before)
  const push = function* (path: string, was: Seen | undefined): Steps<void> {
    const earlier = was && (yield* earlierOf(path, was))
    const after = yield* pathStateInSteps(root, path.split('/'))
    if (earlier && after && earlier.form === after.form && earlier.sha256 === after.sha256 && earlier.mode === after.mode) return
    found.push({ path, before: earlier ?? null, difference: { path, before: earlier && pathStateOf(earlier), after } })
  }
  for (const [path, stat] of now) {
    yield
    const was = left.get(path)
    left.delete(path)
    if (was?.stamp !== stampOf(stat)) yield* push(path, was)
  }
  for (const [path, was] of left) yield* push(path, was)
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function* earlierOf(path: string, { form, mode, copy }: Seen): Steps<Earlier> {
  // A link's copy is its target.
  const whole = (): Buffer => (form === 'file' ? readFileSync(copy) : Buffer.from(form === 'link' ? copy : ''))
  const { sha256: hash, bytes } = form === 'file' ? yield* hashCopy(copy) : hashFile(whole())
  const open = (): number => openSync(copy, constants.O_RDONLY)
  const changed = (): Error => new Error(`the copy of ${path} is not what it was`)
  const content = (): Content => (bytes > largestInMemory ? { sha256: hash, bytes, open, changed } : whole())
  return { form, mode, sha256: hash, bytes, content }
}

function* hashCopy(copy: string): Steps<{ sha256: string; bytes: number }> {
  const fd = openSync(copy, constants.O_RDONLY)
  try {
    return yield* hashChunks(fd)
  } finally {
    closeSync(fd)
  }
}

const hashFile = (bytes: Buffer): { sha256: string; bytes: number } => ({ sha256: sha256(bytes), bytes: bytes.length })

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

const pathStateOf = ({ form, mode, sha256: hash, bytes }: Earlier): Difference['before'] => ({ form, mode, sha256: hash, bytes })
