import { fstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import { openStateFolder, stateFault, type StateFolder } from './state-folder.ts'
import type { Root } from './walk.ts'
import { sha256 } from './files.ts'

/** Who says where state is kept: the person, by flag or variable. Never a project. */
export interface StateAsked {
  state?: string | undefined
  environment: Record<string, string | undefined>
}

/** The folder below which the state of all projects of this user lies. Relative values of XDG_STATE_HOME are ignored, as its specification says. */
export function stateBase({ state, environment }: StateAsked): string {
  if (state === '') throw new Fault('bad-input', '--state names no folder', { hint: 'Give a folder outside the project.' })
  const wanted = state ?? (environment['HANDRAIL_STATE'] || undefined)
  if (wanted !== undefined) return resolve(wanted)
  const xdg = environment['XDG_STATE_HOME'] ?? ''
  return isAbsolute(xdg) ? join(xdg, 'handrail') : join(homeOf(environment), '.local', 'state', 'handrail')
}

/** The home folder of who started us; what the system knows of them where no variable says it. */
export function homeOf(environment: Record<string, string | undefined>): string {
  const named = environment['HOME'] ?? ''
  if (isAbsolute(named)) return named
  const known = [homedir(), userInfo().homedir].find((one) => isAbsolute(one))
  if (known !== undefined) return known
  throw new Fault('io', 'This user has no home folder for the state of Handrail', {
    hint: 'Give a folder with --state DIR or HANDRAIL_STATE.',
  })
}

/** Opens the base, made where it is missing. It and the project may not lie in each other: state is out of every project's reach. */
export function openStateBase(path: string, project: Pick<Root, 'path' | 'fd'>): StateFolder {
  const real = willBe(path)
  const where = whereItLies(real, project)
  if (where === 'inside') throw apart(`it lies in the project ${project.path}`, real)
  if (where === 'around') throw apart(`the project ${project.path} lies in it`, real)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw stateFault(path, cause)
  }
  return openStateFolder(path)
}

/** Whether a path lies in an opened folder or around it, by whatever names; nothing where they are apart. */
export function whereItLies(real: string, folder: Pick<Root, 'path' | 'fd'>): 'inside' | 'around' | undefined {
  if (isWithin(real, folder.path) || holds(fstatSync(folder.fd), real)) return 'inside'
  const there = statIfReached(real)
  return isWithin(folder.path, real) || (there && holds(there, folder.path)) ? 'around' : undefined
}

/** The name of a project's folder: readable, and one for each real path. */
export function projectFolderName(project: string): string {
  const name = basename(project).normalize('NFC')
  // Most names are plain, and need no tables of Unicode to be found so.
  const others = /^[ -~]*$/.test(name) ? /[^\w-]+/g : /[^\p{L}\p{N}_-]+/gu
  const slug = name.replace(others, '-').replace(/^-+|-+$/g, '')
  const digest = sha256(project).slice(0, 16)
  return `${[...slug].slice(0, 32).join('') || 'project'}-${digest}`
}

/** The real path a name will have once it is made. */
export function willBe(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(willBe(parent), basename(path))
  }
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

/** The path below a folder that a file has or would have, as a list of at most one. */
export function namesWithin(file: string, folder: string): string[] {
  const real = willBe(file)
  return real !== folder && isWithin(real, folder) ? [relative(folder, real).split(sep).join('/')] : []
}

/** Whether a folder is this path or one above it, by whatever name it was reached (a bind mount gives a second one). */
function holds(folder: { dev: number; ino: number }, path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    const stat = statIfReached(at)
    if (stat && stat.dev === folder.dev && stat.ino === folder.ino) return true
    if (at === dirname(at)) return false
  }
}

/** Nothing where it is missing, or somebody does not let us look. */
export function statIfReached(path: string): { dev: number; ino: number } | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function apart(why: string, base: string): Fault {
  return new Fault('bad-input', `Handrail's state cannot be kept in ${base}: ${why}`, {
    details: { state: base },
    hint: 'What agents can reach must not hold tokens and approvals. Give a folder outside the project with --state DIR.',
  })
}
