import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { start } from './clients.mjs'
import { smallProject } from './data.mjs'
import { ready } from './http.mjs'
import { memoryMb, quantile, timed, withCpu } from './measure.mjs'
import { flood } from './read.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { plain, row } from './table.mjs'

const rounds = 9
const together = 1_500
const one = 400
const streams = 1_000

/** `read_file` through `/agent/process` beside a bare handler of the same HTTP library, and what a thousand idle streams take. */
export async function gateway(bench) {
  const project = smallProject(bench.temp, 'gateway')
  const env = cleanEnv(bench.temp)
  const children = {
    ours: start(
      process.execPath,
      [bench.program, 'serve', '--project', project, '--port', '0', '--json', '--requests-per-second', '1000000'],
      { env },
    ),
    other: start(process.execPath, [join(repository, 'bench', 'bare-gateway.mjs'), project], { env }),
  }
  try {
    const { url, tokenFile } = await ready(children.ours)
    const bare = (await ready(children.other)).url
    const token = readFileSync(tokenFile, 'utf8').trim()
    return [
      ...(await compare(children, { ours: `${url}/agent/process`, other: `${bare}/agent/process` }, token, 'same answer')),
      ...(await compare(children, { ours: `${url}/agent/process`, other: `${bare}/bare` }, token, 'the file once')),
      await idle(children.ours.pid, url, token),
    ]
  } finally {
    for (const child of Object.values(children)) child.kill('SIGKILL')
  }
}

async function compare(children, urls, token, against) {
  const clients = Object.fromEntries(
    Object.entries(urls).map(([who, url]) => [who, { pid: children[who].pid, read: open(url, token) }]),
  )
  for (const { read } of Object.values(clients)) {
    if ((await read()).length < 10_240) throw new Error('a read came back short')
    await flood(together, read)
  }
  const crowd = await withCpu(
    rounds,
    clients,
    together,
    async (who) => together / ((await timed(() => flood(together, clients[who].read))) / 1000),
  )
  const late = await withCpu(rounds, clients, one, async (who) => {
    const times = []
    for (let index = 0; index < one; index++) times.push(await timed(clients[who].read))
    return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
  })
  const line = (what, unit, { ours, other }, more = {}) =>
    row({ part: 'gateway', what, unit, ours, other, against: `bare, ${against}`, ...more })
  const part = (which) =>
    Object.fromEntries(Object.entries(late.found).map(([who, all]) => [who, all.map((times) => times[which])]))
  return [
    line('/agent/process read 10 KB, 32 in flight', '/s', crowd.found, { target: 0.6, more: true }),
    line('… server CPU per read', 'ms', crowd.cpu),
    line('… one by one, median', 'ms', part('p50')),
    line('… one by one, p99', 'ms', part('p99'), { target: 3 }),
  ]
}

/** A client that costs next to nothing: one request, one answer, as text. */
function open(url, token) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const body = JSON.stringify({
    input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'read it' }] }],
    session_id: 's1',
    user_id: 'u1',
    channel: 'console',
    stream: false,
    biz_params: { tool: { name: 'read_file', input: { path: 'ten.txt' } } },
  })
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  }
  return () =>
    new Promise((resolve, reject) => {
      const sending = httpRequest(url, { method: 'POST', agent, headers })
      sending.once('error', reject)
      sending.once('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.once('end', () =>
          response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`)),
        )
      })
      sending.end(body)
    })
}

/** Memory of the server before and with a thousand streams that wait for something to happen. */
async function idle(pid, url, token) {
  await pause(2_000)
  const before = memoryMb(pid)
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const opened = []
  for (let from = 0; from < streams; from += 50)
    opened.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          follow(`${url}/events?session_id=s${from + index}&user_id=u&channel=c`, token, agent),
        ),
      )),
    )
  await pause(3_000)
  const after = memoryMb(pid)
  const alive = opened.filter((response) => !response.destroyed).length
  for (const response of opened) response.destroy()
  return plain({
    part: 'gateway',
    what: `${alive} idle streams of /events, memory added (RSS; less than 100)`,
    unit: 'MB',
    ours: after.rss - before.rss,
    rounds: 1,
    note: `from ${before.rss.toFixed(0)} to ${after.rss.toFixed(0)} MB`,
  })
}

const follow = (url, token, agent) =>
  new Promise((resolve, reject) => {
    const asking = httpRequest(url, { agent, headers: { Authorization: `Bearer ${token}` } })
    asking.once('error', reject)
    asking.once('response', (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${response.statusCode}`))
      response.on('error', () => undefined).resume()
      resolve(response)
    })
    asking.end()
  })
