import { Fault } from '../contracts/faults/fault.ts'
import { foldName, foldPath } from '../text/fold-name.ts'
import { isInRoot, namesOn, rootMark } from '../text/root-path.ts'
import { secretAt, secretStems } from '../text/secret-files.ts'
import { isSecretGranted } from './secret-grants.ts'

/** Names no tool may reach, whatever the policy says: our own state and settings, also while they do not exist. */
const reserved = ['.handrail', 'handrail.config.json']
const temporary = '.handrail-'

/** What other version controls keep as `.git` does: settings that run programs, and secrets. */
const kin = ['.hg', '.sl', '.jj', '.svn', '.bzr', '.pijul', '_darcs']

/** Who names `.git` in a list of folders means those of other version controls as well. */
export function withKinOfGit(names: readonly string[]): string[] {
  return names.some((name) => foldName(name) === '.git') ? [...new Set([...names, ...kin])] : [...names]
}

/** Of what is forbidden, the folders that nobody follows: git's own are read apart, and packages are not written by agents. */
const unfollowed = new Set(['.git', 'node_modules', ...kin])

/**
 * Rules for whoever looks which files start others, and where links lead. What the settings forbid to tools does both as before: to look
 * away from it would let a setting that tightens take questions away.
 */
export function followingRules(forbidden: readonly string[]): PathRules {
  return pathRules(
    forbidden.filter((name) => unfollowed.has(foldName(plainly(name)))),
    [],
    false,
  )
}

/** Whether a name is ours, whoever asks and whatever is set: nobody can make it visible or reachable. */
export function isReserved(name: string): boolean {
  const folded = foldName(name)
  return reserved.includes(folded) || folded.startsWith(temporary)
}

/** A file that is about to take the place of another, as the journal names it. */
export function isTemporary(name: string): boolean {
  return /^\.handrail-[\da-f]{16}\.tmp$/.test(name)
}

/** Longest chain of folders that is followed. */
export const deepest = 128

export interface PathRules {
  /** The folder every path must lie in, as names below the root; empty is the root itself. */
  readonly within: readonly string[]
  readonly roots: PathRoots
  /** Paths that were split and found in order; it is a matter of words, so it holds until what is behind links is another. */
  readonly known: Map<string, readonly string[]>
  /** Says why the last name of this path is out of reach, or nothing. */
  refuse(names: readonly string[]): string | undefined
  /** The same by the name alone, whatever a link leads to. */
  refuseByName(names: readonly string[]): string | undefined
  /** Whether what a file holds is looked at too, for secrets that no name tells. */
  readonly secrets: boolean
  /** What links that are called like secrets lead to, as folded paths: as secret as its other name. Told by who follows the links. */
  hideBehind(places: ReadonlySet<string>): void
  /** What the last name of this path holds, where it is a secret. */
  secretAt(names: readonly string[]): string | undefined
}

/** Where paths may lead besides the project, and how they may be written. */
export interface PathRoots {
  /** Further roots by name, each with its absolute path. Of others nobody learns that they are there. */
  readonly further?: ReadonlyMap<string, string>
  /** The project as an absolute path, where paths below a root may be written absolute. */
  readonly absolute?: string | undefined
  /** Says which folder of the system a path is or lies in, where those are out of reach. */
  readonly system?: (names: readonly string[]) => string | undefined
}

/**
 * Compiles what is forbidden once: a name is forbidden at any depth, a path such as `game/private` from the root on, and names
 * that hold secrets wherever they are. Only what puts a killed process's change right goes without the last.
 */
export function pathRules(
  forbidden: readonly string[],
  within: readonly string[] = [],
  secrets = true,
  roots: PathRoots = {},
): PathRules {
  const names = new Map<string, string>()
  const paths = new Map<string, string>()
  for (const one of [...reserved, ...forbidden]) {
    const plain = plainly(one)
    if (plain.includes('/')) paths.set(foldPath(plain), one)
    else names.set(foldName(plain), one)
  }
  const long = [...names.keys(), ...[...paths.keys()].flatMap((path) => path.split('/')), ...(secrets ? secretStems : [])]
  const shortNames = new Set(long.map(shortNameOf))
  const known: PathRules['known'] = new Map()
  let behind: ReadonlySet<string> = new Set()
  const secretOf = (path: readonly string[]): string | undefined => (secrets ? (secretAt(path) ?? secretBehind(path)) : undefined)
  const secretBehind = (path: readonly string[]): string | undefined =>
    behind.size > 0 && behind.has(path.map(foldName).join('/')) ? 'what a link with the name of a secret leads to' : undefined
  const refuseByName: PathRules['refuse'] = (path) => {
    const folder = roots.system?.(path)
    if (folder !== undefined) return `it lies in ${folder}, a folder of the system`
    const secret = secrets ? secretAt(path) : undefined
    if (secret !== undefined) return `it holds ${secret}`
    const folded = foldName(path.at(-1) ?? '')
    const hit = names.get(folded) ?? (paths.size && path.length > 1 ? paths.get(path.map(foldName).join('/')) : undefined)
    if (hit !== undefined) return `"${hit}" is out of reach of tools`
    if (folded.startsWith(temporary)) return 'it is a temporary file of Handrail'
    if (folded.includes('~')) {
      const short = /^([^.~]{1,6})~\d+(\.[^.]{0,3})?$/.exec(folded)?.[1]
      if (short !== undefined && (shortNames.has(short) || (secrets && folded.endsWith('.kdb'))))
        return 'it is a short name of a forbidden one'
    }
    return undefined
  }
  return {
    within,
    roots,
    known,
    secrets,
    refuseByName,
    refuse(path) {
      const secret = secrets ? secretBehind(path) : undefined
      return secret === undefined ? refuseByName(path) : `it is ${secret}`
    },
    secretAt: secretOf,
    hideBehind(places) {
      if (behind.size + places.size > 0) known.clear()
      behind = places
    },
  }
}

/** What begins with the name of a root keeps it: it is forbidden there. */
const plainly = (name: string): string => name.replace(isInRoot(name) ? /\/+$/ : /^(\.?\/)+|\/+$/g, '')

/** What Windows makes of a long name: six characters of it before the `~1`. */
function shortNameOf(name: string): string {
  return name
    .replace(/^\.+/, '')
    .replace(/\.[^.]*$/, '')
    .replace(/[. ]/g, '')
    .slice(0, 6)
}

const mostKnown = 4_096

/** Splits a relative path into its names, or says why it may not be used. Nothing here looks at the disk. */
export function splitPath(path: string, rules: PathRules): readonly string[] {
  const known = rules.known.get(path)
  if (known) return known
  const names = checkPath(path, rules)
  // What a person lets one session through to is known to no other.
  if (isSecretGranted(names.join('/'))) return names
  if (rules.known.size >= mostKnown) rules.known.clear()
  rules.known.set(path, names)
  return names
}

/** A path that may not be used, and why. */
export class PathDenied extends Fault {
  readonly why: string
  constructor(path: string, why: string, hint?: string) {
    super('path-denied', `Path not allowed: ${why}`, {
      details: { path: path.length > 300 ? `${path.slice(0, 300)}…` : path },
      hint: hint ?? 'Use a path relative to the project root with forward slashes, e.g. "docs/notes.md".',
    })
    this.why = why
  }
}

function checkPath(given: string, rules: PathRules): readonly string[] {
  const { root, path } = inItsRoot(given, rules.roots)
  const deny = (why: string, hint?: string): PathDenied => new PathDenied(root === undefined ? path : given, why, hint)
  if (path.length > 4_096) throw deny('it is longer than 4096 characters')
  if (path.startsWith('/')) throw deny('it is absolute')
  if (/[\u0000-\u001f\u007f]/.test(path)) throw deny('it holds a control character')
  if (path.includes('\\')) throw deny('it holds a backslash')
  if (/^[a-z]:/i.test(path)) throw deny('it names a drive')
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) throw deny('it is a URL')
  if (!path.isWellFormed()) throw deny('it is not well-formed Unicode')
  if (/[\u202a-\u202e\u2066-\u2069]/.test(path)) throw deny('it holds characters that change the reading direction')
  const below = path.split('/').filter((name) => name !== '' && name !== '.')
  const names = root === undefined ? below : [root, ...below]
  if (root === undefined && rules.within.some((name, index) => names[index] !== name))
    throw deny(
      `tools may only enter ${rules.within.join('/')}/ (policies.sandboxRoot)`,
      `Use a path below ${rules.within.join('/')}/.`,
    )
  const system = rules.roots.system?.(names)
  if (system !== undefined) throw deny(`it lies in ${system}, a folder of the system`)
  if (below.length > deepest) throw deny(`it is more than ${deepest} folders deep`)
  below.forEach((name, index) => {
    if (index === 0 && name === '~') throw deny('"~" is not expanded')
    if (name.length > 63 && Buffer.byteLength(name) > 255) throw deny('one of its names is longer than 255 bytes')
    if (climbs(name)) throw deny('it climbs out with ".."')
    const here = names.slice(0, names.length - below.length + index + 1)
    const why = rules.refuse(here)
    if (!why) return
    const secret = rules.secretAt(here) !== undefined
    if (secret && isSecretGranted(names.join('/'))) return
    throw deny(why, secret ? letThroughHint(names) : 'No spelling of it is let in: do without it, or ask the person.')
  })
  return names
}

/** A path as it is written down, whether or not it may be used: for whoever looks it up among what was written down. */
export function asWritten(given: string, { roots }: PathRules): string {
  const { root, path } = inItsRoot(given, roots)
  return root === undefined ? path : [root, ...path.split('/').filter((name) => name !== '' && name !== '.')].join('/')
}

/** The root that a path names or, where it is written absolute, lies in, and the path as seen from there; any other as it is. */
function inItsRoot(path: string, { further, absolute }: PathRoots): { root?: string; path: string } {
  if (!path.startsWith('/')) return { path }
  if (isInRoot(path)) {
    const [root = '', ...names] = namesOn(path)
    return further?.has(root.slice(rootMark('').length)) ? { root, path: names.join('/') } : { path }
  }
  if (absolute === undefined) return { path }
  const below = (folder: string): string | undefined =>
    path === folder || path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined
  const own = below(absolute)
  if (own !== undefined) return { path: own }
  for (const [name, folder] of further ?? []) {
    const inside = below(folder)
    if (inside !== undefined) return { root: rootMark(name), path: inside }
  }
  return { path }
}

/** How a person lets one be read, for those who may tell them. */
export function letThroughHint(names: readonly string[]): string {
  return `Do without it: ask the person for what you need to know of it. They can let this session read it, if you tell them its id (details.session): handrail grants allow secret ${names.join('/').slice(0, 300)} --session ID`
}

/** Whether a name is dots or holds a separator after the decodings that other programs apply: `%2e%2e`, full-width dots. */
function climbs(name: string): boolean {
  if (/^\.+$/.test(name)) return true
  if (/^[\w .-]*$/.test(name)) return false
  const spelled = name
    .replace(/%2e/gi, '.')
    .replace(/%(2f|5c)/gi, '/')
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return /^\.+$/.test(spelled) || /[/\\]/.test(spelled)
}
