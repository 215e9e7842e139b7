import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { Fault } from '../../contracts/faults/fault.ts'
import { shellWords } from '../../text/shell-words.ts'
import { markName } from '../running.ts'
import type { Mask } from './masks.ts'
import type { Place } from './entries.ts'
import { asItIs, emptyFile } from './places.ts'
import { holds } from './bind-rules.ts'

/** A folder as a program finds it. */
export interface Shown {
  from: string
  at: string
  writes: boolean
}

/** What a program sees of the machine, and nothing else. */
export interface View {
  /** The project's real path: it is found inside where it is outside. */
  project: string
  /** What it sees of the project, and where; outer folders first. */
  shows: readonly Shown[]
  /** What of the project, and of what it reads, is not there for it: folders become empty, files too, or another takes their place. */
  hidden: readonly Mask[]
  /** Files and folders of the machine it may read, at their own place. */
  reads: readonly string[]
  /** What the first process of the stage is found by from outside. */
  mark: string
  /** A folder with the few files of /etc that programs look for. */
  etc: string
  cwd: string
  env: Readonly<Record<string, string>>
  network: boolean
  tmpBytes: number
}

/** Only with the network: names and certificates. Not all of /etc/ssl, which keeps private keys. */
const networkFiles = [
  'resolv.conf',
  'hosts',
  'nsswitch.conf',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ca-certificates',
  'services',
  'gai.conf',
]

/** The kernel tells of the person's keys there; and whoever is root outside, without any capability, of all its memory. Its log (kmsg) it keeps from them by itself. */
const told = ['keys', 'key-users']
const toldRoot = ['slabinfo', 'kpageflags', 'kpagecount', 'kpagecgroup', 'vmallocinfo', 'pagetypeinfo', 'timer_list']
const untold = [...told, ...(process.getuid?.() === 0 ? toldRoot : [])].map((name) => `/proc/${name}`)

const starter = '/run/start'
const program = '/run/program'
/** What starts a program whose instructions arrived whole. */
export const started = [starter, program] as const

/** Said before the instructions come. It is refused without the namespace that they ask for: where none come, nothing is started. */
export const needsInstructions = ['--hostname', 'stage'] as const

/**
 * What the starter reads. Its last line is what runs the program: cut short, it runs nothing. The starter stays, as the first process of
 * the stage: bubblewrap in that place could be read by the program, with its environment and the names of all that is hidden. How a
 * program ended it does not say; its own words would be taken for the program's.
 */
export function startText(argv: readonly string[]): string {
  return `set -- ${shellWords(argv)}\nexec 3>&2 2>/dev/null; (exec 2>&3 3>&-; unset ${markName}; exec "$@")\n`
}

/**
 * The arguments of bubblewrap for one program: a machine of its own, read-only, without capabilities, users, network or neighbours.
 * It reads the words of the starter from one open file, and the calls it may not make from another.
 */
export function confine(view: View, flags: ReadonlySet<string>, programFile: number, filterFile?: number): Place[] {
  const words: Place[] = [
    '--unshare-user',
    '--unshare-ipc',
    '--unshare-pid',
    '--as-pid-1',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(view.network ? [] : ['--unshare-net']),
    ...(flags.has('--disable-userns') ? ['--disable-userns'] : []),
    '--uid',
    String(process.getuid?.() ?? 0),
    '--gid',
    String(process.getgid?.() ?? 0),
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
    ...(filterFile === undefined ? [] : ['--seccomp', String(filterFile)]),
    '--clearenv',
    '--setenv',
    markName,
    view.mark,
    ...Object.entries(view.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...systemFolders(),
    ...(view.network ? etcWithNetwork(view.etc) : ['--ro-bind', view.etc, '/etc']),
    ...bindEach(asItIs.map((name) => `/etc/${name}`)),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    // By a file with a short name: the system spells it out for every mount that comes after.
    ...untold.flatMap((file) => (existsSync(file) ? ['--dev-bind', '/dev/null', file] : [])),
    // Whoever is root outside could set the kernel there, without any capability: core_pattern alone runs programs as root.
    '--remount-ro',
    '/proc',
    ...temporary('/tmp', view.tmpBytes, flags),
    ...(flags.has('--size') ? ['--size', String(view.tmpBytes)] : []),
    '--tmpfs',
    '/dev/shm',
    // It is memory without a bound.
    '--remount-ro',
    '/dev',
    ...showEach(view.reads, view.project),
    ...view.shows.flatMap(({ from, at, writes }) => [writes ? '--bind' : '--ro-bind', from, at]),
    ...hide(view),
    '--chdir',
    view.cwd,
    '--file',
    String(programFile),
    program,
    // The last of all: where these instructions were cut short, there is nothing to start the program with.
    '--symlink',
    '/bin/sh',
    starter,
    '--remount-ro',
    '/',
  ]
  if (words.length <= mostWords) return words
  throw new Fault('unsupported', `${view.hidden.length} places are hidden from programs, more than can be`, {
    details: { hidden: view.hidden.slice(0, 10).map(({ at }) => at.toString()) },
    hint: 'Nothing was run. Keep such files in fewer folders outside the project, or name what programs may see in stage.stageVisible.',
  })
}

/** The words as bubblewrap reads them: each ends with a zero. */
export function asBytes(words: readonly Place[]): Buffer {
  if (words.every((word) => typeof word === 'string')) return Buffer.from(`${words.join('\0')}\0`)
  const end = Buffer.alloc(1)
  return Buffer.concat(words.flatMap((word) => [Buffer.from(word as string), end]))
}

/** bubblewrap takes 9,000, those outside the instructions among them. */
const mostWords = 8_900

function temporary(place: string, bytes: number, flags: ReadonlySet<string>): string[] {
  return [...(flags.has('--size') ? ['--size', String(bytes)] : []), '--tmpfs', place, '--dir', `${place}/home`]
}

/** /usr, and the names at the root that lead into it: links on a merged system, folders of their own on an older one. */
function systemFolders(): string[] {
  return [
    '--ro-bind',
    '/usr',
    '/usr',
    ...['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap((name) => {
      const stat = lstatSync(`/${name}`, { throwIfNoEntry: false })
      if (!stat) return []
      return stat.isSymbolicLink() ? ['--symlink', readlinkSync(`/${name}`), `/${name}`] : ['--ro-bind', `/${name}`, `/${name}`]
    }),
  ]
}

/** Nothing can be mounted inside what is read-only, so each file has its own place. */
function etcWithNetwork(etc: string): string[] {
  return [
    ...readdirSync(etc).flatMap((name) =>
      name === 'hosts' || asItIs.includes(name) ? [] : ['--ro-bind', `${etc}/${name}`, `/etc/${name}`],
    ),
    ...bindEach(networkFiles.map((name) => `/etc/${name}`)),
  ]
}

function bindEach(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (existsSync(path) ? ['--ro-bind', path, path] : []))
}

/** A link stays a link where what it leads to is shown as well: a program may look beside the file that it really is. */
export function readsAsShown(paths: readonly string[], project: string): (Omit<Shown, 'writes'> & { link: boolean })[] {
  const outer = paths.filter((path) => existsSync(path) && !paths.some((other) => other !== path && holds(other, path)))
  const isShown = (path: string): boolean => [...outer, project, '/usr'].some((folder) => holds(folder, path))
  return [...new Set(outer)].map((path) => {
    const real = realpathSync(path)
    return { from: real, at: path, link: lstatSync(path).isSymbolicLink() && isShown(real) }
  })
}

function showEach(paths: readonly string[], project: string): string[] {
  return readsAsShown(paths, project).flatMap(({ from, at, link }) => [link ? '--symlink' : '--ro-bind', from, at])
}

function hide({ hidden, shows, reads, etc }: View): Place[] {
  const shown = [...shows.map(({ at }) => at), ...reads]
  return hidden
    .filter(({ at }) => shown.some((folder) => at.toString().startsWith(`${folder}/`)))
    .flatMap(({ at, folder, by = `${etc}/${emptyFile}` }) =>
      folder ? ['--tmpfs', at, '--remount-ro', at] : ['--ro-bind', by, at],
    )
}

/** The overlay of a project as a program sees it: it may change one folder (empty is all of it), and with `alone` sees no other. */
export function overlaid(project: string, merged: string, changes: string, alone: boolean): Shown[] {
  const all = { from: merged, at: project, writes: changes === '' }
  const one = { from: `${merged}/${changes}`, at: `${project}/${changes}`, writes: true }
  return changes === '' ? [all] : alone ? [one] : [all, one]
}

/** The whole environment of a program, save what its tool adds. */
export function programEnv(): Record<string, string> {
  const own = process.execPath.slice(0, process.execPath.lastIndexOf('/'))
  const path = new Set([own, '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'])
  return {
    PATH: [...path].join(':'),
    HOME: '/tmp/home',
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
    // `git status` then does not write its index anew, which would look like an act on the repository.
    GIT_OPTIONAL_LOCKS: '0',
  }
}
