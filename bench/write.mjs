import { answerOf, openRaw, using } from './clients.mjs'
import { interleave, median, timed, withCpu } from './measure.mjs'
import { smallProject, textOf } from './data.mjs'
import { ours, peer } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 11
const calls = 12
const honest = 'ours flushes to disk, keeps both states and writes two audit lines; the peer renames without a flush'

/** Writing 10 KB, no target: the two do not promise the same. */
export async function write(bench) {
  const project = smallProject(bench.temp, 'write')
  return using({ ours: [openRaw, ours(bench, project)], other: [openRaw, peer(bench, project)] }, async (clients) => {
    const acts = { ours: ourWrite(clients.ours), other: peerWrite(clients.other, project) }
    await interleave(calls, acts)
    const { found, cpu } = await withCpu(rounds, clients, calls, (who) => several(acts[who]))
    const field = (name) => ({ ours: found.ours.map((one) => one[name]), other: found.other.map((one) => one[name]) })
    const line = (what, values, note) => row({ part: 'write', what, unit: 'ms', ...values, against: 'fs', note })
    return [
      line('write 10 KB, the write itself', field('took'), honest),
      line('write 10 KB, dry run and write', field('both')),
      line('… server CPU, dry run and write', cpu),
    ]
  })
}

let turn = 0
const content = () => textOf(10_240, ++turn)

function ourWrite(client) {
  return async () => {
    const input = { path: 'out.txt', content: content() }
    const dry = await timed(() => client.call('write_to_file', { ...input, dryRun: true }))
    const took = await timed(async () => answerOf(await client.call('write_to_file', { ...input, dryRun: false })))
    return { took, both: dry + took }
  }
}

function peerWrite(client, project) {
  return async () => {
    const input = { path: `${project}/out-of-peer.txt`, content: content() }
    const took = await timed(async () => answerOf(await client.call('write_file', input)))
    return { took, both: took }
  }
}

async function several(act) {
  const times = []
  for (let index = 0; index < calls; index++) times.push(await act())
  return { took: median(times.map((one) => one.took)), both: median(times.map((one) => one.both)) }
}
