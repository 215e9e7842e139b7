import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { openRaw, start } from './clients.mjs'
import { smallProject } from './data.mjs'
import { projectWithPast } from './history.mjs'
import { cpuMs, quantile, timed } from './measure.mjs'
import { cleanEnv, ours } from './servers.mjs'
import { plain } from './table.mjs'

const answers = 100
const idleMs = 30_000
const longLog = 1_000_000
const reads = 300

/** How soon a yes is felt in another process, what a server costs while nothing happens, and what a long log does to it. */
export async function events(bench) {
  return [...(await waking(bench)), ...(await idling(bench)), ...(await amongMany(bench))]
}

const library = (bench) => createRequire(import.meta.url)(join(bench.program, '..', '..', 'dist', 'handrail.cjs'))

/** From the line of a decision to the line with which the call in the other process goes on; and until its client has the answer. */
async function waking(bench) {
  const project = smallProject(bench.temp, 'waking')
  writeFileSync(join(project, 'package.json'), '{}\n')
  const server = ours(bench, project)
  const client = await openRaw({ ...server, args: [...server.args, '--write-requires-diff', 'false'] })
  const runtime = library(bench).openRuntime({ project, environment: cleanEnv(bench.temp) })
  const times = []
  let woken = []
  try {
    for (let round = 0; round < answers; round++) {
      const doing = client.call('write_to_file', { path: 'package.json', content: `{"a":${round}}\n`, dryRun: false })
      let waiting
      while (!(waiting = runtime.approvals.list('pending')[0])) await pause(5)
      // Long enough for it to be at rest.
      await pause(30 + Math.random() * 200)
      times.push(
        await timed(async () => {
          runtime.approvals.decide(waiting.id, { approve: true, by: 'bench' })
          await doing
        }),
      )
    }
    const lines = runtime.audit.last(answers * 10)
    const at = (event) =>
      new Map(lines.filter((line) => line.event === event).map((line) => [line.approval, Date.parse(line.at)]))
    const began = at('call.resumed')
    woken = [...at('approval.decided')].map(([approval, decided]) => began.get(approval) - decided)
  } finally {
    await runtime.close()
    await client.close()
  }
  const note = (found) =>
    `p50 ${quantile(found, 0.5).toFixed(1)}, p95 ${quantile(found, 0.95).toFixed(1)}, max ${Math.max(...found).toFixed(0)} ms`
  const row = (what, found, more = '') =>
    plain({ part: 'events', what, unit: 'ms', ours: quantile(found, 0.95), rounds: answers, note: `${note(found)}${more}` })
  return [
    row('a yes in one process wakes the call in another (p95)', woken, '; target p95 under 50 ms'),
    row('the same until its client has the answer, the write and its flushes included (p95)', times),
  ]
}

async function idling(bench) {
  const project = smallProject(bench.temp, 'idling')
  const served = await serve(bench, project, 10)
  try {
    // Until what follows a start is done: V8 clears up when it sees that nothing happens.
    await pause(30_000)
    const before = cpuMs(served.pid)
    await pause(idleMs)
    const share = (100 * (cpuMs(served.pid) - before)) / idleMs
    const note = 'target under 0.2 %'
    return [
      plain({ part: 'events', what: 'processor of an idle server with ten clients', unit: '%', ours: share, rounds: 1, note }),
    ]
  } finally {
    await served.close()
  }
}

/** A project whose log has a million lines of reads. */
export async function manyReads(bench) {
  const project = await projectWithPast(bench, 'many-reads', { lines: longLog, timelines: [], onlyReads: true })
  writeFileSync(join(project, 'ten.txt'), 'x'.repeat(10_240))
  return project
}

/** A million reads and no change: what clients of a server feel of it, and what looking at the log costs. */
async function amongMany(bench) {
  const project = await manyReads(bench)
  const served = await serve(bench, project, 3)
  const times = []
  try {
    for (let index = 0; index < reads; index++) {
      times.push(await timed(() => served.clients[index % 3].callTool({ name: 'read_file', arguments: { path: 'ten.txt' } })))
      await pause(5)
    }
  } finally {
    await served.close()
  }
  const found = [
    plain({
      part: 'events',
      what: 'a read after 1,000,000 reads, three clients connected (p99)',
      unit: 'ms',
      ours: quantile(times, 0.99),
      rounds: reads,
      note: `p50 ${quantile(times, 0.5).toFixed(1)}, p99 ${quantile(times, 0.99).toFixed(1)}, max ${Math.max(...times).toFixed(0)} ms`,
    }),
  ]
  const runtime = library(bench).openRuntime({ project, environment: cleanEnv(bench.temp) })
  const measure = async (what, act) => {
    const took = await timed(act)
    found.push(plain({ part: 'events', what: `${what}, 1,000,000 lines`, unit: 'ms', ours: took, rounds: 1 }))
  }
  const whole = async (asked) => {
    const verdict = await (runtime.audit.check?.(asked) ?? runtime.audit.verify())
    if (!verdict.whole) throw new Error(`the log was not accepted: ${verdict.why}`)
  }
  try {
    await measure('line 500,000 by its number', () => {
      if (runtime.audit.line?.(500_000)?.seq !== 500_000 && runtime.audit.last(1, ({ seq }) => seq === 500_000).length !== 1)
        throw new Error('line 500,000 was not found')
    })
    await measure('audit verify, every line', () => whole({ full: true }))
    await measure('audit verify and doctor, since the last one', () => whole())
  } finally {
    await runtime.close()
  }
  return found
}

export async function serve(bench, project, count, node = { args: [], env: {} }) {
  const args = [...node.args, bench.program, 'serve', '--project', project, '--port', '0', '--json']
  const child = start(process.execPath, args, {
    env: { ...cleanEnv(bench.temp), ...node.env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url, tokenFile, pid } = JSON.parse(line)
  const requestInit = { headers: { Authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` } }
  const clients = []
  for (let index = 0; index < count; index++) {
    const client = new Client({ name: 'handrail-bench', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
    clients.push(client)
  }
  return {
    pid,
    clients,
    async close() {
      for (const client of clients) await client.close()
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}
