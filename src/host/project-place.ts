import { fstatSync, readFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import { dangerFlags, type Danger } from '../contracts/runtime.ts'
import { isWithin, statIfReached } from './state-place.ts'
import type { Root } from './walk.ts'

const all = Number.POSITIVE_INFINITY

/** Folders that are no projects, and how many levels below them are none either. The longest that fits decides; `*` is any one name. */
const system: Readonly<Record<string, number>> = {
  '/': 0,
  '/bin': all,
  '/sbin': all,
  '/lib': all,
  '/lib32': all,
  '/lib64': all,
  '/libx32': all,
  '/boot': all,
  '/dev': all,
  '/dev/shm': 0,
  '/proc': all,
  '/sys': all,
  '/etc': all,
  '/run': all,
  '/run/user/*': 0,
  '/run/media/*': 0,
  '/usr': all,
  '/usr/src': 0,
  '/usr/local': 1,
  '/usr/local/bin': all,
  '/usr/local/sbin': all,
  '/var': 0,
  '/var/backups': all,
  '/var/cache': all,
  '/var/db': all,
  '/var/lib': 1,
  '/var/lock': all,
  '/var/log': all,
  '/var/mail': all,
  '/var/opt': 0,
  '/var/run': all,
  '/var/spool': all,
  '/var/tmp': 0,
  '/tmp': 0,
  '/opt': 0,
  '/srv': 0,
  '/mnt': 0,
  '/media': 0,
  '/home': 0,
  '/snap': all,
  '/nix': all,
  '/lost+found': all,
  // macOS
  '/Applications': all,
  '/Library': all,
  '/System': all,
  '/Users': 0,
  '/Volumes': 0,
  '/cores': all,
  '/private': 0,
  '/private/etc': all,
  '/private/tmp': 0,
  '/private/var': all,
  '/private/var/folders/*/*/*': 0,
  '/private/var/tmp': 0,
  '/private/var/www': 0,
}

/** The same below a home folder: what runs there by itself, and what opens doors elsewhere. */
const homely: Readonly<Record<string, number>> = {
  '': 0,
  '.aws': all,
  '.azure': all,
  '.cache': 0,
  '.claude': 0,
  '.codex': 0,
  '.config': 0,
  '.config/autostart': all,
  '.config/gcloud': all,
  '.config/gh': all,
  '.config/handrail': all,
  // The agent's own files, which it may be let into as a root.
  '.config/handrail/identity': -1,
  '.config/systemd': all,
  '.cursor': 0,
  '.docker': all,
  '.gemini': 0,
  '.gnupg': all,
  '.kube': all,
  '.local': 0,
  '.local/bin': all,
  '.local/share': 0,
  '.local/share/keyrings': all,
  '.local/state': 0,
  '.mozilla': all,
  '.password-store': all,
  '.pki': all,
  '.ssh': all,
  '.vscode': 0,
  AppData: 2,
  Library: 1,
  'Library/Keychains': all,
  'Library/LaunchAgents': all,
}

/** Refuses folders an agent should not be let loose in, unless the person named the danger. Judged on the folder that was opened, not on its name. */
export function checkProject(root: Root, environment: Record<string, string | undefined>, allowed: readonly Danger[]): void {
  for (const { danger, is } of dangersOf(root, environment)) {
    if (danger !== undefined && allowed.includes(danger)) continue
    throw new Fault('bad-input', `Not a project: ${root.path} is ${is}`, {
      details: { path: root.path },
      hint: `Agents would reach far more than one project there. Give the project's own folder with --project; ${
        danger === undefined ? 'no flag lets it be one' : `--${dangerFlags[danger]} lets it be one all the same`
      }.`,
    })
  }
}

/** Every reason against a folder; one without a danger that can be named cannot be overruled. */
function* dangersOf(
  root: Root,
  environment: Record<string, string | undefined>,
): Generator<{ danger: Danger | undefined; is: string }> {
  const { dev, ino } = fstatSync(root.fd)
  const same = (path: string): boolean => {
    if (path === root.path) return true
    const stat = statIfReached(path)
    return stat !== undefined && stat.dev === dev && stat.ino === ino
  }
  // Nothing lies outside of it, so there is no place for the state.
  if (process.platform !== 'win32' && same('/')) yield { danger: undefined, is: 'the root of the file system' }
  if (reached(system, '', root.path, same)) yield { danger: 'system', is: 'a folder of the system' }
  if (process.platform === 'win32' && isWindowsOwn(root.path, environment))
    yield { danger: 'system', is: 'a folder of the system' }
  const own = ownHomes(environment)
  for (const home of [...own, ...peopleHere().filter((one) => !own.includes(one))]) {
    if (same(home)) yield { danger: 'home', is: 'a home folder' }
    // Of others only by name: a machine may have hundreds.
    else if (reached(homely, home, root.path, own.includes(home) ? same : () => false))
      yield { danger: 'home', is: `a private folder of ${home}` }
    for (let at = dirname(home); at !== dirname(at); at = dirname(at))
      if (same(at)) yield { danger: 'home', is: `above the home folder ${home}` }
  }
}

/** Whether a path lies in one of these folders, or is one of them under another name. */
function reached(
  folders: Readonly<Record<string, number>>,
  base: string,
  path: string,
  same: (path: string) => boolean,
): boolean {
  const names = path.split('/')
  let longest = -1
  let depth = -1
  for (const [folder, levels] of Object.entries(folders)) {
    const full = folder === '' ? base : base === '' ? folder : `${base}/${folder}`
    if (levels >= 0 && !full.includes('*') && same(full)) return true
    const wanted = full === '/' ? [''] : full.split('/')
    if (wanted.length <= longest || wanted.some((name, at) => name !== '*' && name !== names[at])) continue
    if (wanted.length > names.length) continue
    longest = wanted.length
    depth = levels
  }
  return longest >= 0 && names.length - longest <= depth
}

/** The homes of who started us. */
function ownHomes(environment: Record<string, string | undefined>): string[] {
  const named = [environment['HOME'], environment['USERPROFILE'], homedir(), userInfo().homedir]
  return [...new Set(named.filter((one) => one !== undefined && isAbsolute(one) && dirname(one) !== one) as string[])]
}

const mostPeople = 200

function peopleHere(): string[] {
  try {
    return readFileSync('/etc/passwd', 'utf8')
      .split('\n', 10_000)
      .map((line) => line.split(':')[5] ?? '')
      .filter((home) => home === '/root' || /^\/(home|Users)\/./.test(home))
      .slice(0, mostPeople)
  } catch {
    return []
  }
}

function isWindowsOwn(path: string, environment: Record<string, string | undefined>): boolean {
  if (dirname(path) === path) return true
  const own = ['SystemRoot', 'ProgramFiles', 'ProgramFiles(x86)', 'ProgramData'].map((name) => environment[name] ?? '')
  const lower = path.toLowerCase()
  return (
    own.some((folder) => folder !== '' && isWithin(lower, folder.toLowerCase())) ||
    lower === join(environment['SystemDrive'] ?? 'C:', '\\users').toLowerCase()
  )
}
