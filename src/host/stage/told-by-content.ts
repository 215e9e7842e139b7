import { readFileSync, statSync } from 'node:fs'
import { shownGitConfig, withoutLogins } from './git-shown.ts'

/**
 * Git keeps its settings, and those of submodules and worktrees, and the addresses it took something from. What else lies in its
 * folders holds no credentials, and names nobody chose.
 */
export function gitFolder(names: readonly string[], name: string): 'git' | 'hidden' | undefined {
  const inside = insideGit(names)
  if (name === 'creds') return 'hidden'
  // A submodule may be called anything.
  if (inside.at(-1) === 'modules' || withAddresses.has(name)) return 'git'
  if (inside.length === 0) return name === 'modules' || name === 'worktrees' || name === 'annex' ? 'git' : undefined
  return notSettings.has(name) && !inside.some((one) => withAddresses.has(one)) ? undefined : 'git'
}

const withAddresses = new Set(['logs', 'branches', 'remotes'])
const notSettings = new Set(['objects', 'refs', 'hooks', 'info', 'lfs', 'rebase-merge', 'rebase-apply'])

/** Files of git that hold no credentials. What it does not know was put there by somebody: settings to include, a login. */
const gitsOwn =
  /^(?:[A-Z][A-Z_]*|description|index.*|sharedindex\..*|packed-refs.*|shallow|commondir|gitdir|locked|gc\.(?:log|pid)|ADD_EDIT\.patch|addp-hunk-edit\.diff|fsmonitor--daemon.*|(?!config|credentials).*\.lock|tmp_.*)$/

export function gitFiles(names: readonly string[], name: string): 'hidden' | 'read' | undefined {
  if (name.startsWith('config') || name === 'FETCH_HEAD') return 'read'
  if (insideGit(names).some((one) => withAddresses.has(one))) return 'read'
  return gitsOwn.test(name) ? undefined : 'hidden'
}

function insideGit(names: readonly string[]): readonly string[] {
  return names.slice(names.lastIndexOf('.git') + 1)
}

/** Larger settings of git are nobody's; logs grow. */
const largestConfig = 1_048_576
const largestLog = 8_388_608
const largestCertificates = 2_097_152

/** A file of git as programs may read it; nothing where it holds no credentials. What cannot be read is empty. */
export function withoutCredentials(at: string, path: string): string | undefined {
  try {
    const isConfig = at.slice(at.lastIndexOf('/') + 1).startsWith('config')
    const text = statSync(at).size > (isConfig ? largestConfig : largestLog) ? undefined : readFileSync(at, 'utf8')
    if (text === undefined) return isConfig ? `# ${path} is larger than Handrail reads, and left out\n` : ''
    // A branch may be called as the settings are; its log begins with two states.
    const isLog = path.split('/').includes('logs') && /^[\da-f]{40,64} [\da-f]{40,64} /.test(text)
    const clean = isConfig && !isLog ? shownGitConfig(text) : withoutLogins(text)
    return clean === text ? undefined : clean
  } catch {
    return ''
  }
}

/** Certificates are there to be read: programs need them to know whom they talk to. */
export function isOnlyCertificates(at: string, size: number): boolean {
  try {
    if (size > largestCertificates) return false
    const text = readFileSync(at, 'latin1')
    return text.includes('-----BEGIN CERTIFICATE-----') && !/PRIVATE/i.test(text)
  } catch {
    return false
  }
}
