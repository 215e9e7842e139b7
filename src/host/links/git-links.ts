import { lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { MadeLink } from '../../contracts/links.ts'
import { readSmall } from '../small-file.ts'

const longestConfig = 65_536
const mostHooks = 1_000

/**
 * What git runs or reads of the project's own files: hooks that are links into it, and what its settings name, told as if links in `.git`
 * led there. Read again where anything about either has changed.
 */
export function gitLinks(root: string): () => readonly MadeLink[] {
  let seen = ''
  let links: readonly MadeLink[] = []
  return () => {
    const config = join(root, '.git', 'config')
    const hooks = join(root, '.git', 'hooks')
    const now = `${stampOf(config)} ${stampOf(hooks)}`
    if (now !== seen || now.includes('fresh')) links = [...namedByConfig(config), ...linkedHooks(hooks)]
    seen = now
    return links
  }
}

function stampOf(at: string): string {
  try {
    const stat = lstatSync(at, { throwIfNoEntry: false })
    // What changed this moment may change again within the same tick.
    const fresh = stat && Date.now() - stat.ctimeMs < 50 ? 'fresh' : ''
    return stat ? `${stat.ino} ${stat.size} ${stat.ctimeMs} ${fresh}` : 'none'
  } catch {
    return 'none'
  }
}

/** Settings of git that name a file of more settings, a folder of hooks, or programs. */
const naming =
  /^\s*(path|hookspath|fsmonitor|sshcommand|pager|editor|external|textconv|clean|smudge|process|driver|helper|program|askpass|command|cmd)\s*=\s*(.+)$/i

function namedByConfig(config: string): MadeLink[] {
  try {
    return (readSmall(config, longestConfig) ?? '')
      .split('\n')
      .flatMap((line) => linksOf(line))
      .slice(0, mostHooks)
  } catch {
    return []
  }
}

/** As links from `.git` into the project: to the folder of hooks, to more settings (told from `.git` on), to programs (from the project on). */
function linksOf(line: string): MadeLink[] {
  const [, key = '', value = ''] = naming.exec(line) ?? (/=\s*"?!/.test(line) ? [line, 'alias', line.replace(/^.*?!/, '')] : [])
  if (key === '' || value.trim().startsWith('~')) return []
  const from = key.toLowerCase() === 'path' ? '' : '../'
  const path = key.toLowerCase() === 'hookspath' ? '.git/hooks' : `.git/${key.toLowerCase()}`
  return value
    .split(/[\s"'`;|&()]+/)
    .filter((word) => /^[\w.@+-]*[./]/.test(word))
    .map((word) => ({ path, target: word.startsWith('/') ? word : from + word }))
}

function linkedHooks(hooks: string): MadeLink[] {
  try {
    return readdirSync(hooks, { withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .slice(0, mostHooks)
      .map(({ name }) => ({ path: `.git/hooks/${name}`, target: readlinkSync(join(hooks, name)) }))
  } catch {
    return []
  }
}
