import { spawn, type SpawnOptionsWithoutStdio } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ErrorBody } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { coded, type Coded } from './coded.ts'
import type { CallOptions, Caller } from '../../src/contracts/call.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { projectFolderName } from '../../src/host/state-place.ts'
import { inject } from 'vitest'
import { openRuntime } from '../../src/runtime/open.ts'
import { leftOpen } from './left-open.ts'

export const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const program = join(repository, 'bin', 'handrail.js')

/** Where projects of tests lie: in memory, where `npm test` found some (docs/decisions/038-tests-in-memory.md). */
export const testFolder = (): string => process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir()

export interface World {
  /** The folder that holds the project and what lies outside of it. */
  readonly base: string
  readonly project: string
  readonly runtime: Operator
  path(name: string): string
  /** Where something of Handrail's own state of this project lies. */
  state(name: string): string
  read(name: string): string
  write(name: string, content: string | Buffer): void
  /** Puts down the person's own settings. */
  settings(value: unknown): void
  /** The answer of a tool, through the kernel in this process. */
  call<T = Record<string, unknown>>(tool: string, input: unknown, options?: CallOptions & Partial<Caller>): Promise<T>
  /** The error a call ends with; fails where it does not. */
  fault(tool: string, input: unknown, options?: CallOptions & Partial<Caller>): Promise<Coded>
  /** Dry run and write in one. */
  put(path: string, content: string): Promise<{ snapshotId: string }>
  /** Closes the runtime and opens a new one on the same project, as a restart does. */
  reopen(flags?: Record<string, string>, environment?: Record<string, string>): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A project of its own in a temporary folder, with a runtime on it. */
export async function openWorld(
  options: {
    files?: Record<string, string | Buffer>
    flags?: Record<string, string>
    /** The person's own settings; made once it is known where everything lies, where they name that. */
    config?: unknown
    /** Files beside the project. */
    beside?: Record<string, string | Buffer>
    /** The project's own settings file. */
    projectConfig?: unknown
    /** For tools and agents beside the project: nothing below /dev, where memory lies, is shown to a program. */
    onDisk?: boolean
    /** More of the environment Handrail is started with. */
    environment?: (base: string) => Record<string, string>
  } = {},
): Promise<World> {
  const base = realpathSync(mkdtempSync(join(options.onDisk ? tmpdir() : testFolder(), 'handrail-test-')))
  const project = join(base, 'project')
  mkdirSync(project)
  const write = (name: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(project, name)), { recursive: true })
    writeFileSync(join(project, name), content)
  }
  for (const [name, content] of Object.entries(options.files ?? {})) write(name, content)
  for (const [name, content] of Object.entries(options.beside ?? {})) write(join('..', name), content)
  const config = typeof options.config === 'function' ? (options.config as (base: string) => unknown)(base) : options.config
  if (config !== undefined) writeSettings(base, config)
  if (options.projectConfig !== undefined) write('handrail.config.json', JSON.stringify(options.projectConfig))
  const open = (flags: Record<string, string> = {}, environment: Record<string, string> = {}): Operator =>
    openRuntime({
      project,
      environment: { ...cleanEnv(base), XDG_STATE_HOME: join(base, 'state'), ...options.environment?.(base), ...environment },
      flags: { ...options.flags, ...flags },
    })
  let runtime = open()
  const closed = leftOpen(() => runtime.close())
  const call = async (tool: string, input: unknown, given: CallOptions & Partial<Caller> = {}): Promise<unknown> => {
    const { surface = 'mcp-stdio', client = 'test/1', session = 'sess_test', role = 'agent', peer, ...rest } = given
    const caller: Caller = { surface, client, session, role, ...(peer !== undefined && { peer }) }
    return (await runtime.call(tool, input, caller, rest)).output
  }
  return {
    base,
    project,
    get runtime() {
      return runtime
    },
    path: (name) => join(project, name),
    state: (name) => join(stateOf(project), name),
    read: (name) => readFileSync(join(project, name), 'utf8'),
    write,
    settings: (value) => writeSettings(base, value),
    call: call as World['call'],
    async fault(tool, input, given) {
      try {
        await call(tool, input, given)
      } catch (thrown) {
        if (thrown instanceof Fault) return coded(thrown)
        throw thrown
      }
      throw new Error(`${tool} did not fail`)
    },
    async put(path, content) {
      await call('write_to_file', { path, content, dryRun: true })
      return (await call('write_to_file', { path, content, dryRun: false })) as { snapshotId: string }
    },
    async reopen(flags, environment) {
      await runtime.close()
      runtime = open(flags, environment)
    },
    async [Symbol.asyncDispose]() {
      await runtime.close()
      closed()
      // A program that was killed a moment ago may still be on its way out, and write a last file.
      rmSync(base, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

/** Where the state of a project lies, given the environment of `cleanEnv` for the folder the project is in. */
export function stateOf(project: string, base = dirname(project)): string {
  return join(base, 'state', 'handrail', 'projects', projectFolderName(realpathSync(project)))
}

/** The person's own settings below a temporary base, as `cleanEnv` makes them found. */
export function writeSettings(base: string, value: unknown): void {
  const file = join(base, 'config', 'handrail', 'config.json')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
}

/**
 * The programs of the system before those of whoever runs the tests: a Python in somebody's home is shown to programs, and looked through
 * for secrets first, all its tens of thousands of files.
 */
const path = [dirname(process.execPath), '/usr/bin', '/bin', process.env['PATH'] ?? ''].join(':')

/** Environment for child processes: nothing of this machine's settings. */
export function cleanEnv(base: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: path,
    HOME: base,
    XDG_CONFIG_HOME: join(base, 'config'),
    XDG_STATE_HOME: join(base, 'state'),
    ...sharedRuns(),
    ...more,
  }
}

/** Whether these tests run on the store that machines share. */
export const sharesRuns = Boolean(process.env['HANDRAIL_TEST_CLUSTER'])

/** Where the suite runs on the store that machines share, every Handrail that a test starts is configured with it. */
function sharedRuns(): Record<string, string> {
  const database = sharesRuns ? inject('database') : undefined
  return database ? { HANDRAIL_DATABASE_URL: database, HANDRAIL_LEASE_MS: '4000' } : {}
}

/** An MCP client and whatever it speaks to. */
export interface Peer {
  readonly client: Client
  /** The structured answer, or the contract's error object as `error`. */
  call(tool: string, input: Record<string, unknown>): Promise<Record<string, unknown> & Partial<ErrorBody>>
  [Symbol.asyncDispose](): Promise<void>
}

export interface McpPeer extends Peer {
  readonly pid: number
}

/** The real program over stdio, driven by the official MCP client. */
export async function openStdio(
  project: string,
  options: { args?: string[]; env?: Record<string, string>; client?: string } = {},
): Promise<McpPeer> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', '--project', project, ...(options.args ?? [])],
    env: cleanEnv(dirname(project), options.env),
    stderr: 'pipe',
  })
  const client = new Client({ name: options.client ?? 'handrail-test', version: '1.0.0' })
  const closed = leftOpen(() => client.close())
  await client.connect(transport)
  return {
    client,
    pid: transport.pid ?? 0,
    call: callOf(client),
    async [Symbol.asyncDispose]() {
      await client.close()
      closed()
    },
  }
}

export const callOf =
  (client: Client): Peer['call'] =>
  async (tool, input) => {
    const result = await client.callTool({ name: tool, arguments: input })
    const [first] = result.content as { type: string; text: string }[]
    return (result.structuredContent ?? JSON.parse(first?.text ?? '{}')) as Record<string, unknown> & Partial<ErrorBody>
  }

export interface CliEnd {
  code: number | null
  out: string
  err: string
}

/** The real command line, as a person or script runs it. */
export function runCli(
  project: string,
  args: string[],
  options: { env?: Record<string, string>; input?: string; cwd?: string; program?: string } = {},
): Promise<CliEnd> {
  const words = [options.program ?? program, ...args, '--project', project]
  const where = options.cwd === undefined ? {} : { cwd: options.cwd }
  return runToExit(process.execPath, words, { env: cleanEnv(dirname(project), options.env), ...where }, options.input)
}

/** Any program, with nothing more on its stdin than `input`. */
export function runToExit(file: string, args: readonly string[], options: SpawnOptionsWithoutStdio, input = ''): Promise<CliEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, options)
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
    child.stdin.end(input)
  })
}

/** For `spawn`: as this user, where that is somebody else. */
export const asUser = (uid: number): { uid?: number; gid?: number } => (uid === process.getuid?.() ? {} : { uid, gid: uid })
