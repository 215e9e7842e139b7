import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Type from 'typebox'
import { leaves, loadConfig } from '../../src/config/load.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { CallOptions, Caller } from '../../src/contracts/call.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { coded, type Coded } from './coded.ts'
import { runInSlices } from '../../src/text/steps.ts'
import { toolsUsing, type Tool } from '../../src/contracts/tool.ts'
import { changedLines, lineDiff } from '../../src/text/diff.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openFiles } from '../../src/host/files.ts'
import { openLock } from '../../src/host/lock.ts'
import { pathRules } from '../../src/host/paths.ts'
import { pathStateAt, fingerprintsAt } from '../../src/host/path-state.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { openKernel, type Kernel } from '../../src/kernel/kernel.ts'
import { openApprovals, type ApprovalStore } from '../../src/stores/approvals.ts'
import { openAudit } from '../../src/stores/audit.ts'
import { openIdempotency } from '../../src/stores/idempotency.ts'
import { openJournal } from '../../src/stores/journal.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { openSessions } from '../../src/stores/sessions.ts'
import { openSnapshots } from '../../src/stores/snapshots.ts'

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
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
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
      rmSync(base, { recursive: true, force: true })
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

export function seatOf(home: Home, tools: readonly Tool[], call: Kernel['call'], close: () => Promise<void>): Seat {
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

// ---- a kernel on real stores with tools of our own ---------------------------------------------------------------

export interface Bench extends Seat {
  approvals: ApprovalStore
  audit(): AuditLine[]
}

interface BenchOptions {
  source?: Source
  settings?: Settings
  files?: Record<string, string>
}

function textOf(path: string): { name: string; text: string } | undefined {
  try {
    return { name: path, text: readFileSync(path, 'utf8') }
  } catch {
    return undefined
  }
}

/** The kernel on real files, locks and stores, wired as `main.ts` does it, with the tools given. */
export function openBench(tools: Tool[], options: BenchOptions = {}): Bench {
  const home = openHome(options.files)
  const { env, flags } = place(home, options.source ?? 'flag', options.settings ?? {})
  const user = textOf(userFile(home))
  const project = textOf(join(home.project, 'handrail.config.json'))
  const given = { user, project, environment: env, flags }
  const { config } = loadConfig({ ...given, trusted: loadConfig(given).loosenings })
  const root = openRoot(home.project)
  const files = openFiles(root, pathRules(config.policies.forbiddenDirs), config.limits.maxReadBytes)
  const state = openStateFolder(join(home.base, 'own-state'))
  const locks = state.sub('locks')
  const projectLock = openLock(locks.at('project.db'))
  const auditLock = openLock(locks.at('audit.db'))
  const db = openDatabase(state.at('handrail.db'), schema, schemaVersion)
  const audit = openAudit(
    state,
    auditLock,
    { folder: state.sub('heads'), name: 'test.head' },
    { fileBytes: 1 << 26, keptDays: 0 },
  )
  const approvals = openApprovals(db, { lapsed: () => undefined, halfAnswered: () => undefined })
  const idempotency = openIdempotency(db, config.limits.idempotencyTtlMs)
  const snapshots = openSnapshots(state.sub('snapshots'), db)
  const journal = openJournal({
    root,
    files,
    snapshots,
    db,
    retention: config.limits.snapshotRetention,
    onDropped: (call) => idempotency.forget(call),
  })
  const kernel = openKernel(tools, config, {
    audit,
    approvals,
    sessions: openSessions(db),
    grants: { mayChange: () => false, letChange: () => undefined, reading: (_path, _call, act) => act(), letsRead: () => false },
    idempotency,
    world: {
      normal: (path) => files.normal(path),
      read: (path) => files.peek(path),
      judgeLinks: () => undefined,
      exists: (path) => pathStateAt(root, path.split('/')) !== undefined,
      mayExecute: () => false,
      states: (paths) => runInSlices(fingerprintsAt(root, paths, (path) => path.split('/'))),
      links: async () => ({
        all: true,
        namedBy: () => undefined,
        namesOf: () => ({ names: [], all: true }),
        leadsTo: (path) => path,
      }),
      exclusive: (act, signal) => projectLock.hold(act, signal),
      newest: () => snapshots.newest(),
      changedSince: (paths, newest) => paths.some((path) => snapshots.newest(path) > newest),
      fingerprint: noStage,
      pin: noStage,
      pinConflict: () => undefined,
      commit: async (...given) => (await journal.commit(...given)).written,
      record: async (...given) => (await journal.record(...given)).written,
    },
    stages: { confinement: noStage, run: noStage, waiting: async () => undefined },
    evidence: { keep: noStage },
    diffs: { count: async (before, after) => changedLines(lineDiff(before, after)) },
  })
  const seat = seatOf(home, kernel.tools, kernel.call, async () => {
    audit.close()
    db.close()
    projectLock.close()
    auditLock.close()
    closeRoot(root)
  })
  return { ...seat, approvals, audit: () => [...audit.lines()] }
}

const noStage = (): never => {
  throw new Error('no tool here runs a program')
}

export const defineTool = toolsUsing<object>('test')
const Anything = Type.Object({}, { additionalProperties: true })
export const form = { title: 'A test tool', description: 'For tests.', output: Anything, faults: [], examples: [] } as const

export const one = (path: string, content: string): { files: { path: string; content: string }[] } => ({
  files: [{ path, content }],
})
export const files = { 'a.txt': '0\n', 'b.txt': '0\n' }
