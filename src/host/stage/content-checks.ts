import { hash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { filteredGitConfig, withoutLogins } from './git-config-filter.ts'
import { otherVcsSettings, shownVcsSettings } from './other-vcs-settings.ts'

/** Where git keeps its settings, those of submodules and worktrees, the addresses it took something from, and passwords. */
export function gitSettings(name: string): 'hidden' | 'read' | undefined {
  if (name.startsWith('config') || name === 'FETCH_HEAD' || name === '.gitmodules') return 'read'
  return name === 'credentials' ? 'hidden' : undefined
}

/** Folders of git in which every file may hold an address. */
export const withAddresses: ReadonlySet<string> = new Set(['logs', 'branches', 'remotes'])

/** Files of git that hold no credentials. What is not among them was put there by somebody: settings to include, a login. */
const gitsOwn =
  /^(?:[A-Z][A-Z_]*|description|index.*|sharedindex\..*|packed-refs.*|shallow|commondir|gitdir|locked|gc\.(?:log|pid)|ADD_EDIT\.patch|addp-hunk-edit\.diff|fsmonitor--daemon.*|(?!config|credentials).*\.lock|tmp_.*)$/
const holdingRepositories = new Set(['modules', 'worktrees', 'annex'])
const ofOthers = new Set(['objects', 'refs', 'hooks', 'info', 'lfs', 'rebase-merge', 'rebase-apply'])

export function gitFiles(names: readonly string[], name: string): 'hidden' | 'read' | undefined {
  const inside = names.slice(names.lastIndexOf('.git') + 1)
  const isStrict =
    inside.length === 0 || (holdingRepositories.has(inside[0] as string) && !inside.some((one) => ofOthers.has(one)))
  return gitSettings(name) ?? (isStrict && !gitsOwn.test(name) ? 'hidden' : undefined)
}

/** What git writes itself all the time, and never back to what it was: a fetch that found nothing new leaves the same words. */
export function isAppended(path: string): boolean {
  return path.endsWith('/FETCH_HEAD') || path.split('/').includes('logs')
}

/** What a file of settings or certificates holds, as one word; of one that is too large, nothing. */
export function digestOf(at: string | Buffer): string {
  try {
    return statSync(at).size > largestCertificates ? '' : hash('sha256', readFileSync(at))
  } catch {
    return ''
  }
}

/** Larger settings of git are nobody's; logs grow. */
const largestConfig = 1_048_576
const largestLog = 8_388_608
const largestCertificates = 2_097_152

/** A file of git, or of its kin, as programs may read it; nothing where it holds no credentials. What cannot be read is empty. */
export function withoutCredentials(at: string | Buffer, path: string): string | undefined {
  try {
    const isConfig = path.slice(path.lastIndexOf('/') + 1).startsWith('config')
    const isOtherVcs = otherVcsSettings(path.split('/')) === 'read'
    const text = statSync(at).size > (isConfig || isOtherVcs ? largestConfig : largestLog) ? undefined : readFileSync(at, 'utf8')
    if (text === undefined) return isConfig ? `# ${path} is larger than Handrail reads, and left out\n` : ''
    // A branch may be called as the settings are; its log begins with two states.
    const isLog = path.split('/').includes('logs') && /^[\da-f]{40,64} [\da-f]{40,64} /.test(text)
    const clean = isOtherVcs ? shownVcsSettings(text) : isConfig && !isLog ? filteredGitConfig(text) : withoutLogins(text)
    return clean === text ? undefined : clean
  } catch {
    return ''
  }
}

/** Certificates are there to be read: programs need them to know whom they talk to. */
export function isOnlyCertificates(at: string | Buffer, size: number): boolean {
  try {
    if (size > largestCertificates) return false
    const text = readFileSync(at, 'latin1')
    return text.includes('-----BEGIN CERTIFICATE-----') && !/PRIVATE/i.test(text)
  } catch {
    return false
  }
}
