import { setTimeout as pause } from 'node:timers/promises'
import { openRaw, using } from './clients.mjs'
import { interleave, memoryMb } from './measure.mjs'
import { smallProject } from './data.mjs'
import { ours, peer } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 5

/** Idle memory after tools/list. Both servers run at the same time, so that pages of Node itself are shared out alike. */
export async function memory(bench) {
  const project = smallProject(bench.temp, 'memory')
  const found = await interleave(rounds, {
    both: () =>
      using({ ours: [openRaw, ours(bench, project)], other: [openRaw, peer(bench, project)] }, async (clients) => {
        await pause(1_000)
        return { ours: memoryMb(clients.ours.pid), other: memoryMb(clients.other.pid) }
      }),
  })
  const line = (what, field) =>
    row({
      part: 'memory',
      what,
      unit: 'MB',
      ours: found.both.map((one) => one.ours[field]),
      other: found.both.map((one) => one.other[field]),
      against: 'fs',
      target: 1.3,
    })
  return [line('idle memory after tools/list, RSS', 'rss'), line('… PSS', 'pss')]
}
