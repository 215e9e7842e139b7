import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { start } from './clients.mjs'
import { openHttp, ready } from './http.mjs'
import { quantile, timed } from './measure.mjs'
import { cleanEnv, repository } from './servers.mjs'
import { plain } from './table.mjs'

const many = 16
const begunMs = 2_000

/** How long one client's reads and searches take while another, in a process of its own, keeps the same server busy. */
export async function beside(bench) {
  const project = join(bench.temp, 'beside')
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, 'ten.txt'), 'x'.repeat(10_240))
  writeFileSync(join(project, 'evil.txt'), `${'a'.repeat(40)}!\n`)
  const env = cleanEnv(bench.temp)
  const args = ['serve', '--project', project, '--port', '0', '--json', '--enable-shell', '--search-timeout-ms', '10000']
  const child = start(process.execPath, [bench.program, ...args], { env })
  try {
    const { url, tokenFile } = await ready(child)
    const { call } = await openHttp('2025', url, tokenFile)
    const read = ['a read', 300, () => call('read_file', { path: 'ten.txt' })]
    const find = ['a search', 20, () => call('search_files', { path: 'ten.txt', regex: '(?=y)y' })]
    const greedily = async (what, tool, input, count, acts) => {
      const words = [join(repository, 'bench', 'greedy.mjs'), url, tokenFile, tool, JSON.stringify(input), String(count)]
      const greedy = start(process.execPath, words, { env })
      await once(greedy.stdout, 'data')
      await new Promise((begun) => setTimeout(begun, begunMs))
      const rows = []
      for (const [name, times, act] of acts) rows.push(...shown(`${name} ${what}`, await latencies(times, act)))
      greedy.kill('SIGKILL')
      return rows
    }
    const bomb = { path: 'evil.txt', regex: '(?=^(a+)+$)' }
    await call('shell', { command: 'true' })
    for (const [, , act] of [read, find]) await latencies(20, act)
    const rows = []
    for (const [name, times, act] of [read, find]) rows.push(...shown(`${name}, nothing beside it`, await latencies(times, act)))
    rows.push(...(await greedily(`beside ${many} programs`, 'shell', { command: 'sleep 12' }, many, [read, find])))
    rows.push(...(await greedily('beside a slow pattern', 'search_files', bomb, 1, [read, find])))
    rows.push(...(await greedily(`beside ${many} slow patterns`, 'search_files', bomb, many, [read, find])))
    return rows
  } finally {
    child.kill('SIGKILL')
  }
}

async function latencies(count, act) {
  const times = []
  for (let index = 0; index < count; index++) times.push(await timed(act))
  return times
}

function shown(what, times) {
  const one = (name, share) =>
    plain({ part: 'beside', what: `${what}, ${name}`, unit: 'ms', ours: quantile(times, share), rounds: times.length })
  return [one('p50', 0.5), one('p99', 0.99), one('max', 1)]
}
