import { createRequire } from 'node:module'
import { join } from 'node:path'
import { answerOf, openRaw, run, using } from './clients.mjs'
import { textOf } from './data.mjs'
import { projectWithPast } from './history.mjs'
import { interleave, medianOf, timed } from './measure.mjs'
import { cleanEnv, ours } from './servers.mjs'
import { plain, row } from './table.mjs'

const rounds = 9
const most = 1.5
let written = 0
const person = { surface: 'cli', client: 'bench', session: 'cli-person', role: 'person' }

/**
 * A project with 1,000,000 audit lines and 100,000 snapshots beside one with just enough of both that every answer is as
 * long: what grows with the answer is no slowdown, what grows with the past is.
 */
export async function scale(bench) {
  bench.say('scale: writing 1,000,000 audit lines and 100,000 snapshots…')
  const full = await projectWithPast(bench, 'full', { lines: 1_000_000, timelines: long })
  const fresh = await projectWithPast(bench, 'fresh', { lines: 60, timelines: short })
  const both = (act) => ({ ours: act(full), other: act(fresh) })
  return [
    await accepted(bench, full),
    ...(await listing(bench, full, fresh)),
    ...(await writing(bench, full, fresh)),
    ...(await commands(bench, both, full)),
    ...(await inside(bench, full, fresh)),
  ]
}

const folder = (name, count) => Array.from({ length: count }, (_, index) => `${name}/part-${String(index).padStart(3, '0')}.txt`)
/** 50,000 states of 500 old files that nobody has touched since, then 50,000 of 500 others, 50 files a folder. */
const long = [
  { paths: Array.from({ length: 10 }, (_, index) => folder(`old/scene-${index}`, 50)).flat(), states: 100 },
  { paths: Array.from({ length: 10 }, (_, index) => folder(`game/scene-${index}`, 50)).flat(), states: 100 },
]
const short = [
  { paths: folder('game/scene-3', 50), states: 1 },
  { paths: ['game/scene-3/part-007.txt'], states: 50 },
]

function command(bench, project, ...args) {
  return { command: process.execPath, args: [bench.program, ...args, '--project', project], env: cleanEnv(bench.temp) }
}

async function accepted(bench, full) {
  let text = ''
  const took = await timed(async () => ({ text } = await run(command(bench, full, 'audit', 'verify', '--json'), true)))
  if (!text.includes('"whole":true,"lines":1000000')) throw new Error(`the written past is not accepted: ${text}`)
  return plain({
    part: 'scale',
    what: 'audit verify of 1,000,000 lines',
    unit: 'ms',
    ours: took,
    rounds: 1,
    note: 'whole; so the written past is accepted. The fresh project holds just enough that every answer below is as long',
  })
}

/** Lists 50 states: of everything, of one file, of a folder of 50 files, of 500 files, and of 500 files that are all old. */
async function listing(bench, full, fresh) {
  return using({ ours: [openRaw, ours(bench, full)], other: [openRaw, ours(bench, fresh)] }, async (clients) => {
    const rows = []
    for (const [what, path, short] of listings)
      rows.push(await line(`list_snapshots, ${what}`, { ours: list(clients.ours, path), other: list(clients.other, short) }))
    return rows
  })
}

function list(client, path) {
  const act = () => client.call('list_snapshots', path === undefined ? {} : { path })
  return async () => {
    const { length } = answerOf(await act()).structuredContent.snapshots
    if (length !== 50) throw new Error(`${length} snapshots instead of 50 under ${path}`)
    return medianOf(15, act)
  }
}

/** One warm-up round, then the measured ones. */
async function line(what, acts) {
  await interleave(1, acts)
  return row({ part: 'scale', what, unit: 'ms', ...(await interleave(rounds, acts)), against: 'fresh', target: most })
}

const listings = [
  ['no filter', undefined, undefined],
  ['one file', 'game/scene-3/part-007.txt', 'game/scene-3/part-007.txt'],
  ['a folder of 50 files', 'game/scene-3/', 'game/scene-3/'],
  ['a prefix of 500 files', 'game/', 'game/'],
  ['a prefix of 500 old files', 'old/', 'game/'],
]

async function writing(bench, full, fresh) {
  return using({ ours: [openRaw, ours(bench, full)], other: [openRaw, ours(bench, fresh)] }, async (clients) => [
    await line('write_to_file, dry run and write', { ours: writes(clients.ours), other: writes(clients.other) }),
  ])
}

function writes(client) {
  return () =>
    medianOf(10, async () => {
      const input = { path: 'bench.txt', content: textOf(10_240, ++written) }
      await client.call('write_to_file', { ...input, dryRun: true })
      answerOf(await client.call('write_to_file', { ...input, dryRun: false }))
    })
}

/** Whole commands, process start included. */
async function commands(bench, both, full) {
  const whole = (...args) => both((project) => () => timed(() => run(command(bench, project, ...args))))
  const opened = both((project) => async () => {
    let client
    const took = await timed(async () => await (client = await openRaw(ours(bench, project))).list())
    await client.close()
    return took
  })
  const undo = both((project) => async () => {
    await writeOnce(bench, project)
    return timed(async () => {
      const { code, text } = await run(command(bench, project, 'undo', '--last', '--yes'), true)
      if (code !== 0) throw new Error(`undo failed: ${text}`)
    })
  })
  const rows = [
    await line('start to tools/list', opened),
    await line('audit show, whole command', whole('audit', 'show')),
    await line('undo --last, whole command', undo),
  ]
  const old = await timed(() => run(command(bench, full, 'audit', 'show', '--call', `call_${'1'.padStart(24, '0')}`)))
  return [
    ...rows,
    plain({
      part: 'scale',
      what: 'audit show --call, of the oldest call',
      unit: 'ms',
      ours: old,
      rounds: 1,
      note: 'reads the whole log backwards; grows with its length',
    }),
  ]
}

async function writeOnce(bench, project) {
  const input = { path: 'undone.txt', content: textOf(10_240, ++written) }
  for (const dryRun of [true, false])
    await run(command(bench, project, 'call', 'write_to_file', JSON.stringify({ ...input, dryRun })))
}

/** The same without process start, in this process. */
async function inside(bench, full, fresh) {
  const { openRuntime } = createRequire(import.meta.url)(join(bench.program, '..', '..', 'dist', 'handrail.cjs'))
  const runtimes = {
    ours: openRuntime({ project: full, environment: cleanEnv(bench.temp) }),
    other: openRuntime({ project: fresh, environment: cleanEnv(bench.temp) }),
  }
  const both = (act) => ({ ours: act(runtimes.ours), other: act(runtimes.other) })
  const show = both((runtime) => () => medianOf(20, () => runtime.audit.last(30)))
  const undo = both((runtime) => () => medianOf(5, undoOnce(runtime)))
  const rows = []
  try {
    rows.push(await line('audit show, the work itself', show), await line('undo --last, write and undo themselves', undo))
  } finally {
    await runtimes.ours.close()
    await runtimes.other.close()
  }
  return rows
}

function undoOnce(runtime) {
  return async () => {
    const input = { path: 'undone.txt', content: textOf(10_240, ++written) }
    await runtime.call('write_to_file', { ...input, dryRun: true }, person)
    await runtime.call('write_to_file', { ...input, dryRun: false }, person)
    await runtime.call('undo', { last: true, dryRun: false }, person)
  }
}
