import { realpathSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { secretOn } from '../../text/secret-files.ts'

/** What no path that is shown to a program may be, hold, or lie in. */
export interface BindRules {
  project: string
  /** Where people live: none is shown whole. */
  homes: readonly string[]
  /** Where Handrail keeps its state, its settings and its stages, and where a home keeps its keys. */
  kept: readonly string[]
}

/** Folders of a home that hold keys and sign-ins. */
const keyFolders = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.password-store',
  '.mozilla',
  '.config/gcloud',
  '.config/gh',
  '.config/google-chrome',
  '.config/chromium',
  '.local/share/keyrings',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
]

/** Neither these nor what holds them: accounts, logs, other people, the machine's own sockets. */
const system = ['/etc', '/home', '/root', '/var', '/boot']
/** Nor anything in these. */
const machine = ['/proc', '/sys', '/dev', '/run']

export function bindRulesOf(
  environment: Readonly<Record<string, string | undefined>>,
  project: string,
  kept: readonly string[] = [],
): BindRules {
  const homes = [...new Set([environment['HOME'] || homedir(), ownHome()])].filter((home) => home !== '/').map(real)
  const base = (name: string, below: string): string[] =>
    environment[name] ? [join(environment[name], 'handrail')] : homes.map((home) => join(home, below, 'handrail'))
  return {
    project: real(project),
    homes,
    kept: [
      ...kept,
      ...base('XDG_STATE_HOME', '.local/state'),
      ...base('XDG_CONFIG_HOME', '.config'),
      ...homes.flatMap((home) => keyFolders.map((name) => join(home, name))),
    ].map(real),
  }
}

/**
 * The one judge of every path that is shown to a program besides the project: what it is told to show, finds by itself or is
 * asked for by a tool. Says why not.
 */
export function whyNotShown(path: string, { project, homes, kept }: BindRules): string | undefined {
  if (!path.startsWith('/')) return 'it is no absolute path'
  const at = real(path)
  const home = homes.find((one) => holds(at, one))
  if (at === '/' || home !== undefined) return `it is, or holds, ${home === undefined ? 'the whole machine' : 'a home folder'}`
  const found = [...system.filter((one) => holds(at, one)), ...machine.filter((one) => holds(at, one) || holds(one, at))][0]
  if (found !== undefined) return `it shows ${found}`
  if (holds(at, project)) return 'it holds the project'
  const secret = kept.find((one) => holds(at, one) || holds(one, at))
  return secret === undefined ? undefined : `it shows ${secret}`
}

/** The same for what a person names: what is on the list of secrets is shown by nobody's slip. */
export function whySecret(path: string): string | undefined {
  const says = secretOn(real(path).split('/').filter(Boolean))
  return says === undefined ? undefined : `it holds ${says}`
}

/** By the path it really has, as far as it is there. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(real(parent), path.slice(parent.length))
  }
}

export function holds(folder: string, path: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

/** The home the system knows of, whatever the environment says. */
function ownHome(): string {
  try {
    return userInfo().homedir
  } catch {
    return homedir()
  }
}
