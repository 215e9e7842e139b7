import { createHash, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { smallProject } from './data.mjs'
import { interleave, medianOf, quantile, timed } from './measure.mjs'
import { cleanEnv } from './servers.mjs'
import { plain, row } from './table.mjs'

const trivial = 1_000
const rounds = 5
const origin = { surface: 'cli', client: 'bench', session: 'bench' }
const require = createRequire(import.meta.url)
const library = (bench) => require(join(bench.program, '..', '..', 'dist', 'handrail.cjs'))
const driver = () => process.getBuiltinModule?.('node:sqlite') ?? require('@photostructure/sqlite')

const template = {
  id: 'trivial',
  version: '1.0.0',
  title: 'trivial',
  description: 'one read',
  inputs: { type: 'object' },
  results: { type: 'object' },
  steps: [{ id: 'read', tool: 'read_file', input: { path: 'a.txt' } }],
  result: { text: { $: 'steps.read.output.content' } },
}

/** How many runs a second, beside the same durable writes done bare; what a long list costs; how soon a submission is acknowledged. */
export async function runs(bench) {
  const environment = { ...cleanEnv(bench.temp), XDG_CONFIG_HOME: join(bench.temp, 'runs-config') }
  mkdirSync(join(environment.XDG_CONFIG_HOME, 'handrail', 'templates'), { recursive: true })
  writeFileSync(join(environment.XDG_CONFIG_HOME, 'handrail', 'templates', 'trivial.json'), JSON.stringify(template))
  const open = (name) => {
    const project = smallProject(bench.temp, name)
    writeFileSync(join(project, 'a.txt'), 'one\n')
    return library(bench).openRuntime({ project, environment })
  }
  return [...(await rate(bench, open)), ...(await lists(open)), ...(await acknowledged(open)), await memory(open)]
}

const submit = (desk) => desk.submit({ templateId: 'trivial', mode: 'async' }, origin)

async function rate(bench, open) {
  const runtime = open('runs-rate')
  const desk = await runtime.runs()
  const bare = openBare(bench, runtime)
  const ours = async () => {
    const ms = await timed(async () => {
      const all = []
      for (let n = 0; n < trivial; n++) all.push((await submit(desk)).run.runId)
      await Promise.all(all.slice(-5).map((id) => desk.wait(id)))
      while ((await desk.list({ status: 'queued' })).total + (await desk.list({ status: 'running' })).total > 0)
        await new Promise((resolve) => setTimeout(resolve, 1))
    })
    return (trivial / ms) * 1_000
  }
  const other = async () => (trivial / (await timed(() => bare.write(trivial)))) * 1_000
  const found = await interleave(rounds, { ours, other })
  bare.close()
  await runtime.close()
  return [
    row({
      part: 'runs',
      what: '1,000 trivial runs: runs a second',
      unit: '1/s',
      ours: found.ours,
      other: found.other,
      against: 'the same rows, lines and files, written bare',
      target: 0.8,
      more: true,
    }),
  ]
}

/** Row by row, line by line and file by file what one trivial run leaves, with the same flushes and without anything between. */
function openBare(bench, runtime) {
  const file = join(bench.temp, 'bare.db')
  const db = new (driver().DatabaseSync)(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  db.exec(`CREATE TABLE runs (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, status TEXT, a TEXT, b INTEGER);
    CREATE INDEX one ON runs (b, seq); CREATE INDEX two ON runs (status, b, seq); CREATE INDEX three ON runs (a, b, seq); CREATE INDEX four ON runs (a, status, b, seq);
    CREATE TABLE bodies (run TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT); CREATE TABLE counts (a TEXT PRIMARY KEY, n INTEGER);
    CREATE TABLE steps (run TEXT, step TEXT, item INTEGER, output TEXT, PRIMARY KEY (run, step, item)); CREATE TABLE artifacts (id TEXT PRIMARY KEY, run TEXT, n INTEGER);
    INSERT INTO counts VALUES ('queued', 0), ('running', 0), ('succeeded', 0)`)
  const say = Object.fromEntries(
    Object.entries({
      insert: `INSERT INTO runs (id, status, a, b) VALUES (?, 'queued', 'trivial', ?)`,
      body: 'INSERT INTO bodies (run, a, b) VALUES (?, ?, ?)',
      move: 'UPDATE runs SET status = ?, b = ? WHERE id = ?',
      count: 'UPDATE counts SET n = n + ? WHERE a = ?',
      step: 'INSERT INTO steps VALUES (?, ?, -1, ?)',
      artifact: 'INSERT INTO artifacts VALUES (?, ?, ?)',
      result: 'UPDATE bodies SET c = ? WHERE run = ?',
    }).map(([name, sql]) => [name, db.prepare(sql)]),
  )
  const together = (act, durable = false) => {
    if (durable) db.exec('PRAGMA synchronous = FULL')
    db.exec('BEGIN IMMEDIATE')
    act()
    db.exec('COMMIT')
    if (durable) db.exec('PRAGMA synchronous = NORMAL')
  }
  const folder = join(bench.temp, 'bare-artifacts')
  mkdirSync(folder)
  const text = JSON.stringify(template)
  return {
    write(count) {
      for (let n = 0; n < count; n++) {
        const id = `run_${randomBytes(16).toString('hex')}`
        const line = (event) =>
          runtime.audit.write({ event, run: id, session: 'bench', details: { template: 'trivial', status: 'running' } })
        together(() => {
          say.insert.run(id, Date.now())
          say.count.run(1, 'queued')
          say.body.run(id, text, '{}')
        }, true)
        line('run.queued')
        together(() => {
          say.move.run('running', Date.now(), id)
          say.count.run(-1, 'queued')
          say.count.run(1, 'running')
        })
        line('run.started')
        runtime.audit.note({ event: 'call.read', call: id, session: 'bench', tool: 'read_file', outcome: 'ok' })
        together(() => {
          say.step.run(id, 'read', '{"content":"one"}')
          say.move.run('running', Date.now(), id)
        })
        line('run.progress')
        const fd = openSync(join(folder, id), 'wx', 0o600)
        writeSync(fd, '{"text":"one"}')
        fsyncSync(fd)
        closeSync(fd)
        const holding = openSync(folder, 'r')
        fsyncSync(holding)
        closeSync(holding)
        together(() => {
          say.move.run('succeeded', Date.now(), id)
          say.count.run(-1, 'running')
          say.count.run(1, 'succeeded')
          say.artifact.run(id, id, 14)
          say.result.run('{"text":"one"}', id)
        }, true)
        line('run.ended')
      }
    },
    close: () => db.close(),
  }
}

/** `list_task_runs` and `get_task_run` where 100 and where 100,000 runs are kept. */
async function lists(open) {
  const made = []
  for (const count of [100_000, 100]) {
    const runtime = open(`runs-${count}`)
    const desk = await runtime.runs()
    const first = (await submit(desk)).run.runId
    await desk.wait(first)
    fill(join(runtime.state.folder, 'handrail.db'), count)
    made.push({ runtime, desk, first })
  }
  const [many, few] = made
  const listing =
    ({ desk }) =>
    () =>
      medianOf(50, () => desk.list({ limit: 50 }))
  const filtered =
    ({ desk }) =>
    () =>
      medianOf(50, () => desk.list({ limit: 10, status: 'failed', templateId: 'trivial' }))
  const getting =
    ({ desk, first }) =>
    () =>
      medianOf(50, () => desk.get(first))
  const rows = []
  for (const [what, act] of [
    ['list_task_runs', listing],
    ['list_task_runs, two filters', filtered],
    ['get_task_run', getting],
  ]) {
    const found = await interleave(9, { ours: act(many), other: act(few) })
    rows.push(
      row({
        part: 'runs',
        what: `${what} at 100,000 runs`,
        unit: 'ms',
        ours: found.ours,
        other: found.other,
        against: 'at 100',
        target: 2,
      }),
    )
  }
  for (const { runtime } of made) await runtime.close()
  return rows
}

function fill(file, count) {
  const db = new (driver().DatabaseSync)(file)
  db.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
  const insert = db.prepare(
    `INSERT INTO runs (id, template, version, status, origin, mode, timeout_ms, submitter, authority, owner, deaths, done_steps, total_steps,
       active_ms, artifacts, created_at, updated_at, ttl_ms, expires_at)
     VALUES (?, ?, '1.0.0', ?, '{"surface":"cli","client":"bench","session":"bench"}', 'async', 1000, '', '', '', 0, 1, 1, 1, '[]', ?, ?, 1000, ?)`,
  )
  const now = Date.now()
  const states = ['succeeded', 'failed', 'partial_success', 'canceled']
  for (let n = 1; n < count; n++) {
    const id = `run_${createHash('md5').update(String(n)).digest('hex')}`
    insert.run(id, n % 3 ? 'trivial' : 'other', states[n % 4], now - n, now, now + 86_400_000)
  }
  db.exec('COMMIT')
  db.close()
}

async function acknowledged(open) {
  const runtime = open('runs-acks')
  const desk = await runtime.runs()
  const times = []
  await Promise.all(Array.from({ length: 100 }, async () => times.push(await timed(() => submit(desk)))))
  const ends = await desk.list({ limit: 1_000 })
  await Promise.all(ends.runs.map(({ runId }) => desk.wait(runId)))
  await runtime.close()
  const note = `p50 ${quantile(times, 0.5).toFixed(1)}, max ${Math.max(...times).toFixed(0)} ms; target p95 under 50 ms; all 100 at once, in one process that carries them out meanwhile`
  return [
    plain({
      part: 'runs',
      what: '100 submissions at once, acknowledged (p95)',
      unit: 'ms',
      ours: quantile(times, 0.95),
      rounds: 100,
      note,
    }),
  ]
}

/** What 8,000 more runs add to a process that has carried out 2,000. */
async function memory(open) {
  const runtime = open('runs-memory')
  const desk = await runtime.runs()
  const after = async (count) => {
    for (let n = 0; n < count; n++) {
      const { run } = await submit(desk)
      if (n % 50 === 49) await desk.wait(run.runId)
    }
    globalThis.gc?.()
    return process.memoryUsage().rss / 1_048_576
  }
  const [first, last] = [await after(2_000), await after(8_000)]
  const files = readdirSync(join(runtime.state.folder, 'artifacts')).length
  await runtime.close()
  return plain({
    part: 'runs',
    what: 'memory after 10,000 runs',
    unit: 'MB',
    ours: last,
    other: first,
    against: 'after 2,000',
    rounds: 1,
    note: `${files} artifacts on the disk`,
  })
}
