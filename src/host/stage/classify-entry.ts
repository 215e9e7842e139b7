import { secretAt, secretOfToolAt, secretsIn } from '../../text/secret-files.ts'
import { isReserved, type PathRules } from '../paths.ts'
import type { Entry } from './entries.ts'
import { otherVcsSettings } from './other-vcs-settings.ts'
import { gitFiles, gitSettings, withAddresses } from './content-checks.ts'

/**
 * How a folder is judged: like any of the project; as one that programs must read to work; as one of the machine outside of the
 * project; as git's own, and in there as names of branches, as addresses of what was taken from where, or as what git stores.
 */
export type Kind = 'plain' | 'visible' | 'outside' | GitKind
type GitKind = 'git' | 'branches' | 'addresses' | 'objects'
const gitKinds: ReadonlySet<Kind> = new Set<GitKind>(['git', 'branches', 'addresses', 'objects'])

/**
 * What an entry of a folder is to a program: hidden, a link behind which something is, to be read first, looked into as such a folder, or
 * nothing of these.
 */
export type EntryClass = 'hidden' | 'behind' | 'read' | Kind | undefined

export interface VisibilityRules {
  rules: PathRules
  /** Names that programs must read to work. */
  visible: readonly string[]
}

/** Of the folder an entry lies in. */
export interface FolderContext {
  kind: Kind
  names: readonly string[]
  /** Whether it is where git keeps a repository, whatever its name is. */
  repository: boolean
}

/** Where git keeps a repository there is a HEAD; a bare one is known by these three. */
export function isRepository({ kind, names }: Omit<FolderContext, 'repository'>, entries: readonly Entry[]): boolean {
  if (kind === 'git' && names.at(-1) === '.git') return true
  const has = (name: string): boolean => entries.some((one) => one.name === name)
  return has('HEAD') && (kind === 'git' || (has('objects') && has('refs')))
}

export function classifyEntry(
  { rules, visible }: VisibilityRules,
  around: FolderContext,
  entry: Pick<Entry, 'name' | 'form'>,
): EntryClass {
  const { kind, names, repository } = around
  const { name, form } = entry
  if (form === 'link') return leadsToSecret(kind, [...names, name]) ? 'behind' : undefined
  // Whoever listens at a socket or a pipe is outside of every stage.
  if (form === 'other') return 'hidden'
  const here = [...names, name]
  const isFolder = form === 'folder'
  if (gitKinds.has(kind)) return classifyInGit(around, name, isFolder, here)
  const otherVcs = otherVcsSettings(here)
  if (otherVcs === 'hidden' || (otherVcs === 'read' && !isFolder)) return otherVcs
  const gits = !isFolder && (repository || name === '.gitmodules') ? gitSettings(name) : undefined
  if (gits) return gits
  if (isFolder && name === '.git' && kind === 'outside') return 'git'
  if (kind !== 'outside' && visible.includes(name) && !isReserved(name))
    return isFolder ? (name === '.git' ? 'git' : 'visible') : undefined
  const hides =
    kind === 'plain' ? rules.refuseByName(here) : (secretAt(here) ?? (kind === 'outside' ? secretOfToolAt(here) : undefined))
  if (hides === undefined) return isFolder ? kind : undefined
  return !isFolder && kind !== 'plain' ? byNameOrContent(name) : 'hidden'
}

/** Names of branches lead nowhere; elsewhere a link is called what it leads to. */
function leadsToSecret(kind: Kind, here: readonly string[]): boolean {
  if (kind === 'branches' || kind === 'addresses' || kind === 'objects') return false
  return secretAt(here) !== undefined || secretsIn(here).length > 0 || (kind === 'outside' && secretOfToolAt(here) !== undefined)
}

/** Certificates are there to be read, and are called like keys. */
function byNameOrContent(name: string): 'read' | 'hidden' {
  return isCertificate(name) ? 'read' : 'hidden'
}

export function isCertificate(name: string): boolean {
  return /\.pem$/i.test(name)
}

/**
 * In git's own folders most names are chosen by nobody, and those of branches, submodules and worktrees by anybody: `fix.env` is a
 * branch there. A name that begins with a dot is none of these.
 */
function classifyInGit(
  { kind, names, repository }: FolderContext,
  name: string,
  isFolder: boolean,
  here: readonly string[],
): EntryClass {
  const secret = secretAt(here) !== undefined
  const dotted = name.startsWith('.')
  if (isFolder) {
    if (dotted && secret) return 'hidden'
    if (kind === 'branches' || kind === 'addresses') return kind
    // By the thousand, and each is named by its hash.
    if (kind === 'objects') return /^[\da-f]{2}$/.test(name) ? undefined : 'objects'
    if (name === 'creds') return 'hidden'
    if (repository && name === 'refs') return 'branches'
    if (repository && withAddresses.has(name)) return 'addresses'
    return name === 'objects' && (repository || names.at(-1) === 'lfs') ? 'objects' : 'git'
  }
  if (kind === 'branches') return dotted && secret ? 'hidden' : undefined
  if (kind === 'addresses') return dotted && secret ? 'hidden' : 'read'
  return secret ? (gitSettings(name) ?? byNameOrContent(name)) : gitFiles(names, name)
}
