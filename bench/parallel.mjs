import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { smallProject } from './data.mjs'
import { manyReads, serve } from './events.mjs'
import { quantile } from './measure.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { plain } from './table.mjs'

const most = 50
const everyMs = 5
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
      server.call('shell', { command: files(100_000, 'more') }, 'agent'),
    )
    return [...rows, ...(await manyPrograms(bench)), ...(await longLog(bench))]
  } finally {
    server.close()
  }
}

/** Each has a client of its own, prints and writes ten times a second, and is judged and committed in the end. */
export async function manyPrograms(bench) {
  const server = await openServer(bench, smallProject(bench.temp, 'programs'))
  const lasting = (folder) =>
    `mkdir ${folder}; n=0; while [ $n -lt 600 ]; do n=$((n+1)); echo line $n; echo $n > ${folder}/f$((n%50)); sleep 0.1; done`
  const one = (index) =>
    server.call('shell', { command: lasting(`p${index}`), timeout_seconds: 110 }, 'agent', `bench-program-${index}`)
  const all = async () => (await Promise.all(Array.from({ length: 16 }, (_, index) => one(index)))).find(Boolean)
  try {
    await server.call('shell', { command: 'true' }, 'person')
    return [await reading(bench, server, 'sixteen programs run for a minute', all)]
  } finally {
    server.close()
  }
}

/** Over HTTP, with the streams of all three open; the other two read as often. */
export async function longLog(bench) {
  const served = await serve(bench, await manyReads(bench), 3)
  const [reader, ...others] = served.clients.map((client) => ({
    call: (name, input) => client.callTool({ name, arguments: input }),
  }))
  let over = false
  const keepReading = async (client) => {
    while (!over) {
      await client.call('read_file', { path: 'ten.txt' })
      await pause(everyMs)
    }
  }
  try {
    const working = async () => {
      const reading = others.map(keepReading)
      await pause(20_000)
      over = true
      await Promise.all(reading)
    }
    return [await reading(bench, reader, 'the log has 1,000,000 lines of reads and three clients are connected', working)]
  } finally {
    over = true
    await served.close()
  }
}

async function reading(bench, server, what, work) {
  const times = []
  let over = false
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
  const note = `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${Math.max(...times).toFixed(0)} ms of ${times.length} reads in ${took} s; ${end ?? 'done'}; p99 under ${most} ms: ${met}`
  bench.say(`parallel: while ${what}: ${note}`)
  return plain({ part: 'parallel', what: `a read while ${what}`, unit: 'ms', ours: p99, rounds: times.length, note })
}

async function openServer(bench, project) {
  const library = join(bench.program, '..', '..', 'dist', 'handrail.cjs')
  const child = fork(join(repository, 'bench', 'parallel-server.mjs'), [library, project], { env: cleanEnv(bench.temp) })
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
    close: () => child.disconnect(),
  }
}
