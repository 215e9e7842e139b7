import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { smallProject } from './data.mjs'
import { quantile } from './measure.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { plain } from './table.mjs'

const most = 50
export const everyMs = 5
const files = (count, folder) =>
  `mkdir -p ${folder}; i=0; while [ $i -lt ${count} ]; do echo $i > ${folder}/f$i; i=$((i+1)); done`

/** What a client waits for a read of 10 KB while another one's large work goes on in the same process. */
export async function parallel(bench) {
  const server = await openServer(bench, smallProject(bench.temp, 'parallel'))
  try {
    await server.call('shell', { command: 'true' }, 'person')
    const rows = []
    const during = async (what, work) => rows.push(await reading(bench, server, what, work))
    await during('nothing', () => pause(1_000))
    await during('10,000 files are made and committed', () => server.call('shell', { command: files(10_000, 'many') }, 'person'))
    await during('they are undone', () => server.call('undo', { last: true, dryRun: false }, 'person'))
    const large = { command: 'head -c 1073000000 /dev/zero > large' }
    await during('a stage of 1 GiB is read and asked about', () => server.call('shell', large, 'agent'))
    await during('one is committed', () => server.call('shell', large, 'person'))
    await during('it is undone', () => server.call('undo', { last: true, dryRun: false }, 'person'))
    await during('100,000 entries are read and asked about', () =>
      server.call('shell', { command: files(100_000, 'more'), timeout_seconds: 110 }, 'agent'),
    )
    return rows
  } finally {
    server.close()
  }
}

export async function reading(bench, server, what, work) {
  const times = []
  let over = false
  await server.stops?.()
  const since = performance.now()
  const working = work().finally(() => (over = true))
  while (!over) {
    const asked = performance.now()
    await server.call('read_file', { path: 'ten.txt' }, 'agent')
    // Whoever had come while this one waited would have waited, too.
    for (let waited = performance.now() - asked; waited > 0; waited -= everyMs) times.push(waited)
    await pause(everyMs)
  }
  const end = await working
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
  const met = p99 <= most ? 'met' : 'missed'
  const took = ((performance.now() - since) / 1_000).toFixed(1)
  const note = `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${Math.max(...times).toFixed(0)} ms of ${times.length} reads in ${took} s; ${end ?? 'done'}; p99 under ${most} ms: ${met}; ${(await server.stops?.()) ?? ''}`
  bench.say(`parallel: while ${what}: ${note}`)
  return plain({ part: 'parallel', what: `a read while ${what}`, unit: 'ms', ours: p99, rounds: times.length, note })
}

export async function openServer(bench, project) {
  const library = join(bench.program, '..', '..', 'dist', 'handrail.cjs')
  const child = fork(join(repository, 'bench', 'parallel-server.mjs'), [library, project], {
    env: cleanEnv(bench.temp),
    execArgv: ['--require', join(repository, 'bench', 'loop-stops.cjs')],
  })
  const waiting = new Map()
  let last = 0
  await once(child, 'message')
  child.on('message', (reply) => {
    waiting.get(reply.id)?.(reply)
    waiting.delete(reply.id)
  })
  child.once('exit', () => waiting.forEach((answer) => answer({ fault: { code: 'ENDED', message: 'the server ended' } })))
  return {
    /** Says how it failed, where it did; a question that is asked is how some of these end. */
    async call(tool, input, role, session) {
      const id = ++last
      const reply = await new Promise((resolve) => {
        waiting.set(id, resolve)
        child.send({ id, tool, input, role, session })
      })
      if (tool === 'read_file' && reply.fault) throw new Error(reply.fault.message)
      return reply.fault && `${reply.fault.code} ${reply.fault.message}`
    },
    /** Of its event loop, since it was asked last. */
    async stops() {
      const id = ++last
      const reply = await new Promise((resolve) => {
        waiting.set(id, resolve)
        child.send({ id })
      })
      return reply.says
    },
    close: () => child.disconnect(),
  }
}
