import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { ToolError } from '../../contracts/errors.ts'
import type { Hidden } from './hidden.ts'
import { emptyFile } from './places.ts'

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
  /** What of the project is not there for it: folders become empty, files too. */
  hidden: readonly Hidden[]
  /** Files and folders of the machine it may read, at their own place. */
  reads: readonly string[]
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

const starter = '/run/start'
const program = '/run/program'
/** What starts a program whose instructions arrived whole. */
export const started = [starter, program] as const

/** Said before the instructions come. It is refused without the namespace that they ask for: where none come, nothing is started. */
export const needsInstructions = ['--hostname', 'stage'] as const

/** What the starter reads. Its last line is what runs the program: cut short, it runs nothing. */
export function startText(argv: readonly string[]): string {
  return `set -- ${argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}\nexec "$@"\n`
}

/**
 * The arguments of bubblewrap for one program: a machine of its own, read-only, without capabilities, users, network or neighbours.
 * It reads the words of the starter from an open file.
 */
export function confine(view: View, flags: ReadonlySet<string>, programFile: number): string[] {
  const words = [
    '--unshare-user',
    '--unshare-ipc',
    '--unshare-pid',
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
    '--clearenv',
    ...Object.entries(view.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...systemFolders(),
    ...(view.network ? etcWithNetwork(view.etc) : ['--ro-bind', view.etc, '/etc']),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    // Whoever is root outside could set the kernel there, without any capability: core_pattern alone runs programs as root.
    '--remount-ro',
    '/proc',
    ...temporary('/tmp', view.tmpBytes, flags),
    ...(flags.has('--size') ? ['--size', String(view.tmpBytes)] : []),
    '--tmpfs',
    '/dev/shm',
    ...bindEach(view.reads),
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
  throw new ToolError('E_UNSUPPORTED', `${view.hidden.length} places of the project are hidden from programs, more than can be`, {
    details: { hidden: view.hidden.slice(0, 10).map(({ path }) => path) },
    hint: 'Nothing was run. Keep such files in fewer folders outside the project, or name what programs may see in stage.stageVisible.',
  })
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
    ...readdirSync(etc).flatMap((name) => (name === 'hosts' ? [] : ['--ro-bind', `${etc}/${name}`, `/etc/${name}`])),
    ...bindEach(networkFiles.map((name) => `/etc/${name}`)),
  ]
}

function bindEach(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (existsSync(path) ? ['--ro-bind', path, path] : []))
}

function hide({ project, hidden, shows, etc }: View): string[] {
  return hidden
    .map(({ path, folder }) => ({ at: `${project}/${path}`, folder }))
    .filter(({ at }) => shows.some((shown) => at.startsWith(`${shown.at}/`)))
    .flatMap(({ at, folder }) => (folder ? ['--tmpfs', at, '--remount-ro', at] : ['--ro-bind', `${etc}/${emptyFile}`, at]))
}

/** The overlay of a project as a program sees it: it may change one folder (empty is all of it), and with `alone` sees no other. */
export function overlaid(project: string, merged: string, changes: string, alone: boolean): Shown[] {
  const all = { from: merged, at: project, writes: changes === '' }
  const one = { from: `${merged}/${changes}`, at: `${project}/${changes}`, writes: true }
  return changes === '' ? [all] : alone ? [one] : [all, one]
}

/** The folder a program was installed into, where it lies outside /usr: `~/.nvm/versions/node/v20.19.0`. */
export function installedIn(program: string): string | undefined {
  const prefix = dirname(dirname(program))
  return prefix === '/' || /^\/(usr|bin|sbin|lib)(\/|$)/.test(prefix) ? undefined : prefix
}

/** The whole environment of a program, save what its tool adds. */
export function programEnv(): Record<string, string> {
  const own = process.execPath.slice(0, process.execPath.lastIndexOf('/'))
  const path = new Set([own, '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'])
  return { PATH: [...path].join(':'), HOME: '/tmp/home', TMPDIR: '/tmp', LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1' }
}
