import { createHash, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openRaw } from './clients.mjs'
import { smallProject } from './data.mjs'
import { cpuMs, interleave, medianOf, memoryMb, quantile, timed } from './measure.mjs'
import { cleanEnv, ours } from './servers.mjs'
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

const long = {
  ...template,
  id: 'long',
  description: 'a read for each item',
  steps: [{ id: 'read', tool: 'read_file', each: 'inputs.items', input: { path: { $: 'item' } } }],
  result: { summary: { $: 'steps.read.summary' } },
}

/** How many runs a second, beside the same durable writes done bare; what a long list costs; how soon a submission is acknowledged. */
export async function runs(bench) {
  const environment = { ...cleanEnv(bench.temp), XDG_CONFIG_HOME: join(bench.temp, 'runs-config') }
  mkdirSync(join(environment.XDG_CONFIG_HOME, 'handrail', 'templates'), { recursive: true })
  for (const one of [template, long])
    writeFileSync(join(environment.XDG_CONFIG_HOME, 'handrail', 'templates', `${one.id}.json`), JSON.stringify(one))
  const open = (name) => {
    const project = smallProject(bench.temp, name)
    writeFileSync(join(project, 'a.txt'), 'one\n')
    return library(bench).openRuntime({ project, environment })
  }
  return [
    ...(await rate(bench, open)),
    ...(await lists(open)),
    ...(await acknowledged(bench, environment)),
    await memory(bench, environment),
  ]
}

const submit = (runsApi) => runsApi.submit({ templateId: 'trivial', mode: 'async' }, origin)

async function rate(bench, open) {
  const runtime = open('runs-rate')
  const runsApi = await runtime.runs()
  const bare = openBare(bench, runtime)
  const runsASecond = async () => {
    const ms = await timed(async () => {
      const all = []
      for (let n = 0; n < trivial; n++) all.push((await submit(runsApi)).run.runId)
      await Promise.all(all.slice(-5).map((id) => runsApi.wait(id)))
      while ((await runsApi.list({ status: 'queued' })).total + (await runsApi.list({ status: 'running' })).total > 0)
        await new Promise((resolve) => setTimeout(resolve, 1))
    })
    return (trivial / ms) * 1_000
  }
  const bareASecond = async () => (trivial / (await timed(() => bare.write(trivial)))) * 1_000
  const found = await interleave(rounds, { ours: runsASecond, other: bareASecond })
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
  db.exec(`CREATE TABLE runs (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, status TEXT, a TEXT, made INTEGER, changed INTEGER, expires INTEGER);
    CREATE INDEX one ON runs (made, seq); CREATE INDEX two ON runs (status, made, seq); CREATE INDEX three ON runs (a, made, seq); CREATE INDEX four ON runs (a, status, made, seq);
    CREATE INDEX five ON runs (status, seq) WHERE status IN ('queued', 'running'); CREATE INDEX six ON runs (expires) WHERE expires IS NOT NULL; CREATE INDEX seven ON runs (a, seq) WHERE status = 'queued';
    CREATE TABLE bodies (run TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT); CREATE TABLE counts (a TEXT PRIMARY KEY, n INTEGER);
    CREATE TABLE steps (run TEXT, step TEXT, item INTEGER, output TEXT, PRIMARY KEY (run, step, item)); CREATE TABLE artifacts (id TEXT PRIMARY KEY, run TEXT, n INTEGER);
    CREATE TABLE turns (holder TEXT PRIMARY KEY, queued INTEGER, turn INTEGER) WITHOUT ROWID; CREATE TABLE bytes (one INTEGER PRIMARY KEY, n INTEGER);
    INSERT INTO counts VALUES ('queued', 0), ('running', 0), ('succeeded', 0); INSERT INTO turns VALUES ('bench', 0, 0); INSERT INTO bytes VALUES (1, 0)`)
  const say = Object.fromEntries(
    Object.entries({
      insert: `INSERT INTO runs (id, status, a, made) VALUES (?, 'queued', 'trivial', ?)`,
      body: 'INSERT INTO bodies (run, a, b) VALUES (?, ?, ?)',
      move: 'UPDATE runs SET status = ?, changed = ? WHERE id = ?',
      touch: 'UPDATE runs SET changed = ? WHERE id = ?',
      end: 'UPDATE runs SET status = ?, changed = ?, expires = ? WHERE id = ?',
      count: 'UPDATE counts SET n = n + ? WHERE a = ?',
      turn: 'UPDATE turns SET queued = queued + ?, turn = turn + 1',
      bytes: 'UPDATE bytes SET n = n + ?',
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
          say.turn.run(1)
          say.bytes.run(text.length)
          say.body.run(id, text, '{}')
        }, true)
        line('run.queued')
        together(() => {
          say.move.run('running', Date.now(), id)
          say.count.run(-1, 'queued')
          say.count.run(1, 'running')
          say.turn.run(-1)
        })
        line('run.started')
        runtime.audit.note({ event: 'call.read', call: id, session: 'bench', tool: 'read_file', outcome: 'ok' })
        together(() => {
          say.step.run(id, 'read', '{"content":"one"}')
          say.bytes.run(17)
          say.touch.run(Date.now(), id)
        })
        line('run.progress')
        const fd = openSync(join(folder, id), 'wx', 0o600)
        writeSync(fd, '{"text":"one"}')
        fsyncSync(fd)
        closeSync(fd)
        together(() => {
          say.end.run('succeeded', Date.now(), Date.now(), id)
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
    const runsApi = await runtime.runs()
    const first = (await submit(runsApi)).run.runId
    await runsApi.wait(first)
    fill(join(runtime.state.folder, 'handrail.db'), count)
    made.push({ runtime, runsApi, first })
  }
  const [many, few] = made
  const listing =
    ({ runsApi }) =>
    () =>
      medianOf(50, () => runsApi.list({ limit: 50 }))
  const filtered =
    ({ runsApi }) =>
    () =>
      medianOf(50, () => runsApi.list({ limit: 10, status: 'failed', templateId: 'trivial' }))
  const getting =
    ({ runsApi, first }) =>
    () =>
      medianOf(50, () => runsApi.get(first))
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

/** A real server over stdio that carries out long runs meanwhile: 100 more are handed in, all at once, then one by one. */
async function acknowledged(bench, environment) {
  const { client, call } = await serve(bench, environment, 'runs-acks')
  const long = { templateId: 'long', inputs: { items: Array.from({ length: 1_000 }, () => 'a.txt') }, options: { mode: 'async' } }
  for (let n = 0; n < 20; n++) await call('run_task_template', long)
  const acked = () => timed(() => call('run_task_template', short('async')))
  const before = cpuMs(client.pid)
  const together = await Promise.all(Array.from({ length: 100 }, acked))
  const cpu = cpuMs(client.pid) - before
  const apart = []
  for (let n = 0; n < 100; n++) apart.push(await acked())
  const { total } = await call('list_task_runs', { templateId: 'long', status: 'running' })
  await client.close()
  const told = (what, times, more = '') =>
    plain({
      part: 'runs',
      what: `${what}, acknowledged (p95)`,
      unit: 'ms',
      ours: quantile(times, 0.95),
      rounds: 100,
      note: `p50 ${quantile(times, 0.5).toFixed(1)}, longest ${Math.max(...times).toFixed(0)} ms; target p95 under 50 ms; over stdio, ${total} long runs under way at its end${more}`,
    })
  return [
    told('100 submissions at once', together, `; ${cpu.toFixed(0)} ms of its processor time`),
    told('100 submissions, one by one', apart),
  ]
}

/** What 8,000 more runs add to a server that has carried out 2,000. */
async function memory(bench, environment) {
  const { client, call } = await serve(bench, environment, 'runs-memory')
  const after = async (count) => {
    // The fiftieth is waited for, and with it those before it.
    for (let n = 1; n <= count; n++) await call('run_task_template', short(n % 50 ? 'async' : 'sync'))
    return memoryMb(client.pid).rss
  }
  const [first, ...later] = [await after(2_000), await after(4_000), await after(4_000)]
  const { total } = await call('list_task_runs', {})
  await client.close()
  return row({
    part: 'runs',
    what: 'memory (RSS) after 10,000 runs',
    unit: 'MB',
    ours: [later.at(-1)],
    other: [first],
    against: 'after 2,000',
    target: 1.1,
    note: `after 6,000: ${later[0].toFixed(1)} MB; ${total} runs kept`,
  })
}

const short = (mode) => ({ templateId: 'trivial', options: { mode } })

async function serve(bench, environment, name) {
  const project = smallProject(bench.temp, name)
  writeFileSync(join(project, 'a.txt'), 'one\n')
  const client = await openRaw({ ...ours(bench, project), env: environment })
  const call = async (tool, input) => {
    const { result } = JSON.parse(await client.call(tool, input))
    if (result?.isError) throw new Error(result.content[0].text)
    return result.structuredContent
  }
  return { client, call }
}
