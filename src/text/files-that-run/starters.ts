import { foldName } from '../fold-name.ts'
import { includeRowOf } from './includes.ts'
import { expand } from './match.ts'

/**
 * Files that start others on an everyday act or with none at all: what they name is as good as they are. By the folder they lie in, at
 * any depth, since a folder below can be opened by itself; `*` is every file right in that folder.
 */
const starters: Record<string, string> = {
  '.vscode': 'tasks.json settings.json mcp.json',
  '.claude': 'settings.json settings.local.json',
  '.claude-plugin': '*',
  '.cursor': 'mcp.json hooks.json environment.json worktrees.json',
  '.codex': 'config.toml hooks.json',
  '.gemini': 'settings.json',
  '.qwen': 'settings.json',
  '.zed': 'tasks.json settings.json',
  '.helix': 'languages.toml config.toml',
  '.windsurf': 'hooks.json mcp_config.json',
  '.roo': 'mcp.json',
  '.kilocode': 'mcp.json',
  '.kiro/settings': 'mcp.json',
  '.kiro/hooks': '*',
  '.amazonq': 'mcp.json',
  '.github/hooks': '*',
  hooks: 'hooks.json',
  '.devcontainer': 'devcontainer.json',
  '.idea': '*',
  '.idea/runconfigurations': '*',
  '.run': '*',
  '.husky': '*',
  '.husky/_': '*',
  '.githooks': '*',
  '.git-hooks': '*',
  '.cargo': 'config config.toml',
  '.mise': 'config.toml',
  '.config': 'mise.toml',
  '.config/mise': 'config.toml',
  '': 'handrail.config.json {,.}mcp.json {,.}opencode.json{,c} {,.}mise{,.local}.toml devbox.json .devcontainer.json .envrc .exrc .vimrc .nvimrc .nvim.lua .dir-locals.el .pre-commit-config.{yaml,yml} .pre-commit-hooks.yaml {,.}lefthook{,-local}.{yml,yaml,json,jsonc,toml} .lintstagedrc{,.json,.yaml,.yml,.mjs,.cjs,.js} lint-staged.config.{js,cjs,mjs,ts} {,.}simple-git-hooks.{json,js,cjs,mjs} .huskyrc{,.json,.js,.cjs,.yaml,.yml} .overcommit.yml hk.pkl captainhook.json grumphp.yml{,.dist} .npmrc .yarnrc .yarnrc.yml {,.}bunfig.toml binding.gyp package.json package.json5 package.yaml composer.json cargo.toml pyproject.toml *.code-workspace',
}

/** Files whose parts are started by name: they count as far as somebody calls them. */
const runners: Record<string, string> = {
  make: 'makefile gnumakefile bsdmakefile',
  just: '{,.}justfile',
  task: 'taskfile{,.dist}.{yml,yaml}',
  deno: 'deno.json{,c}',
}

/** What somebody says who calls parts of such files by their names. */
export const callers: Readonly<Record<string, RegExp>> = {
  npm: /\b(?:npm|npx|pnpm|yarn|bunx?|nr|turbo|nx|lerna|wireit|run-[sp])\b/i,
  python: /\b(?:uvx?|poetry|pdm|hatch|rye|poe|pipx?|taskipy)\b/i,
  make: /\b[gb]?make\b/i,
  just: /\bjust\b/i,
  task: /\b(?:go-)?task\b/i,
  deno: /\bdeno\b/i,
  composer: /\bcomposer\b/i,
}

export interface StarterKind {
  /** How many names of its path lie below the folder that what it says counts from. */
  below: number
  /** Only where somebody says so: a key of `callers`. */
  called?: string
  /** What it takes in counts, and nothing else that it says. */
  includes?: true
}

interface Row extends StarterKind {
  folders: readonly string[]
  file: string
}

const rows: readonly Row[] = [
  ...Object.entries(starters).flatMap(([folder, files]) => rowsOf(folder, files)),
  ...Object.entries(runners).flatMap(([called, files]) => rowsOf('', files).map((row): Row => ({ ...row, called }))),
]

function rowsOf(folder: string, files: string): Row[] {
  const folders = folder === '' ? [] : folder.split('/')
  return files
    .split(' ')
    .flatMap(expand)
    .map((file): Row => ({ folders, file, below: folders.length + 1 }))
}

const exact = groupBy(
  rows.filter(({ file }) => !file.startsWith('*')),
  ({ file }) => file,
)
const whole = groupBy(
  rows.filter(({ file }) => file === '*'),
  ({ folders }) => folders.at(-1) ?? '',
)
const endings = rows.filter(({ file }) => file.startsWith('*.'))

function groupBy(given: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const found = new Map<string, Row[]>()
  for (const row of given) found.set(keyOf(row), [...(found.get(keyOf(row)) ?? []), row])
  return found
}

/** Whether a file of this name in these folders starts others. Asked of every name in a project, so mostly one look at a table. */
export function starterAt(folders: readonly string[], name: string): StarterKind | undefined {
  const folded = foldName(name)
  const ends = endings.find(({ file }) => folded.endsWith(file.slice(1)))
  if (ends) return ends
  const byName = exact.get(folded)?.find((row) => endsWith(folders, row.folders))
  const found = byName ?? whole.get(foldName(folders.at(-1) ?? ''))?.find((row) => endsWith(folders, row.folders))
  return found ?? (includeRowOf(name) ? includer : undefined)
}

const includer: StarterKind = { below: 1, includes: true }

/** The folders in which such files lie that a folder of this name is or leads to, from it on; `*` is all that is there. */
export function startersBelow(folders: readonly string[]): string[] {
  return rows.flatMap(({ folders: own, file }) =>
    own.flatMap((_, index) => (endsWith(folders, own.slice(0, index + 1)) ? [[...own.slice(index + 1), file].join('/')] : [])),
  )
}

function endsWith(folders: readonly string[], last: readonly string[]): boolean {
  const from = folders.length - last.length
  return from >= 0 && last.every((one, index) => foldName(folders[from + index] as string) === one)
}

/** One name for each row: for the test that all of them are files that run. */
export function starterNames(): string[] {
  return rows.map(({ folders, file }) => [...folders, file.replace('*', 'x')].join('/'))
}
