import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { start } from './clients.mjs'
import { smallProject } from './data.mjs'
import { ready } from './http.mjs'
import { memoryMb, quantile, timed, withCpu } from './measure.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { plain, row } from './table.mjs'

const rounds = 10
const each = 1_000
const idle = 200
const settleMs = 3_000

/** `dev.info` over the bridge beside a bare `ws` that says back what it hears, 10,000 calls each, and what 200 idle connections take. */
export async function bridge(bench) {
  const project = smallProject(bench.temp, 'bridge')
  const env = cleanEnv(bench.temp)
  const args = ['devserver', 'start', '--project', project, '--requests-per-second', '1000000']
  const children = {
    ours: start(process.execPath, [bench.program, ...args], { env }),
    other: start(process.execPath, [join(repository, 'bench', 'bare-ws.mjs')], { env }),
  }
  try {
    const { url, stateFile } = await ready(children.ours)
    const { token } = JSON.parse(readFileSync(stateFile, 'utf8'))
    const info = await open(url, token)
    // The same bytes go back and forth on both sides.
    const answer = await info.ask()
    const bare = await open((await ready(children.other)).url, undefined, answer)
    const clients = { ours: { pid: children.ours.pid, ...info }, other: { pid: children.other.pid, ...bare } }
    for (const { ask } of Object.values(clients)) for (let n = 0; n < each; n++) await ask()
    const { found, cpu } = await withCpu(rounds, clients, each, async (who) => {
      const times = []
      for (let n = 0; n < each; n++) times.push(await timed(clients[who].ask))
      return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
    })
    const part = (which) => Object.fromEntries(Object.entries(found).map(([who, all]) => [who, all.map((one) => one[which])]))
    const line = (what, values, more = {}) =>
      row({ part: 'bridge', what, unit: 'ms', ...values, against: 'bare ws echo, same bytes', ...more })
    return [
      line('dev.info round trip, median', part('p50'), { target: 2 }),
      line('… p99', part('p99')),
      line('… server CPU per call', cpu),
      await crowd(children.ours.pid, url, token),
    ]
  } finally {
    for (const child of Object.values(children)) child.kill('SIGKILL')
  }
}

/** One connection, one call at a time. `says` is what a bare server is sent, where it is one. */
async function open(url, token, says) {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  await once(socket, 'open')
  let count = 0
  let tell
  socket.on('message', (data) => tell(data.toString('utf8')))
  const request = () =>
    JSON.stringify({
      protocol: 'intent-flow.devserver.v1',
      type: 'request',
      requestId: String(++count),
      method: 'dev.info',
      params: {},
      auth: { token },
    })
  return {
    socket,
    ask: () =>
      new Promise((resolve) => {
        tell = resolve
        socket.send(says ?? request())
      }),
  }
}

async function crowd(pid, url, token) {
  await pause(settleMs)
  const before = memoryMb(pid)
  const sockets = []
  for (let n = 0; n < idle; n++) {
    const one = await open(url, token)
    await one.ask()
    sockets.push(one.socket)
  }
  await pause(settleMs)
  const after = memoryMb(pid)
  const alive = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length
  for (const socket of sockets) socket.terminate()
  return plain({
    part: 'bridge',
    what: `${alive} idle connections, memory added (RSS; less than 50)`,
    unit: 'MB',
    ours: after.rss - before.rss,
    rounds: 1,
    note: `from ${before.rss.toFixed(0)} to ${after.rss.toFixed(0)} MB`,
  })
}
