import { foldName, foldPath } from '../contracts/names.ts'
import type { WorldPort } from './ports.ts'

type World = Pick<WorldPort, 'stands' | 'read'>

/** What git looks for in a folder to take it for a repository, and what it then runs programs from. */
const makes = ['head', 'objects', 'refs', 'commondir']
const parts = new Set([...makes, 'config', 'config.worktree', 'hooks'])

/**
 * Those of the paths that would lie in a bare repository once all of them are written: git takes any folder with HEAD, objects
 * and refs for one, and does what its settings say.
 */
export function wouldBeRepository(world: World, paths: readonly string[]): string[] {
  const judged = new Map<string, boolean>()
  const stands = (path: string): boolean =>
    paths.some((one) => one === path || one.startsWith(`${path}/`)) || isThere(world, path)
  const isRepository = (folder: string): boolean => {
    const at = folder === '' ? '' : `${folder}/`
    const known =
      judged.get(folder) ?? (stands(`${at}HEAD`) && (stands(`${at}commondir`) || (stands(`${at}objects`) && stands(`${at}refs`))))
    judged.set(folder, known)
    return known
  }
  return paths.filter((path) => {
    const names = path.split('/')
    return names.some((name, index) => parts.has(foldName(name)) && isRepository(names.slice(0, index).join('/')))
  })
}

/** Files that start others with no further act of the person: what they name is as good as they are. */
const starters: Record<string, readonly string[]> = {
  '.vscode': ['tasks.json', 'settings.json', 'mcp.json'],
  '.claude': ['settings.json', 'settings.local.json'],
  '.cursor': ['mcp.json', 'hooks.json'],
  '.codex': ['config.toml', 'hooks.json'],
  '.gemini': ['settings.json'],
  '.qwen': ['settings.json'],
  '.zed': ['tasks.json', 'settings.json'],
  '.windsurf': ['hooks.json', 'mcp_config.json'],
  '.roo': ['mcp.json'],
  '.kiro': ['settings/mcp.json'],
  '': ['.mcp.json', 'opencode.json', '.mise.toml', 'mise.toml', 'devbox.json'],
}
const longestStarter = 65_536

/** Every path that one of these names, and which one does; a bounded look at a few files. */
export function namedByOthers(world: World, leadsTo: (path: string) => string): ReadonlyMap<string, string> {
  const named = new Map<string, string>()
  for (const [folder, files] of Object.entries(starters)) {
    if (folder !== '' && !isThere(world, folder)) continue
    for (const file of files) {
      const path = folder === '' ? file : `${folder}/${file}`
      const at = leadsTo(path)
      if (isThere(world, at)) for (const word of wordsOf(textAt(world, at))) if (!named.has(word)) named.set(word, path)
    }
  }
  return named
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
