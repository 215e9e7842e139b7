import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Type from 'typebox'
import { leaves } from '../../src/config/load.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { CallOptions, Caller } from '../../src/contracts/call.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { coded, type Coded } from './coded.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { toolsUsing, type Tool } from '../../src/contracts/tool.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { cleanEnv, testFolder } from './world.ts'

// ---- settings from everywhere ------------------------------------------------------------------------------------

/** Settings by their place in the file, e.g. `policies.maxAutoFix`. */
export type Settings = Record<string, unknown>

export const sources = ['project', 'user', 'environment', 'flag'] as const
export type Source = (typeof sources)[number]

function nested(settings: Settings): Record<string, unknown> {
  const file: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(settings)) {
    const [group, name] = key.split('.') as [string, string?]
    if (name === undefined) file[group] = value
    else file[group] = { ...(file[group] as object | undefined), [name]: value }
  }
  return file
}

/** Settings as flags or variables have them. */
function texts(settings: Settings, by: 'flag' | 'env'): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => {
      const leaf = leaves.find((one) => one.key === key)
      if (!leaf) throw new Error(`no such setting: ${key}`)
      return [leaf[by], Array.isArray(value) ? value.join(',') : String(value)]
    }),
  )
}

export interface Home extends AsyncDisposable {
  base: string
  project: string
  write(name: string, content: string): void
  read(name: string): string
}

/** A project of its own, without a runtime. */
export function openHome(files: Record<string, string> = {}, name = 'project'): Home {
  const base = realpathSync(mkdtempSync(join(testFolder(), 'handrail-test-')))
  const project = join(base, name)
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), content)
  }
  mkdirSync(project)
  for (const [path, content] of Object.entries(files)) write(path, content)
  return {
    base,
    project,
    write,
    read: (path) => readFileSync(join(project, path), 'utf8'),
    async [Symbol.asyncDispose]() {
      rmSync(base, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

export const userFile = (home: Home): string => join(home.base, 'config', 'handrail', 'config.json')

export function writeUserFile(home: Home, text: string): void {
  mkdirSync(dirname(userFile(home)), { recursive: true })
  writeFileSync(userFile(home), text)
}

/** Puts settings where a person would put them, and gives what has to be handed to a process for the rest. */
export function place(
  home: Home,
  source: Source,
  settings: Settings,
): { env: Record<string, string>; flags: Record<string, string> } {
  if (source === 'project') home.write('handrail.config.json', JSON.stringify(nested(settings)))
  if (source === 'user') writeUserFile(home, JSON.stringify(nested(settings)))
  return {
    env: source === 'environment' ? texts(settings, 'env') : {},
    flags: source === 'flag' ? texts(settings, 'flag') : {},
  }
}

export const agent: Caller = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'agent' }
type Given = CallOptions & Partial<Caller>

export interface Seat extends AsyncDisposable {
  home: Home
  tools: readonly string[]
  call(tool: string, input: unknown, given?: Given): Promise<Record<string, unknown>>
  /** The error a call ends with; fails where it does not. */
  fault(tool: string, input: unknown, given?: Given): Promise<Coded>
}

export function seatOf(home: Home, tools: readonly Tool[], call: Operator['call'], close: () => Promise<void>): Seat {
  const doing = async (tool: string, input: unknown, given: Given = {}): Promise<Record<string, unknown>> => {
    const { surface, client, session, role, ...options } = { ...agent, ...given }
    return (await call(tool, input, { surface, client, session, role }, options)).output as Record<string, unknown>
  }
  return {
    home,
    tools: tools.map((tool) => tool.name),
    call: doing,
    async fault(tool, input, given) {
      const outcome = await doing(tool, input, given).catch((thrown: unknown) => thrown)
      if (outcome instanceof Fault) return coded(outcome)
      throw new Error(`${tool} did not fail as it should: ${JSON.stringify(outcome)}`, { cause: outcome })
    },
    async [Symbol.asyncDispose]() {
      await close()
      await home[Symbol.asyncDispose]()
    },
  }
}

// ---- a runtime with tools of our own -------------------------------------------------------------------------------

/** What a person does with `handrail trust`; without it a project's file only tightens. */
export function trustProject(home: Home): void {
  const operator = openRuntime({ project: home.project, environment: cleanEnv(home.base) })
  operator.trust.grant(operator.projectSettings?.digest ?? '', 'test')
  void operator.close()
}

export interface Bench extends Seat {
  approvals: Operator['approvals']
  audit(): AuditLine[]
}

interface BenchOptions {
  source?: Source
  settings?: Settings
  files?: Record<string, string>
}

/** The runtime as the program composes it, with the tools given in the place of ours. */
export function openBench(tools: Tool[], options: BenchOptions = {}): Bench {
  const home = openHome(options.files)
  const { env, flags } = place(home, options.source ?? 'flag', options.settings ?? {})
  if (options.source === 'project') trustProject(home)
  const operator = openRuntime({ project: home.project, environment: { ...cleanEnv(home.base), ...env }, flags }, () => tools)
  const seat = seatOf(home, operator.tools, operator.call, operator.close)
  return { ...seat, approvals: operator.approvals, audit: () => [...operator.audit.lines()] }
}

export const defineTool = toolsUsing<object>('test')
const Anything = Type.Object({}, { additionalProperties: true })
export const form = { title: 'A test tool', description: 'For tests.', output: Anything, faults: [], examples: [] } as const

export const one = (path: string, content: string): { files: { path: string; content: string }[] } => ({
  files: [{ path, content }],
})
export const files = { 'a.txt': '0\n', 'b.txt': '0\n' }
