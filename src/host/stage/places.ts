import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  opendirSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { rm, rmdir, unlink } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Steps } from '../../text/steps.ts'
import { deepest } from '../paths.ts'
import { runBrieflySoon } from '../process.ts'
import { sha256 } from '../files.ts'

/** Where stages may stand: outside the project, since an overlay cannot lie in what it covers. The first that works is used. */
export function stageHomes(state: string, environment: Record<string, string | undefined>, wanted: string): string[] {
  if (wanted !== '') return [wanted]
  return [join(state, 'stages'), join(environment['TMPDIR'] || tmpdir(), `handrail-stages-${userInfo().uid}`)]
}

/** Where the stages of one project lie, whether or not anything is there. */
export function placeFor(home: string, project: string): string {
  return join(home, sha256(project).slice(0, 16))
}

/** Makes that place, ours alone: a home that is a link, or somebody else's, is refused. */
export function makePlace(home: string, project: string): string {
  if (`${home}/`.startsWith(`${project}/`)) throw new Error(`${home} lies in the project, where a stage cannot stand`)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const stat = lstatSync(home)
  const uid = process.getuid?.()
  if (!stat.isDirectory() || (uid !== undefined && stat.uid !== uid)) throw new Error(`${home} is not a folder of this user`)
  if ((stat.mode & 0o077) !== 0) chmodSync(home, 0o700)
  const place = placeFor(home, project)
  mkdirSync(place, { recursive: true, mode: 0o700 })
  return place
}

/** What is written down of a stage, beside its layers. */
export const recordFile = 'stage.json'

/** Stands in for every file that is hidden. */
export const emptyFile = 'nothing'
/** Never secret, and without them half of the programs of a Debian-like system do not start. */
const copied = ['ld.so.cache', 'ld.so.conf', 'alternatives', 'localtime', 'timezone', 'mime.types']

/** An /etc for programs: the few files they look for, and no more of who one is than a number. Made anew where the system's has changed. */
export function etcFiles(place: string): string {
  const stamps = copied.map((name) => statSync(`/etc/${name}`, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const folder = join(place, `etc-${sha256(stamps.join()).slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const { uid, gid } = userInfo()
  const name = uid === 0 ? 'root' : 'user'
  const made = mkdtempSync(join(place, 'etc.'))
  for (const one of copied.filter((file) => existsSync(`/etc/${file}`)))
    cpSync(`/etc/${one}`, join(made, one), {
      recursive: true,
      verbatimSymlinks: one !== 'localtime',
      dereference: one === 'localtime',
    })
  writeFileSync(join(made, 'passwd'), `${name}:x:${uid}:${gid}::/tmp/home:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`)
  writeFileSync(join(made, 'group'), `${name}:x:${gid}:\nnogroup:x:65534:\n`)
  writeFileSync(join(made, 'hosts'), '127.0.0.1 localhost\n::1 localhost\n')
  writeFileSync(join(made, emptyFile), '')
  try {
    renameSync(made, folder)
  } catch {
    // Another process was quicker.
    rmSync(made, { recursive: true, force: true })
  }
  return folder
}

/**
 * Makes a tree of our own readable whatever its program did to the permissions, and says what they were. Deeper than tools can
 * go, or under a name that is no text, nothing is taken over, so nothing is opened.
 */
export function* openUp(folder: string): Steps<Map<string, number>> {
  const were = new Map<string, number>()
  if (process.getuid?.() !== 0) yield* openBelow(folder, [], were)
  return were
}

function* openBelow(folder: string, within: readonly string[], were: Map<string, number>): Steps<void> {
  if (within.length > deepest) return
  const opened = opendirSync(folder)
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
      yield
      if (!entry.isFile() && !entry.isDirectory()) continue
      const path = `${folder}/${entry.name}`
      const stat = lstatIfNameable(path)
      if (!stat) continue
      const { mode } = stat
      const needs = entry.isDirectory() ? 0o700 : 0o400
      const names = [...within, entry.name]
      if ((mode & needs) !== needs) {
        were.set(names.join('/'), mode & 0o777)
        chmodSync(path, (mode & 0o7777) | needs)
      }
      if (entry.isDirectory()) yield* openBelow(path, names, were)
    }
  } finally {
    opened.closeSync()
  }
}

/** Names that are no text are read with a mark in their place, and paths can be too long: neither can be looked at by name. */
function lstatIfNameable(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

/**
 * Takes a stage away, whatever its program did to names, depths and permissions. It has another name at once, and no record: it is
 * nobody's from then on. Nobody waits until it is gone, since it may hold very much; what even the system's own tools cannot remove stays.
 */
export function removeStage(folder: string): void {
  // The overlay's own, which it lets nobody into.
  for (const name of ['work', 'work/incompat', 'work/incompat/volatile']) openIfThere(join(folder, 'work', name))
  const bare = isBare(folder)
  // Nothing ran on it.
  if (!takeRecord(folder) && bare) return rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  // Without a record and yet under its name is what a process leaves that is killed here; what is no stage, or has lost its name, keeps the one it has.
  const name = basename(folder)
  const left = join(dirname(folder), /^\d/.test(name) ? `left-${name}` : name)
  try {
    renameSync(folder, left)
  } catch {
    // It is gone already, or stays where it is while it goes.
    if (existsSync(folder)) leaveBehind(removeMuch(folder))
    return
  }
  leaveBehind(bare ? removeBare(left) : removeMuch(left))
}

/** What an overlay leaves in a stage on which nothing was changed, the innermost first. */
const leftByOverlay = ['work/work/incompat/volatile', 'work/work/incompat', 'work/work', 'work', 'upper', '']

/** By the few names it has: to look for them takes three times as many calls. Not on the spot, since a busy disk makes each of them wait. */
async function removeBare(folder: string): Promise<void> {
  try {
    await orMissing(unlink(join(folder, 'work/work/incompat/volatile/dirty')))
    for (const name of leftByOverlay) await orMissing(rmdir(join(folder, name)))
  } catch {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function orMissing(removing: Promise<void>): Promise<void> {
  try {
    await removing
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
  }
}

/** Whether there was one. */
function takeRecord(folder: string): boolean {
  try {
    unlinkSync(join(folder, recordFile))
    return true
  } catch {
    return false
  }
}

function openIfThere(folder: string): void {
  try {
    chmodSync(folder, 0o700)
  } catch {
    // It is not.
  }
}

/** Most are as they were made. */
function isBare(folder: string): boolean {
  try {
    const upper = opendirSync(join(folder, 'upper'))
    try {
      return upper.readSync() === null
    } finally {
      upper.closeSync()
    }
  } catch {
    return false
  }
}

const removing = 'rm -rf -- "$1" 2>/dev/null || { chmod -R u+rwX -- "$1"; rm -rf -- "$1"; }'

/** By another process: a hundred thousand names are a hundred thousand calls to the system. */
async function removeMuch(folder: string): Promise<void> {
  await runBrieflySoon('/bin/sh', ['-c', removing, 'remove', folder], { timeoutMs: 600_000 })
}

const leaving = new Set<Promise<void>>()
const mostLeaving = 4

function leaveBehind(going: Promise<void>): void {
  const gone = going.catch(() => undefined).finally(() => leaving.delete(gone))
  leaving.add(gone)
}

/** Every stage that was left is gone. */
export async function stagesGone(): Promise<void> {
  await Promise.all(leaving)
}

/** Where many are on their way out, the next waits for one of them: the disk must not fill faster than it is cleared. */
export async function roomForStage(): Promise<void> {
  while (leaving.size > mostLeaving) await Promise.race(leaving)
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Something is in it.
  }
}
