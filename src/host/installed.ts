import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { holds, bindRulesOf } from './stage/bind-rules.ts'
import { programParts } from './toolchain.ts'

/** A program of this machine, and what a stage must show for it to run. */
export interface Installed {
  file: string
  reads: readonly string[]
}

/** What can be found on this machine for a program to be run. */
export interface Programs {
  readonly home: string
  find(name: string): Installed | undefined
  /** A command that the project's own packages bring. */
  ofProject(name: string): string | undefined
  /** Which of these files below the person's home are there. */
  homeFiles(names: readonly string[]): string[]
  /** The long words in such files: what a sign-in consists of. */
  secretsIn(names: readonly string[]): string[]
  /** The values of fields of settings that are named like a key. */
  keysIn(names: readonly string[]): string[]
}

const mostSecrets = 64

export interface Machine {
  path: string
  home: string
  project: string
}

export function openPrograms(machine: Machine): Programs {
  const { home, project } = machine
  const homeFiles = (names: readonly string[]): string[] =>
    names.filter((name) => statSync(join(home, name), { throwIfNoEntry: false })?.isFile())
  return {
    home,
    find(name) {
      const [found] = inPath(name, machine)
      return found === undefined ? undefined : asInstalled(found, machine)
    },
    ofProject(name) {
      const file = join(project, 'node_modules', '.bin', name)
      return existsSync(file) ? file : undefined
    },
    homeFiles,
    secretsIn: (names) =>
      homeFiles(names)
        .flatMap((name) => readFileSync(join(home, name), 'utf8').match(/[\w.+/=-]{20,}/g) ?? [])
        .slice(0, mostSecrets),
    keysIn: (names) =>
      homeFiles(names)
        .flatMap((name) => keysWithin(readFileSync(join(home, name), 'utf8')))
        .slice(0, mostSecrets),
  }
}

/** `"apiKey": "…"`, `token = …`, `Authorization: Bearer …`: in JSON, TOML, YAML and the like, with or without quotes. */
const keyField =
  /(?:key|token|secret|passw|auth|credential|bearer)[\w.-]*["']?\s*[:=]\s*(?:"([^"\n]{8,})"|'([^'\n]{8,})'|([^\s"',{}[\]#][^"',{}[\]#\n]{7,}))/gi

function keysWithin(text: string): string[] {
  const values = [...text.matchAll(keyField)].map(([, double, single, bare]) => (double ?? single ?? bare ?? '').trim())
  // Of `Bearer …` what follows, too: it may be printed without.
  return values.flatMap((value) => [value, ...value.split(/\s+/).filter((word) => word !== value && word.length >= 8)])
}

/** Executables of a name in the order of the PATH. What lies in the project is left out: an agent may have put it there. */
export function inPath(name: string, { path, project }: Pick<Machine, 'path' | 'project'>): string[] {
  const folders = new Set([...path.split(':'), '/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'])
  return [...folders]
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .filter((file) => {
      try {
        accessSync(file, constants.X_OK)
        return statSync(file).isFile() && !holds(project, file) && !holds(project, realpathSync(file))
      } catch {
        return false
      }
    })
}

/** By its real path: what lies behind links would not be found on a stage. */
function asInstalled(found: string, machine: Machine): Installed {
  const file = realpathSync(found)
  const bindRules = bindRulesOf({ HOME: machine.home }, machine.project)
  const reads = [file, ...interpreterOf(file)].flatMap((one) => programParts(one, bindRules))
  return { file, reads: [...new Set(reads)] }
}

/** The program a script names in its first line: `#!/home/me/.venv/bin/python`. `env` looks on the stage's own PATH. */
function interpreterOf(file: string): string[] {
  const interpreter = /^#! *(\/\S+)/.exec(firstBytes(file))?.[1]
  return interpreter !== undefined && existsSync(interpreter) ? [interpreter, realpathSync(interpreter)] : []
}

function firstBytes(file: string): string {
  const fd = openSync(file, constants.O_RDONLY)
  try {
    const bytes = Buffer.alloc(256)
    return bytes.toString('latin1', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}
