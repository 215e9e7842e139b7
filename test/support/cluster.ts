import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { dirname } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import type { RunsApi } from '../../src/contracts/run.ts'
import { openLive } from './inside.ts'
import { leftOpen } from './left-open.ts'
import { putTemplates } from './runs.ts'
import { isSoak } from './soak.ts'
import { cleanEnv, openWorld, program, type World } from './world.ts'

/** The database that this run of the tests started. */
export const database = (): string => inject('database')
export const redis = (): string => inject('redis')

let spaces = 0
/** A name that no other test uses. */
export const newSpace = (): string => `test-${process.pid}-${Date.now().toString(36)}-${spaces++}`

/** Needs nothing of any machine: a question about sites that need no question. */
export const sites = {
  id: 'sites',
  version: '1.0.0',
  title: 'stand-in',
  description: 'A stand-in for tests.',
  trust: ['local', 'remote'],
  inputs: { type: 'object', properties: { items: { type: 'array', items: { type: 'string' } } }, required: ['items'] },
  results: { type: 'object' },
  steps: [{ id: 'ask', tool: 'allow_sites', each: 'inputs.items', input: { urls: [{ $: 'item' }] } }],
  result: { summary: { $: 'steps.ask.summary' } },
} as const

export const urls = (n: number): string[] => Array.from({ length: n }, (_, at) => `http://localhost:3000/${at}`)

/** A machine of its own as far as Handrail can tell: its own project, state, log and settings. */
export async function openMachine(space: string, environment: Record<string, string> = {}): Promise<World> {
  const world = await openWorld({
    files: { 'a.txt': 'hello\n' },
    environment: () => ({ HANDRAIL_RUN_SPACE: space, ...environment }),
  })
  putTemplates(world.base, { sites })
  putTemplates(world.base)
  return world
}

export interface WorkerProcess {
  readonly pid: number
  readonly url: string | undefined
  /** Everything it printed. */
  said(): string
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<number | null>
  [Symbol.asyncDispose](): Promise<void>
}

/** `handrail worker` as a process on a machine; resolves when it says that it is ready. */
export async function startWorker(
  { project }: Pick<World, 'project'>,
  space: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [program, 'worker', '--project', project, '--json', ...args], {
    env: cleanEnv(dirname(project), { HANDRAIL_RUN_SPACE: space, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const first = await Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => line as string),
    ended.then((code) => Promise.reject(new Error(`the worker ended with ${code}: ${said}`))),
  ])
  const { url } = JSON.parse(first) as { url?: string }
  return {
    pid: child.pid as number,
    url,
    said: () => said,
    signal: (name) => void child.kill(name),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/**
 * The same inside the test process, at a tenth of the cost: for workers that are neither killed nor told to end, whose machine is what counts.
 * In `npm run soak` a process all the same.
 */
export async function workInside(
  machine: Pick<World, 'project'>,
  space: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<{ [Symbol.asyncDispose](): Promise<void> }> {
  if (isSoak) return startWorker(machine, space, { args, env })
  const flags = args.map((word) => (word === '--slots' ? '--max-concurrent-runs' : word))
  const runtime = openLive(machine.project, { args: flags, env: { HANDRAIL_RUN_SPACE: space, ...env } })
  const closed = leftOpen(() => runtime.close())
  ;(await runtime.runs()).work()
  await runtime.cluster()
  return {
    async [Symbol.asyncDispose]() {
      await runtime.close()
      closed()
    },
  }
}

/** Resolves when a run has come so far. */
export async function reached(runsApi: RunsApi, runId: string, steps: number): Promise<void> {
  const enough = new AbortController()
  await runsApi
    .wait(runId, {
      signal: enough.signal,
      onProgress: ({ progress }) => {
        if (progress.doneSteps >= steps) enough.abort(new Error('enough'))
      },
    })
    .catch((fault: Error) => {
      if (fault.message !== 'enough') throw fault
    })
}

/** What stands in the database itself. */
export async function ask<Row>(sql: string, values: unknown[] = [], url = database()): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql, values)).rows as Row[]
  } finally {
    await client.end()
  }
}

export interface Cable {
  readonly port: number
  /** From now on nothing gets through, and nobody is told: packets are dropped. */
  cut(): void
  /** What comes from now on gets through; what was under way when it was cut is gone, and so are its connections. */
  mend(): void
  close(): Promise<void>
}

/** A cable between a process and a server on loopback. */
export async function openCable(to: number): Promise<Cable> {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('data', (bytes) => {
        if (!isCut) other.write(bytes)
      })
      one.on('error', () => undefined)
      one.on('close', () => {
        open.delete(one)
        if (!isCut) other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    cut: () => void (isCut = true),
    mend() {
      for (const one of open) one.destroy()
      isCut = false
    },
    async close() {
      for (const one of open) one.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** How often a template's step was carried out on these machines, by their logs. */
export function callsIn(machines: readonly World[], tool: string): number {
  return machines.reduce(
    (sum, { runtime }) => sum + runtime.audit.last(100_000, (line) => line.tool === tool && line.event !== 'call.start').length,
    0,
  )
}

/** Resolves when their logs have so many: lines of what only reads are written a moment after the answer. */
export async function called(machines: readonly World[], tool: string, times: number): Promise<void> {
  while (callsIn(machines, tool) < times) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Resolves when the others take a worker for alive again. */
export async function alive({ runtime }: Pick<World, 'runtime'>, pid: number): Promise<void> {
  for (;;) {
    const view = await runtime.cluster()
    if (view?.workers.some((worker) => worker.pid === pid && worker.alive)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
