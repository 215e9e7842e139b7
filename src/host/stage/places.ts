import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  opendirSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  truncateSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Steps } from '../../text/steps.ts'
import { deepest } from '../paths.ts'
import { runBrieflySoon } from '../process.ts'
import { processName } from '../running.ts'
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
/** Folders of /etc that are shown as they are: hundreds of links into /usr, under which awk, cc and vi are found on a Debian-like system. */
export const asItIs = ['alternatives']
/** Never secret, and without them half of the programs of a Debian-like system do not start. */
const copied = ['ld.so.cache', 'ld.so.conf', 'localtime', 'timezone', 'mime.types']

/** An /etc for programs: the few files they look for, and no more of who one is than a number. Made anew where the system's has changed. */
export async function etcFiles(place: string): Promise<string> {
  const stamps = copied.map((name) => statSync(`/etc/${name}`, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const folder = join(place, `etc-${sha256(stamps.join()).slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const { uid, gid } = userInfo()
  const name = uid === 0 ? 'root' : 'user'
  const made = mkdtempSync(join(place, 'etc.'))
  for (const one of copied.filter((file) => existsSync(`/etc/${file}`))) await copyFile(`/etc/${one}`, join(made, one))
  for (const one of asItIs) mkdirSync(join(made, one))
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
  const bare = isBare(folder) && !existsSync(join(folder, 'mirror'))
  // Nothing ran on it.
  if (!clearRecord(folder) && bare) return rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
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
  leaveBehind(bare && isOurs(name) ? clearAway(left) : removeMuch(left))
}

const isOurs = (name: string): boolean => name.startsWith(`${processName(process.pid)}-`)

/** What was emptied of one stage, by its place: a disk that is asked for eight new names by each call is what such a call waits for. */
const emptied = new Map<string, string>()

/** After whoever asked has been answered. */
async function clearAway(left: string): Promise<void> {
  await turn()
  if (!setAside(left)) await throwAway(left)
}

/** Keeps what no program saw of a stage on which nothing was changed: the folders around it. What one saw of it always goes. */
function setAside(left: string): boolean {
  const [place, work] = [dirname(left), join(left, 'work')]
  try {
    if (emptied.has(place) || readdirSync(left).some((name) => !ownParts.has(name))) return false
    intoBin(join(left, 'upper'), place)
    if (existsSync(join(work, 'work'))) intoBin(join(work, 'work'), place)
    if (readdirSync(work).length > 0) return false
    emptied.set(place, left)
    return true
  } catch {
    return false
  }
}

const ownParts = new Set([recordFile, 'upper', 'work'])

/** Gives a new stage what was emptied of one before it, where there is such. */
export function reuseEmptied(folder: string): void {
  const place = dirname(folder)
  const left = emptied.get(place)
  emptied.delete(place)
  try {
    if (left !== undefined) renameSync(left, folder)
  } catch {
    // Somebody else took it away.
  }
}

interface Bin {
  folder: string
  holds: number
  timer: NodeJS.Timeout
}

/** What is empty, or as good as, goes with others, once no call has come for a while: to take it away at once costs the next call as much as its program. */
const bins = new Map<string, Bin>()
const mostInBin = 1_024
const binMs = 5_000
const few = 4

async function throwAway(left: string): Promise<void> {
  try {
    intoBin(left, dirname(left))
  } catch {
    await removeMuch(left)
  }
}

function intoBin(what: string, place: string): void {
  const bin = bins.get(place) ?? newBin(what, place)
  renameSync(what, join(bin.folder, String(bin.holds++)))
  bin.timer.refresh()
  if (bin.holds >= mostInBin) leaveBehind(emptyBin(place))
}

function newBin(what: string, place: string): Bin {
  const name = what.slice(place.length + 1).split('/', 1)[0] ?? ''
  const folder = join(place, `${name}-bin`)
  mkdirSync(folder, { mode: 0o700 })
  const bin = { folder, holds: 0, timer: setTimeout(() => leaveBehind(emptyBin(place)), binMs).unref() }
  bins.set(place, bin)
  return bin
}

async function emptyBin(place: string): Promise<void> {
  const bin = bins.get(place)
  bins.delete(place)
  clearTimeout(bin?.timer)
  if (bin) await (bin.holds > few ? removeMuch(bin.folder) : removeAll(bin.folder))
}

const removeAll = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 })

/** Whether there was one. An empty one is none. */
function clearRecord(folder: string): boolean {
  try {
    truncateSync(join(folder, recordFile))
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

/** Whether nothing was changed on a stage: most are as they were made, and one look tells. */
export function isBare(folder: string): boolean {
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

/** Nobody waits for it, so it waits for everybody else. */
const removing = 'nice rm -rf -- "$1" 2>/dev/null || { chmod -R u+rwX -- "$1"; rm -rf -- "$1"; }'

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
  for (const place of bins.keys()) leaveBehind(emptyBin(place))
  for (const left of emptied.values()) leaveBehind(removeAll(left))
  emptied.clear()
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

export function usablePlace(homes: readonly string[], project: string): string {
  for (const home of homes) {
    try {
      return makePlace(home, project)
    } catch {
      continue
    }
  }
  throw new Fault('io', 'No folder for stages can be made', { hint: `Tried ${homes.join(', ')}. Set stage.stagePlace.` })
}
