import { parse as parseJsonc } from 'jsonc-parser'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { CheckName } from '../../../contracts/diagnostic.ts'
import type { Files } from '../../../host/files.ts'
import type { Attempt } from './on-stage.ts'
import { plainWords, withoutOptions, withoutStarter } from './script-words.ts'

/** The scripts of package.json that make a check, the likeliest first. */
const scriptNames: Readonly<Record<CheckName, readonly string[]>> = {
  typecheck: ['typecheck', 'type-check', 'check-types', 'check:types', 'tsc'],
  lint: ['lint', 'lint:check'],
  test: ['test', 'test:unit'],
}
/** What `npm init` writes. */
const isEmptyTest = (script: string): boolean => /echo .*no test specified/.test(script.slice(0, 500))

interface ToolOfCheck {
  package?: string
  bin?: string
  check: CheckName
  /** Options of a script's that would change what it prints, or keep it running. */
  drops: readonly string[]
  /** What it is run with, given the rest of what a script has for it. */
  runs: (args: string[], at: Place) => string[][]
  /** Whether the project is set up for it. */
  configured: (at: Place) => boolean
}

/** The folder a check is made in, and what of it can be read. */
export interface Place {
  files: Files
  /** From the project root; empty for the root itself. */
  folder: string
}

export const tools: Readonly<Record<string, ToolOfCheck>> = {
  tsc: {
    package: 'typescript',
    bin: 'tsc',
    check: 'typecheck',
    drops: [
      '-w',
      '--watch',
      '--noEmit',
      '--pretty=',
      '--incremental',
      '--composite',
      '--tsBuildInfoFile=',
      '-b',
      '--build',
      '--force',
      '-f',
    ],
    runs: (args, at) => typecheckRuns(args, at),
    configured: (at) => has(at, 'tsconfig.json'),
  },
  eslint: {
    package: 'eslint',
    bin: 'eslint',
    check: 'lint',
    drops: [
      '--fix',
      '--fix-dry-run',
      '--fix-type=',
      '-f=',
      '--format=',
      '-o=',
      '--output-file=',
      '--cache',
      '--color',
      '--no-color',
    ],
    runs: (args) => [['-f', 'json', '-o', '{out}', ...orHere(args)]],
    configured: (at) => ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts'].some((end) => has(at, `eslint.config.${end}`)),
  },
  biome: {
    package: '@biomejs/biome',
    bin: 'biome',
    check: 'lint',
    drops: [
      '--write',
      '--fix',
      '--unsafe',
      '--apply',
      '--apply-unsafe',
      '--reporter=',
      '--reporter-file=',
      '--colors=',
      '--max-diagnostics=',
    ],
    runs([command = 'lint', ...args]) {
      const known = ['lint', 'check', 'ci'].includes(command)
      const rest = orHere(known ? args : [command, ...args])
      const report = ['--reporter=json', '--reporter-file={out}', '--colors=off', '--max-diagnostics=none']
      return [[known ? command : 'lint', ...report, ...rest]]
    },
    configured: (at) => has(at, 'biome.json') || has(at, 'biome.jsonc'),
  },
  oxlint: {
    package: 'oxlint',
    bin: 'oxlint',
    check: 'lint',
    drops: ['--fix', '--fix-suggestions', '--fix-dangerously', '-f=', '--format='],
    runs: (args) => [['-f', 'json', '--ignore-pattern', 'node_modules', ...orHere(args)]],
    configured: (at) => has(at, '.oxlintrc.json') || has(at, 'oxlint.config.ts'),
  },
  vitest: {
    package: 'vitest',
    bin: 'vitest',
    check: 'test',
    drops: ['--watch', '-w', '--ui', '--reporter=', '--outputFile=', '-u', '--update', '--run', '--open', '--standalone'],
    runs: ([command = 'run', ...args]) => {
      const rest = ['run', 'watch', 'dev'].includes(command) ? args : [command, ...args]
      return [['run', '--reporter=json', '--outputFile={out}', '--includeTaskLocation', ...rest]]
    },
    configured: (at) => depends(at, 'vitest') || ['ts', 'mts', 'js', 'mjs'].some((end) => has(at, `vitest.config.${end}`)),
  },
  jest: {
    package: 'jest',
    bin: 'jest',
    check: 'test',
    drops: ['--watch', '--watchAll', '--json', '--outputFile=', '-u', '--updateSnapshot', '--verbose', '--notify'],
    runs: (args) => [['--json', '--outputFile={out}', '--testLocationInResults', ...args]],
    configured: (at) => depends(at, 'jest') || ['js', 'ts', 'mjs', 'cjs', 'json'].some((end) => has(at, `jest.config.${end}`)),
  },
  mocha: {
    package: 'mocha',
    bin: 'mocha',
    check: 'test',
    drops: ['-w', '--watch', '-R=', '--reporter=', '--reporter-option=', '--reporter-options=', '-O='],
    runs: (args) => [['--reporter', 'json', '--reporter-option', 'output={out}', ...args]],
    configured: (at) => depends(at, 'mocha'),
  },
  node: {
    check: 'test',
    drops: ['--watch', '--test', '--test-reporter=', '--test-reporter-destination=', '--test-update-snapshots'],
    runs: (args) => [['--test', '--test-reporter={reporter}', '--test-reporter-destination={out}', ...args]],
    // Without one of the names it looks for, every other runner is tried first and this one finds nothing.
    configured: () => true,
  },
}

export interface CheckPlan {
  attempts: Attempt[]
  /** The script it comes from, where there is one. */
  script?: string
}

/** What is tried for a check, in order: the script of package.json that is called like it, else the tools the project is set up for. */
export function planCheck(check: CheckName, places: readonly Place[]): CheckPlan {
  for (const at of places) {
    const scripts = manifestOf(at)?.['scripts'] as Record<string, unknown> | undefined
    const name = scriptNames[check].find((one) => typeof scripts?.[one] === 'string' && !isEmptyTest(scripts[one] as string))
    if (name === undefined) continue
    const text = scripts?.[name] as string
    return { attempts: [directly(check, text, at) ?? { tool: 'script', shell: text, runs: [[]] }], script: name }
  }
  const [at] = places as [Place]
  const attempts = Object.entries(tools)
    .filter(([, one]) => one.check === check && places.some((place) => one.configured(place)))
    .map(([tool, one]) => attemptOf(tool, one, [], at))
  return { attempts }
}

/** A script that is one plain command of a tool we know is run without a shell, so that the tool can be asked for a report. */
function directly(check: CheckName, script: string, at: Place): Attempt | undefined {
  const words = plainWords(script)
  const [name, ...args] = words ? withoutStarter(words) : []
  const tool = name !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined
  if (name === undefined || tool?.check !== check || (name === 'node' && !args.includes('--test'))) return undefined
  return attemptOf(name, tool, withoutOptions(args, tool.drops), at)
}

function attemptOf(name: string, tool: ToolOfCheck, args: string[], at: Place): Attempt {
  const { package: from, bin } = tool
  return {
    tool: name,
    ...(from !== undefined && { package: from }),
    ...(bin !== undefined && { bin }),
    runs: tool.runs(args, at),
  }
}

const orHere = (args: string[]): string[] => (args.some((word) => !word.startsWith('-')) ? args : [...args, '.'])
const mostProjects = 50

/** One run for each project that a tsconfig leads to: with an empty one that only refers to others, tsc checks nothing and is content. */
function typecheckRuns(args: string[], at: Place): string[][] {
  const rest = withoutOptions(args, ['-p=', '--project='])
  const named = args.findIndex((word) => /^(-p|--project)(=|$)/.test(word))
  const given = named < 0 ? undefined : args[named]?.includes('=') ? args[named]?.split('=')[1] : args[named + 1]
  const flags = ['--noEmit', '--pretty', 'false', '--incremental', 'false', '--composite', 'false']
  if (given === undefined && rest.some((word) => !word.startsWith('-'))) return [[...flags, ...rest]]
  const projects = new Set<string>()
  const seen = new Set<string>()
  const add = (path: string): void => {
    const file = path.endsWith('.json') ? path : joined(path, 'tsconfig.json')
    if (seen.has(file) || seen.size >= mostProjects) return
    seen.add(file)
    projects.add(file)
    const read = readJsonc(at, file)
    const references = Array.isArray(read?.['references']) ? (read['references'] as { path?: unknown }[]) : []
    const folder = file.split('/').slice(0, -1).join('/')
    const isEmpty = Array.isArray(read?.['files']) && read['files'].length === 0 && read['include'] === undefined
    if (isEmpty && references.length > 0) projects.delete(file)
    for (const { path: other } of references) if (typeof other === 'string') add(joined(folder, other))
  }
  add(given ?? 'tsconfig.json')
  return [...projects].map((project) => [...flags, '-p', project, ...rest])
}

function joined(folder: string, path: string): string {
  const names: string[] = []
  for (const name of `${folder}/${path}`.split('/'))
    if (name === '..' && names.length > 0 && names.at(-1) !== '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  return names.join('/')
}

function textOf({ files, folder }: Place, name: string): string | undefined {
  try {
    return files
      .peek(joined(folder, name))
      ?.toString('utf8')
      .replace(/^\uFEFF/, '')
  } catch (fault) {
    // What may not be read is not there for us.
    if (fault instanceof Fault) return undefined
    throw fault
  }
}

const has = (at: Place, name: string): boolean => textOf(at, name) !== undefined

function readJsonc(at: Place, name: string): Record<string, unknown> | undefined {
  const text = textOf(at, name)
  const read: unknown = text === undefined ? undefined : parseJsonc(text, [], { allowTrailingComma: true })
  return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : undefined
}

export const manifestOf = (at: Place): Record<string, unknown> | undefined => readJsonc(at, 'package.json')

function depends(at: Place, name: string): boolean {
  const manifest = manifestOf(at)
  return ['dependencies', 'devDependencies'].some((field) => Object.hasOwn((manifest?.[field] as object | undefined) ?? {}, name))
}
