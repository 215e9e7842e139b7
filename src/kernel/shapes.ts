import type { KnownLinks } from '../contracts/links.ts'
import { foldName, foldPath } from '../contracts/names.ts'
import type { Steps } from '../contracts/steps.ts'
import type { WorldPort } from './ports.ts'

type World = Pick<WorldPort, 'stands' | 'read'>

/** What git looks for in a folder to take it for a repository, and what it then runs programs from. */
const makes = ['head', 'objects', 'refs', 'commondir']
const parts = new Set([...makes, 'config', 'config.worktree', 'hooks'])

/**
 * Those of the paths that would lie in a bare repository once all of them are written: git takes any folder with HEAD, objects
 * and refs for one, and does what its settings say.
 */
export function* wouldBeRepository(world: World, paths: readonly string[]): Steps<string[]> {
  const judged = new Map<string, boolean>()
  const coming = new Set<string>()
  for (const path of paths) {
    // With every folder on the way to it.
    for (let at = path; at !== '' && !coming.has(at); at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) coming.add(at)
    yield
  }
  const stands = (path: string): boolean => coming.has(path) || isThere(world, path)
  const isRepository = (folder: string): boolean => {
    const at = folder === '' ? '' : `${folder}/`
    const known =
      judged.get(folder) ?? (stands(`${at}HEAD`) && (stands(`${at}commondir`) || (stands(`${at}objects`) && stands(`${at}refs`))))
    judged.set(folder, known)
    return known
  }
  const found: string[] = []
  for (const path of paths) {
    const names = path.split('/')
    if (names.some((name, index) => parts.has(foldName(name)) && isRepository(names.slice(0, index).join('/')))) found.push(path)
    yield
  }
  return found
}

const hooks = ['pre-commit', 'pre-push', 'commit-msg', 'prepare-commit-msg', 'post-commit', 'post-checkout', 'post-merge']

/** Files that start others on an everyday act or with none at all: what they name is as good as they are. */
const starters: Record<string, readonly string[]> = {
  '.vscode': ['tasks.json', 'settings.json', 'mcp.json'],
  '.claude': ['settings.json', 'settings.local.json'],
  '.cursor': ['mcp.json', 'hooks.json', 'environment.json', 'worktrees.json'],
  '.codex': ['config.toml', 'hooks.json'],
  '.gemini': ['settings.json'],
  '.qwen': ['settings.json'],
  '.zed': ['tasks.json', 'settings.json'],
  '.windsurf': ['hooks.json', 'mcp_config.json'],
  '.roo': ['mcp.json'],
  '.kilocode': ['mcp.json'],
  '.kiro': ['settings/mcp.json'],
  '.amazonq': ['mcp.json'],
  '.devcontainer': ['devcontainer.json'],
  '.husky': hooks,
  '.githooks': hooks,
  '': [
    '.mcp.json',
    'mcp.json',
    'opencode.json',
    '.mise.toml',
    'mise.toml',
    'devbox.json',
    '.devcontainer.json',
    '.pre-commit-config.yaml',
    'lefthook.yml',
    'package.json',
  ],
}
const longestStarter = 65_536

/** Every path that one of these names, and which one does; a bounded look at a few files. */
export function namedByOthers(world: World, { leadsTo, mayStand }: KnownLinks): ReadonlyMap<string, string> {
  const named = new Map<string, string>()
  for (const [folder, files] of Object.entries(starters)) {
    if (folder !== '' && !mayStand(folder)) continue
    for (const file of files) {
      const path = folder === '' ? file : `${folder}/${file}`
      if (folder === '' && !mayStand(file)) continue
      const at = leadsTo(path)
      if (!isThere(world, at)) continue
      const text = textAt(world, at)
      for (const word of wordsOf(path === 'package.json' ? byItself(text) : text)) if (!named.has(word)) named.set(word, path)
    }
  }
  return named
}

/** Of a package only the scripts that run without being asked for: what the others start is everyday code. */
function byItself(text: string): string {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: Record<string, unknown> }
    return Object.entries(scripts ?? {})
      .filter(([name]) => /^(pre|post)?(install|prepare|publish|pack)$|^(prepublishOnly|dependencies)$/.test(name))
      .map(([, script]) => String(script))
      .join('\n')
  } catch {
    return ''
  }
}

/** What could be a path in a settings file: `"./x.sh"`, `${workspaceFolder}/x.sh`, `$DIR/x.sh`, `sh x.sh`. */
function wordsOf(text: string): string[] {
  return text
    .slice(0, longestStarter)
    .replaceAll(/\\\\|\\/g, '/')
    .split(/[\s"'`,;:()[\]{}=|&<>]+/)
    .map((word) => foldPath(word.replace(/^\$\w*/, '').replace(/^(\.?\/)+/, '')))
    .filter((word) => word !== '')
}

function isThere(world: World, path: string): boolean {
  try {
    return world.stands(path)
  } catch {
    return false
  }
}

function textAt(world: World, path: string): string {
  try {
    return world.read(path)?.toString('utf8') ?? ''
  } catch {
    return ''
  }
}
