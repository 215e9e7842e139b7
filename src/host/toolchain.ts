import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { holds, whyNotShown, type BindRules } from './stage/bind-rules.ts'

/** The folders of the system, which every program sees as they are. */
const shown = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32)(\/|$)/

/**
 * What it takes to run a program that is installed outside of the system: itself, and its libraries. Never the folder that it
 * happens to stand in: with Node in ~/bin or ~/.local/bin that would be a whole home.
 */
export function nodeParts(bindRules: BindRules): string[] {
  const node = process.execPath
  if (shown.test(node)) return []
  const prefix = dirname(dirname(node))
  const packages = join(prefix, 'lib', 'node_modules')
  const commands = namesIn(dirname(node))
    .map((name) => join(dirname(node), name))
    .filter((file) => isLink(file) && holds(packages, realOf(file)))
  return fit([node, packages, ...commands, join(prefix, 'include', 'node'), ...libraries()], bindRules)
}

/** The same for a Python, by the prefixes that it names itself: of an environment, and of what that was made from. */
export function pythonParts(prefixes: readonly string[], files: readonly string[], bindRules: BindRules): string[] {
  const parts = prefixes
    .filter((prefix) => prefix.startsWith('/') && !shown.test(prefix) && prefix !== '/')
    .flatMap((prefix) => [
      ...namesIn(join(prefix, 'bin'))
        .filter((name) => /^python[\d.]*$/.test(name))
        .map((name) => join(prefix, 'bin', name)),
      // `ssl` is where one that was installed by conda keeps its certificates.
      ...['lib', 'lib64', 'include', 'ssl', 'pyvenv.cfg'].map((name) => join(prefix, name)),
    ])
  return fit([...files.filter((file) => !shown.test(file)), ...parts], bindRules)
}

/** Any other program: the folder it was installed into, or only itself where that folder would show more than the program. */
export function programParts(file: string, bindRules: BindRules): string[] {
  if (shown.test(file)) return []
  const prefix = dirname(dirname(file))
  const wide = prefix.split('/').length <= 2 || bindRules.homes.some((home) => dirname(prefix) === home)
  return fit(wide || whyNotShown(prefix, bindRules) !== undefined ? [file] : [prefix], bindRules)
}

/** What there is of them, and may be shown; what lies in the project is there anyway. */
function fit(paths: readonly string[], bindRules: BindRules): string[] {
  const there = [...new Set(paths)].filter((path) => existsSync(path) && !holds(bindRules.project, path))
  return there.filter((path) => whyNotShown(path, bindRules) === undefined)
}

/** The libraries this very Node runs with, where they are not the system's, under every name they have in their folder. */
function libraries(): string[] {
  const files = [...new Set(readMaps().match(/\/\S+\.so(\.[\d.]+)?$/gm) ?? [])].filter((file) => !shown.test(file))
  return files.flatMap((file) => [
    file,
    ...namesIn(dirname(file))
      .map((name) => join(dirname(file), name))
      .filter((path) => isLink(path) && realOf(path) === file),
  ])
}

function readMaps(): string {
  try {
    return readFileSync('/proc/self/maps', 'utf8')
  } catch {
    return ''
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
