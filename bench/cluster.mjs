import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { smallProject } from './data.mjs'
import { cpuMs, interleave, median, quantile, timed } from './measure.mjs'
import { cleanEnv } from './servers.mjs'
import { plain, row } from './table.mjs'

const jobs = 1_000
const rounds = 3
const slots = 10
const submitters = 10
const singles = 100
const cancels = 60
/** Looking costs the database too; the end is known to this much. */
const pollMs = 50
const origin = { surface: 'cli', client: 'bench', session: 'bench' }
const require = createRequire(import.meta.url)
const library = (bench) => require(join(bench.program, '..', '..', 'dist', 'handrail.cjs'))
export const urls = ['http://localhost:3000/']

const template = {
  id: 'trivial',
  version: '1.0.0',
  title: 'trivial',
  description: 'one call that needs nothing of any machine',
  inputs: { type: 'object' },
  results: { type: 'object' },
  steps: [{ id: 'ask', tool: 'allow_sites', input: { urls } }],
  result: { sites: { $: 'steps.ask.output.sites' } },
}
const endless = {
  ...template,
  id: 'endless',
  steps: [{ id: 'ask', tool: 'allow_sites', each: 'inputs.items', input: { urls } }],
  result: {},
}

/**
 * Two workers on one PostgreSQL, beside two workers of BullMQ alone that make the very same call for each job and keep its answer in the
 * job: what runs add to the engine beneath them. Everything shares this machine.
 */
export async function cluster(bench) {
  const server = await startPostgres(bench.temp)
  if (!server) return [plain({ part: 'cluster', what: 'there is no PostgreSQL on this machine', ours: 0 })]
  const ended = []
  try {
    const environment = {
      ...cleanEnv(bench.temp),
      XDG_CONFIG_HOME: join(bench.temp, 'cluster-config'),
      HANDRAIL_DATABASE_URL: server.url,
      HANDRAIL_RUN_SPACE: 'bench',
    }
    const templates = join(environment.XDG_CONFIG_HOME, 'handrail', 'templates')
    mkdirSync(templates, { recursive: true })
    for (const one of [template, endless]) writeFileSync(join(templates, `${one.id}.json`), JSON.stringify(one))
    const machine = (name) => ({
      project: smallProject(bench.temp, name),
      env: { ...environment, XDG_STATE_HOME: join(bench.temp, `${name}-state`) },
    })
    const start = async (args, { env }) => {
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
      ended.push(child)
      await Promise.race([
        once(createInterface(child.stdout), 'line'),
        once(child, 'exit').then(([code]) => Promise.reject(new Error(`a worker ended with ${code}`))),
      ])
      return child
    }
    const bareFile = join(fileURLToPath(new URL('.', import.meta.url)), 'cluster-bare.mjs')
    const [a, b, c, d, here] = ['cluster-a', 'cluster-b', 'cluster-c', 'cluster-d', 'cluster-here'].map(machine)
    const workers = [a, b].map(({ project, env }) =>
      start([bench.program, 'worker', '--project', project, '--slots', String(slots), '--json'], { env }),
    )
    const bare = [c, d].map(({ project, env }) => start([bareFile, bench.program, project, String(slots)], { env }))
    const ours = await Promise.all(workers)
    await Promise.all(bare)
    const runtime = library(bench).openRuntime({ project: here.project, environment: here.env })
    const runsApi = await runtime.runs()
    const { Queue, createPostgresBackend } = require('bullmq')
    const queue = new Queue('bench-bare', { connection: { connectionString: server.url } }, createPostgresBackend)
    const found = await rates({ runsApi, queue })
    const single = await oneByOne({ runsApi, queue })
    const reach = await cancelled({
      runsApi,
      bench,
      machine,
      start: (m) => start([bareFile, bench.program, m.project, 'listen'], m),
    })
    const cpu = await cost({ runsApi, ours, server })
    await queue.close()
    await runtime.close()
    return [
      row({
        part: 'cluster',
        what: `${jobs} trivial runs over two workers: runs a second`,
        unit: '1/s',
        ours: found.ours,
        other: found.bare,
        against: 'BullMQ on PostgreSQL, the same call in each job',
        target: 0.6,
        more: true,
      }),
      row({
        part: 'cluster',
        what: 'one run, from handing it in to its end seen',
        unit: 'ms',
        ours: single.ours,
        other: single.bare,
        against: 'one job of BullMQ',
        target: 3,
      }),
      plain({ part: 'cluster', what: 'a cancel is heard in another process, p50', ours: median(reach), unit: 'ms' }),
      plain({
        part: 'cluster',
        what: 'a cancel is heard in another process, p95 (target 50)',
        ours: quantile(reach, 0.95),
        unit: 'ms',
      }),
      ...cpu,
    ]
  } finally {
    for (const child of ended) child.kill('SIGKILL')
    await server.stop()
  }
}

async function inParallel(count, width, act) {
  let next = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) await act(next++)
    }),
  )
}

const submit = (runsApi, templateId = 'trivial', inputs = {}) => runsApi.submit({ templateId, inputs, mode: 'async' }, origin)

async function allOver(runsApi) {
  while (
    (await runsApi.list({ status: 'queued', limit: 1 })).total + (await runsApi.list({ status: 'running', limit: 1 })).total >
    0
  )
    await new Promise((resolve) => setTimeout(resolve, pollMs))
}

async function rates({ runsApi, queue }) {
  const ours = async () => {
    const ms = await timed(async () => {
      await inParallel(jobs, submitters, () => submit(runsApi))
      await allOver(runsApi)
    })
    return (jobs / ms) * 1_000
  }
  const bare = async () => {
    const before = await queue.getCompletedCount()
    const ms = await timed(async () => {
      await inParallel(jobs, submitters, (n) => queue.add('one', { n, inputs: { urls } }))
      while ((await queue.getCompletedCount()) < before + jobs) await new Promise((resolve) => setTimeout(resolve, pollMs))
    })
    return (jobs / ms) * 1_000
  }
  await ours()
  await bare()
  return interleave(rounds, { ours, bare })
}

async function oneByOne({ runsApi, queue }) {
  const found = { ours: [], bare: [] }
  for (let n = 0; n < singles; n++) {
    found.ours.push(
      await timed(async () => {
        const { run } = await submit(runsApi)
        await runsApi.wait(run.runId)
      }),
    )
    found.bare.push(
      await timed(async () => {
        const job = await queue.add('one', { n, inputs: { urls } })
        while ((await job.getState()) !== 'completed') await new Promise((resolve) => setImmediate(resolve))
      }),
    )
  }
  return found
}

/** From the call that cancels to the moment another process hears of it, by the clock of this machine. */
async function cancelled({ runsApi, machine, start }) {
  const listener = await start(machine('cluster-listens'))
  const heard = new Map()
  listener.on('message', ({ run, at }) => heard.get(run)?.(at))
  const found = []
  for (let n = 0; n < cancels; n++) {
    const { run } = await submit(runsApi, 'endless', { items: Array.from({ length: 1_000 }, () => 1) })
    while ((await runsApi.get(run.runId)).progress.doneSteps === 0) await new Promise((resolve) => setTimeout(resolve, 2))
    const arrived = new Promise((resolve) => heard.set(run.runId, resolve))
    const since = performance.timeOrigin + performance.now()
    await runsApi.cancel(run.runId, 'bench')
    found.push((await arrived) - since)
  }
  listener.kill('SIGKILL')
  return found
}

/** Processor time of one run: of the workers, and of the database for all. */
async function cost({ runsApi, ours, server }) {
  const before = ours.map(({ pid }) => cpuMs(pid))
  const database = server.cpuMs()
  await inParallel(jobs, submitters, () => submit(runsApi))
  await allOver(runsApi)
  const workers = ours.reduce((sum, { pid }, at) => sum + cpuMs(pid) - before[at], 0) / jobs
  return [
    plain({ part: 'cluster', what: 'processor time of a worker for one trivial run', ours: workers, unit: 'ms' }),
    plain({
      part: 'cluster',
      what: 'processor time of the database for one trivial run',
      ours: (server.cpuMs() - database) / jobs,
      unit: 'ms',
    }),
    plain({
      part: 'cluster',
      what: 'connections to the database of each process',
      ours: server.connections() / (ours.length + 1),
    }),
  ]
}

/** Processor time of a process's children that are gone, to a hundredth of a second. */
function endedMs(pid) {
  const [, words] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = words.split(' ').slice(13, 15).map(Number)
  return (user + system) * 10
}

/** A PostgreSQL of its own, on this machine's disk, as it comes. */
async function startPostgres(temp) {
  const base = '/usr/lib/postgresql'
  const versions = existsSync(base) ? readdirSync(base).filter((name) => existsSync(join(base, name, 'bin', 'initdb'))) : []
  const newest = versions.sort((x, y) => Number(y) - Number(x))[0]
  if (newest === undefined) return undefined
  const bin = (name) => join(base, newest, 'bin', name)
  const isRoot = process.getuid() === 0
  const uid = isRoot ? Number(spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout) || 65_534 : process.getuid()
  const user = isRoot ? { uid, gid: uid } : {}
  chmodSync(temp, 0o711)
  const folder = mkdtempSync(join(temp, 'pg-'))
  chmodSync(folder, 0o700)
  if (isRoot) chownSync(folder, uid, uid)
  const data = join(folder, 'data')
  const made = spawnSync(bin('initdb'), ['-D', data, '-U', 'handrail', '-A', 'trust', '-E', 'UTF8', '--locale=C'], {
    ...user,
    cwd: folder,
    encoding: 'utf8',
  })
  if (made.status !== 0) throw new Error(made.stderr)
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  const child = spawn(bin('postgres'), ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, '-N', '200'], {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await new Promise((resolve) =>
    child.stderr.setEncoding('utf8').on('data', (text) => text.includes('ready to accept connections') && resolve()),
  )
  const url = `postgres://handrail@127.0.0.1:${port}/postgres`
  const ask = (sql) =>
    spawnSync(bin('psql'), ['-h', '127.0.0.1', '-p', String(port), '-U', 'handrail', '-d', 'postgres', '-Atc', sql], {
      encoding: 'utf8',
    }).stdout.trim()
  const backends = () => ask('SELECT pid FROM pg_stat_activity').split('\n').map(Number)
  return {
    url,
    // Those that have ended in the meantime are in the account of the server.
    cpuMs: () => backends().reduce((sum, pid) => sum + (cpuMs(pid) || 0), endedMs(child.pid)),
    connections: () =>
      Number(
        ask(
          `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name NOT IN ('psql', '')`,
        ),
      ),
    async stop() {
      child.kill('SIGINT')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
