import { openRaw, openSdk } from './clients.mjs'
import { cpuMs, interleave } from './measure.mjs'
import { smallProject } from './data.mjs'
import { ours, peer } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 15

/** From spawn to the list of tools, the way to a client's first useful moment. */
export async function start(bench) {
  const project = smallProject(bench.temp, 'start')
  const rows = []
  for (const [name, open] of [
    ['raw client', openRaw],
    ['SDK client', openSdk],
  ]) {
    const cpu = { ours: [], other: [] }
    const once = (who, server) => async () => {
      const since = performance.now()
      const client = await open(server)
      await client.list()
      const took = performance.now() - since
      cpu[who].push(cpuMs(client.pid))
      await client.close()
      return took
    }
    const act = { ours: once('ours', ours(bench, project)), other: once('other', peer(bench, project)) }
    await interleave(1, act)
    cpu.ours.length = cpu.other.length = 0
    const found = await interleave(rounds, act)
    rows.push(row({ part: 'start', what: `start to tools/list, ${name}`, unit: 'ms', ...found, against: 'fs', target: 1 }))
    rows.push(row({ part: 'start', what: `… server CPU, ${name}`, unit: 'ms', ...cpu, against: 'fs' }))
  }
  return rows
}
