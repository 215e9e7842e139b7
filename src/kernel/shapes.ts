import { ToolError } from '../contracts/errors.ts'
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

/** Words after which a name may be one in another folder: `cd tools && sh x.sh`. */
const goesElsewhere = /\b(cd|pushd|chdir|cwd|work(ing)?[_-]?dir(ectory)?)\b/i
const goesByOption = /["'\s]-C["'\s]/

export interface NamedBy {
  starter: string
  /** How it is known: the path stands there, its end does in a file that goes to other folders, or nobody can say. */
  how: 'whole' | 'end' | 'unread'
}

/** Tells of a path, folded, which of these names it; a bounded look at a few files. One that is too large may name anything. */
export function namedByOthers(world: World, { leadsTo, mayStand }: KnownLinks): (path: string) => NamedBy | undefined {
  const whole = new Map<string, string>()
  const ends = new Map<string, string>()
  let unread: string | undefined
  for (const [folder, files] of Object.entries(starters)) {
    if (folder !== '' && !mayStand(folder)) continue
    for (const file of files) {
      const path = folder === '' ? file : `${folder}/${file}`
      if (folder === '' && !mayStand(file)) continue
      const at = leadsTo(path)
      if (!isThere(world, at)) continue
      const held = textAt(world, at)
      const text = path === 'package.json' && held !== undefined ? byItself(held) : held
      if (text === undefined || text.length > longestStarter) unread ??= path
      if (text === undefined) continue
      const moves = goesElsewhere.test(text) || goesByOption.test(text)
      for (const word of wordsOf(text)) {
        if (!whole.has(word)) whole.set(word, path)
        const end = moves ? word.replace(/^(\.{0,2}\/)+/, '') : ''
        if (end !== '' && !ends.has(end)) ends.set(end, path)
      }
    }
  }
  const byEnd = (path: string): string | undefined => {
    for (let from = 0; ; from = path.indexOf('/', from) + 1) {
      const found = ends.get(path.slice(from))
      if (found !== undefined || !path.includes('/', from)) return found
    }
  }
  return (path) => {
    const named = whole.get(path)
    if (named !== undefined) return { starter: named, how: 'whole' }
    const ended = ends.size > 0 ? byEnd(path) : undefined
    if (ended !== undefined) return { starter: ended, how: 'end' }
    return unread === undefined ? undefined : { starter: unread, how: 'unread' }
  }
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
function wordsOf(whole: string): string[] {
  const text = whole
    .slice(0, longestStarter)
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  // A `\n` ends a line in JSON, and begins a name in a path of Windows.
  return text.includes('\\') ? [...wordsIn(text), ...wordsIn(text.replaceAll(/\\[nrt]/g, ' '))] : wordsIn(text)
}

function wordsIn(text: string): string[] {
  return text
    .replaceAll(/\\"/g, '"')
    .replaceAll(/[\\/]+/g, '/')
    .split(/[\s"'`,;:()[\]{}=|&<>]+/)
    .map((word) =>
      foldPath(
        word
          .replace(/^\$\w*/, '')
          .replace(/^(\.?\/)+/, '')
          .replace(/\/$/, ''),
      ),
    )
    .filter((word) => word !== '')
}

function isThere(world: World, path: string): boolean {
  try {
    return world.stands(path)
  } catch {
    return false
  }
}

/** Nothing where it is too large to be read. */
function textAt(world: World, path: string): string | undefined {
  try {
    return world.read(path)?.toString('utf8') ?? ''
  } catch (fault) {
    return fault instanceof ToolError && fault.code === 'E_TOO_LARGE' ? undefined : ''
  }
}
