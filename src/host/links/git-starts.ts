import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { MadeLink } from '../../contracts/links.ts'
import { foldPath } from '../../text/fold-name.ts'
import { openPace, runInSlices, type Steps } from '../../text/steps.ts'
import { readSmall } from '../small-file.ts'
import { readGitConfig, type GitSetting } from '../stage/git-config.ts'
import { filesIn, isFile, isFolder, namesAt, stampOf } from './found.ts'

/** What git runs by itself: a hook, or the programs its settings name. Names in it count from these folders on. */
export interface GitText {
  path: string
  bases: readonly string[]
  text: string
  /** It is too large to be looked at. */
  unread: boolean
}

export interface GitStarts {
  texts: readonly GitText[]
  /** Files of more settings and folders of hooks, as if links in `.git` led there. */
  links: readonly MadeLink[]
  version: number
}

interface Repository {
  texts: GitText[]
  links: MadeLink[]
  /** Everything that was looked at, as it was. */
  stamps: Map<string, string | undefined>
}

const longestConfig = 1_048_576
const longestHook = 262_144
const mostFiles = 1_000
const mostText = 8_388_608
const mostRepositories = 1_000
const deepestInclude = 10

/** What git starts by these names, and what their managers lay beside them: `pre-commit.legacy`. */
const hookNames =
  /^(?:(?:pre|post)-(?:applypatch|commit|merge-commit|rebase|checkout|merge|push|receive|update|auto-gc|rewrite|index-change)|(?:applypatch|prepare-commit|commit)-msg|update|proc-receive|reference-transaction|push-to-checkout|sendemail-validate|fsmonitor-watchman|p4-[a-z-]+)(?:\.(?!sample$)|$)/

/** Follows what git runs in these folders: with their worktrees and submodules, the settings they include, and their hooks. */
export function openGitStarts(root: string): (folders: ReadonlySet<string>) => Promise<GitStarts> {
  let known = new Map<string, Repository>()
  let found: GitStarts = { texts: [], links: [], version: 0 }
  return async (folders) => {
    const now = new Map<string, Repository>()
    const pace = openPace()
    let same = true
    for (const folder of [...folders].slice(0, mostRepositories)) {
      const before = known.get(folder)
      const isSame = before && [...before.stamps].every(([at, stamp]) => stampOf(at) === stamp)
      now.set(folder, isSame ? before : await runInSlices(readRepository(root, folder)))
      same &&= isSame === true
      if (pace.due()) await pace.turn()
    }
    if (same && now.size === known.size) return found
    known = now
    const all = [...now.values()]
    const left = folders.size > mostRepositories ? [{ path: '.git', bases: [''], text: '', unread: true }] : []
    const texts = [...all.flatMap((one) => one.texts), ...left]
    return (found = { texts, links: all.flatMap((one) => one.links), version: found.version + 1 })
  }
}

function* readRepository(root: string, folder: string): Steps<Repository> {
  const stamps: Repository['stamps'] = new Map()
  const texts: GitText[] = []
  const links: MadeLink[] = []
  const shown = (name: string): string => (folder === '' ? `.git/${name}` : `${folder}/.git/${name}`)
  let size = 0
  let left = false
  const read = (at: string, most = longestConfig): string | undefined => {
    left ||= stamps.size >= mostFiles || size > mostText
    if (left) return undefined
    stamps.set(at, stampOf(at))
    const text = readSmall(at, most)
    size += text?.length ?? 0
    return text
  }
  const list = (at: string, fits?: (name: string) => boolean): string[] => {
    stamps.set(at, stampOf(at))
    const { names, cut } = namesAt(at, fits)
    left ||= cut
    return names
  }
  const add = (name: string, top: string, lies: string, text: string | undefined): void => {
    const bases = [top, lies].flatMap((one) => placeIn(root, one) ?? [])
    if (bases.length || text?.includes(root))
      texts.push({ path: shown(name), bases, text: text ?? '', unread: text === undefined })
  }

  const included = new Set<string>()
  /** Settings, and those they include whatever the condition: it may hold tomorrow. Gives where they say hooks are. */
  const settings = function* (at: string, top: string, name: string, depth = 0): Steps<string[]> {
    yield
    const text = read(at)
    if (text === undefined) {
      if (isFile(at)) add(name, top, top, undefined)
      return []
    }
    const { settings: all } = readGitConfig(text)
    add(name, top, dirname(at), all.map(runs).join('\n'))
    const hooksAt: string[] = []
    for (const { section, key, value = '' } of all) {
      if (section === 'core' && key.toLowerCase() === 'hookspath') hooksAt.push(resolve(top, atHome(value)))
      const isMore = /^include(if)?$/.test(section) && key.toLowerCase() === 'path' && depth < deepestInclude
      const more = resolve(dirname(at), atHome(value))
      if (!isMore || value === '' || included.has(`${top}\0${more}`)) continue
      included.add(`${top}\0${more}`)
      links.push({ path: shown('include'), target: more })
      hooksAt.push(...(yield* settings(more, top, name, depth + 1)))
    }
    return hooksAt
  }
  const hooks = function* (at: string, top: string): Steps<void> {
    for (const name of list(at, (one) => hookNames.test(one))) {
      yield
      const text = read(join(at, name), longestHook)
      // A program made of more than text says nothing to us.
      if (text?.includes('\0') !== true && isFile(join(at, name))) add(`hooks/${name}`, top, at, text)
    }
  }
  const hooksOf = function* (at: readonly string[], top: string): Steps<void> {
    for (const one of new Set(at)) {
      links.push({ path: shown('hooks'), target: one })
      yield* hooks(one, top)
    }
  }
  /** One folder of git, as it counts where `top` is checked out, or wherever its settings say that is. */
  const repository = function* (own: string, given: string, settingsAt: readonly string[]): Steps<void> {
    const said = readGitConfig(read(settingsAt[0] as string) ?? '').settings
    const tree = said.find(({ section, key }) => section === 'core' && key.toLowerCase() === 'worktree')?.value
    const top = tree === undefined ? given : resolve(own, atHome(tree))
    const hooksAt = [join(own, 'hooks')]
    for (const at of settingsAt) hooksAt.push(...(yield* settings(at, top, 'config')))
    yield* hooksOf(hooksAt, top)
    const { names, cut } = filesIn(join(own, 'hooks'))
    left ||= cut
    for (const name of names) links.push({ path: shown(`hooks/${name}`), target: join(own, 'hooks', name) })
  }
  const modules = function* (at: string, depth = 0): Steps<void> {
    left ||= stamps.size >= mostFiles
    if (left || depth > deepestInclude) return
    for (const name of list(at)) {
      yield
      const own = join(at, name)
      if (stampOf(join(own, 'HEAD')) === undefined) {
        yield* modules(own, depth + 1)
        continue
      }
      yield* repository(own, own, [join(own, 'config'), join(own, 'config.worktree')])
      yield* modules(join(own, 'modules'), depth + 1)
    }
  }

  const top = join(root, folder)
  const own = gitFolder(join(top, '.git'), read)
  const common = resolve(own, (read(join(own, 'commondir')) ?? '.').trim())
  yield* repository(common, top, [join(common, 'config'), join(own, 'config.worktree')])
  if (common === own) {
    for (const name of list(join(own, 'worktrees'))) {
      const tree = read(join(own, 'worktrees', name, 'gitdir'))?.trim()
      const top = dirname(resolve(own, tree ?? ''))
      if (tree) yield* hooksOf(yield* settings(join(own, 'worktrees', name, 'config.worktree'), top, 'config'), top)
      yield
    }
    yield* modules(join(own, 'modules'))
  }
  if (left) add('config', top, top, undefined)
  return { texts, links, stamps }
}

/** `.git` may be a file that says where the folder is. */
function gitFolder(at: string, read: (at: string) => string | undefined): string {
  if (isFolder(at)) return at
  const said = /^gitdir:\s*(.+)$/m.exec(read(at) ?? '')?.[1]?.trim()
  return said === undefined ? at : resolve(dirname(at), said)
}

/** What a setting may run: everything but what only says who somebody is, or where something is fetched from. */
function runs({ section, key, value = '' }: GitSetting): string {
  if (/^(branch|user|author|committer|url|include|includeif)$/.test(section)) return ''
  if (section === 'remote' && /^(url|pushurl|fetch|push)$/i.test(key)) return ''
  return /\s/.test(value.trim()) || /[./]/.test(value) ? value : ''
}

const atHome = (path: string): string => path.replace(/^~\//, () => `${homedir()}/`)

/** A folder as a path in the project, folded. */
function placeIn(root: string, at: string): string | undefined {
  const path = relative(root, at)
  return path.startsWith('..') || isAbsolute(path) ? undefined : foldPath(path)
}
