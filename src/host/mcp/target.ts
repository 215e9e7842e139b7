import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Mount } from '../../contracts/mounts.ts'
import type { Programs } from '../installed.ts'
import { holds } from '../stage/bind-rules.ts'
import type { MountTarget } from './connection.ts'
import { signInWords } from './sign-in-words.ts'

/** What a mount stands for on this machine. Throws where it stands for nothing. */
export function targetOf(
  name: string,
  mount: Mount,
  machine: { project: string; environment: Readonly<Record<string, string | undefined>>; programs: Programs },
): MountTarget {
  const { command, url } = mount
  if ((command === undefined) === (url === undefined)) throw wrong(name, 'names either a `command` or a `url`')
  const filled = (values: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fill(name, mount, value, machine.environment)]))
  if (url !== undefined) {
    const headers = filled(mount.headers)
    return { url: mustBeSafe(name, url), headers, untold: signInWords(mount, headers) }
  }
  const { args = [], reads = [], writes = [], network = false, unconfined = false } = mount
  if (mount.ofProject && unconfined) throw wrong(name, 'stands in a project’s own file, which lets nothing run unconfined')
  const found = findProgram(command as string, machine)
  if (!found) throw wrong(name, `names a program that is not installed: ${command}`)
  const env = filled(mount.env)
  const folder = (path: string): string => {
    if (path === '.') return machine.project
    if (!isAbsolute(path)) throw wrong(name, `names ${path}: folders are absolute, or "." for the project`)
    const real = existsSync(path) ? realpathSync(path) : path
    // Where a link of the project leads is the project's word, not the person's.
    if (holds(machine.project, resolve(path)) && !holds(machine.project, real))
      throw wrong(name, `names ${path}, which is a link out of the project: name the folder it leads to`)
    return real
  }
  return {
    program: {
      argv: [found.file, ...args],
      env,
      parts: [...new Set([...found.reads, ...args.flatMap((word) => ownFiles(word, machine.project))])],
      reads: reads.map(folder),
      writes: writes.map(folder),
      network,
      unconfined,
      // Short words are in everything.
      secrets: Object.values(env).filter((value) => value.length >= 8),
    },
    untold: signInWords(mount, env),
  }
}

function findProgram(command: string, { programs, project }: { programs: Programs; project: string }) {
  // Node itself: what stands on the PATH may be a script of somebody's that chooses one.
  if (command === 'node') return { file: process.execPath, reads: [] }
  if (!isAbsolute(command)) return command.includes('/') ? undefined : programs.find(command)
  // An agent may have written it.
  if (!existsSync(command) || [command, realpathSync(command)].some((path) => holds(project, path))) return undefined
  return { file: command, reads: ownFiles(command, project) }
}

/** A script named with its whole path needs what lies beside it: its package, and where it was installed into `node_modules`, those beside that. */
function ownFiles(word: string, project: string): string[] {
  if (!isAbsolute(word) || !statSync(word, { throwIfNoEntry: false })?.isFile()) return []
  const file = realpathSync(word)
  if (holds(project, resolve(word)) && !holds(project, file)) return []
  if (file.startsWith('/usr/')) return []
  const installed = file.indexOf('/node_modules/')
  if (installed >= 0) return [file.slice(0, installed + '/node_modules'.length)]
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) if (existsSync(join(at, 'package.json'))) return [at]
  return [file]
}

/** `${NAME}` is a variable of Handrail's own. A project may not take any: what is in them is the person's. */
function fill(
  name: string,
  { ofProject }: Mount,
  value: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, variable: string) => {
    if (ofProject) throw wrong(name, 'stands in a project’s own file, which takes no variables of yours')
    const found = environment[variable]
    if (found === undefined) throw wrong(name, `takes the variable ${variable}, which is not set`)
    return found
  })
}

/** What signs in does not cross a network that anybody reads. */
function mustBeSafe(name: string, url: string): string {
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '')
    throw wrong(name, 'has a name and password in its address: put what signs in into `headers`')
  if (protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return url
  throw wrong(name, 'is reached by https, unless it is on this machine')
}

const wrong = (name: string, what: string): Fault =>
  new Fault('bad-input', `The mount ${name} ${what}`, { hint: 'Correct its entry in the setting mounts (docs/guide/mounts.md).' })
