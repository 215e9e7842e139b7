import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** Where stages may stand: outside the project, since an overlay cannot lie in what it covers. The first that works is used. */
export function stageHomes(environment: Record<string, string | undefined>, wanted: string): string[] {
  if (wanted !== '') return [wanted]
  const state = environment['XDG_STATE_HOME'] || join(environment['HOME'] || homedir(), '.local', 'state')
  return [join(state, 'handrail', 'stages'), join(environment['TMPDIR'] || tmpdir(), `handrail-stages-${userInfo().uid}`)]
}

/** Where the stages of one project lie, whether or not anything is there. */
export function placeFor(home: string, project: string): string {
  return join(home, createHash('sha256').update(project).digest('hex').slice(0, 16))
}

/** Makes that place, ours alone: a home that is a link, or somebody else's, is refused. */
export function makePlace(home: string, project: string): string {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const stat = lstatSync(home)
  const uid = process.getuid?.()
  if (!stat.isDirectory() || (uid !== undefined && stat.uid !== uid)) throw new Error(`${home} is not a folder of this user`)
  if ((stat.mode & 0o077) !== 0) chmodSync(home, 0o700)
  const place = placeFor(home, project)
  mkdirSync(place, { recursive: true, mode: 0o700 })
  return place
}

/** Stands in for every file that is hidden. */
export const emptyFile = 'nothing'
/** Never secret, and without them half of the programs of a Debian-like system do not start. */
const copied = ['ld.so.cache', 'ld.so.conf', 'alternatives', 'localtime', 'timezone', 'mime.types']

/** An /etc for programs: the few files they look for, and no more of who one is than a number. Made anew where the system's has changed. */
export function etcFiles(place: string): string {
  const stamps = copied.map((name) => statSync(`/etc/${name}`, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const folder = join(place, `etc-${createHash('sha256').update(stamps.join()).digest('hex').slice(0, 12)}`)
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

/** Makes a tree of our own readable whatever its program did to the permissions, and says what they were. */
export function openUp(folder: string, within = ''): Map<string, number> {
  const were = new Map<string, number>()
  if (process.getuid?.() === 0) return were
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue
    const path = `${folder}/${entry.name}`
    const { mode } = lstatSync(path)
    const needs = entry.isDirectory() ? 0o700 : 0o400
    const name = within === '' ? entry.name : `${within}/${entry.name}`
    if ((mode & needs) !== needs) {
      were.set(name, mode & 0o777)
      chmodSync(path, (mode & 0o777) | needs)
    }
    if (entry.isDirectory()) for (const [below, was] of openUp(path, name)) were.set(below, was)
  }
  return were
}

/** Takes a stage away, whatever its program did to the permissions. */
export function removeStage(folder: string): void {
  if (!existsSync(folder)) return
  openUp(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Something is in it.
  }
}
