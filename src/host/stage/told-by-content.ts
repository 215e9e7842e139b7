import { readFileSync, statSync } from 'node:fs'

/** Git keeps its settings, and those of submodules and worktrees; what else lies there holds no credentials, and names nobody chose. */
export function gitFolder(names: readonly string[], name: string): 'git' | undefined {
  const inside = names.slice(names.lastIndexOf('.git') + 1)
  if (inside.length === 0) return name === 'modules' || name === 'worktrees' ? 'git' : undefined
  return notSettings.has(name) ? undefined : 'git'
}

const notSettings = new Set(['objects', 'refs', 'logs', 'hooks', 'info', 'lfs', 'branches', 'rebase-merge', 'rebase-apply'])

export function gitFiles(name: string): 'hidden' | 'read' | undefined {
  if (name === 'credentials') return 'hidden'
  return name === 'config' || name === 'config.worktree' ? 'read' : undefined
}

/** Larger settings of git are nobody's. */
const largestConfig = 1_048_576
const largestCertificates = 2_097_152

/** Git's settings as programs may read them; nothing where they hold no credentials. What cannot be read is empty. */
export function withoutCredentials(at: string, path: string): string | undefined {
  try {
    const text = statSync(at).size > largestConfig ? undefined : readFileSync(at, 'utf8')
    if (text === undefined) return `# ${path} is larger than Handrail reads, and left out\n`
    const clean = scrubGitConfig(text)
    return clean === text ? undefined : clean
  } catch {
    return ''
  }
}

/** Takes user names and passwords out of addresses, and the values of what names a password, a token or a header. */
export function scrubGitConfig(text: string): string {
  if (!/:\/\/[^/\s"]*@|pass|token|secret|header|cookie/i.test(text)) return text
  return text
    .replace(/\\\r?\n/g, '')
    .replace(/\b(?!ssh:)([a-z][a-z\d+.-]*:\/\/)[^/\s"@]*(?:@[^/\s"@]*)*@/gi, '$1')
    .replace(/\b(ssh:\/\/[^/\s"@:]*):[^/\s"]*@/gi, '$1@')
    .replace(/((?:^|\])[ \t]*[a-z\d-]*(?:pass|token|secret|extraheader|cookie)[a-z\d-]*[ \t]*=)[^\n]*/gim, '$1')
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
