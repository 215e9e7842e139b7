import { answerOf, openRaw, openSdk, using } from './clients.mjs'
import { median, medianOf, withCpu } from './measure.mjs'
import { linesOf, smallProject } from './data.mjs'
import { floor, ours, peer } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 11
const calls = 40
const warmUps = 4 * calls

/** One changed line among 5,000: an edit against an edit, and our write of the whole content beside it. */
export async function dryRun(bench) {
  const project = smallProject(bench.temp, 'dry')
  const servers = (open) => ({
    ours: [open, ours(bench, project)],
    whole: [open, ours(bench, project)],
    other: [open, peer(bench, project)],
  })
  return [
    ...(await using({ ...servers(openRaw), floor: [openRaw, floor(bench, project)] }, (clients) =>
      dryAll('raw client', clients, project),
    )),
    ...(await using(servers(openSdk), (clients) => dryAll('SDK client', clients, project))),
  ]
}

const lines = linesOf(5_000)
const contents = Array.from(
  { length: calls },
  (_, turn) => lines.with(2_500, `line 2500: changed for the ${turn}th time`).join('\n') + '\n',
)

async function dryAll(name, clients, project) {
  const whole = (client) => (turn) =>
    client.call('write_to_file', { path: 'long.txt', content: contents[turn % calls], dryRun: true })
  const edit = (turn) =>
    clients.other.call('edit_file', {
      path: `${project}/long.txt`,
      edits: [{ oldText: lines[2_500], newText: `line 2500: changed for the ${turn}th time` }],
      dryRun: true,
    })
  const replace = (turn) =>
    clients.ours.call('replace_in_file', {
      path: 'long.txt',
      find: lines[2_500],
      replace: `line 2500: changed for the ${turn}th time`,
      dryRun: true,
    })
  const acts = { ours: replace, whole: whole(clients.whole), other: edit, floor: whole(clients.floor) }
  await mustDiffer(acts)
  for (const who of Object.keys(clients)) await medianOf(warmUps, acts[who])
  const { found, cpu } = await withCpu(rounds, clients, calls, (who) => medianOf(calls, acts[who]))
  const line = (what, ours, other, more = {}) =>
    row({ part: 'dry-run', what: `${what}, ${name}`, unit: 'ms', ours, other, against: 'fs', ...more })
  return [
    line('dry run of an edit, 1 of 5,000 lines', found.ours, found.other, { target: 1 / 3 }),
    line('… server CPU', cpu.ours, cpu.other),
    line(
      'dry run of the whole content, same change',
      found.whole,
      found.other,
      found.floor && { note: floorNote(median(found.floor)) },
    ),
    line('… server CPU', cpu.whole, cpu.other),
  ]
}

const floorNote = (ms) =>
  `ours is sent all ${Math.round(contents[0].length / 1024)} KB, the peer one line; a server that does nothing but parse those needs ${ms.toFixed(2)} ms`

async function mustDiffer({ ours, whole, other }) {
  for (const act of [ours, whole]) {
    const [hunk, ...more] = answerOf(await act(0)).structuredContent.diff.hunks
    if (more.length || hunk.startOld !== 2_501) throw new Error('our diff is wrong')
  }
  if (!JSON.stringify(answerOf(await other(0))).includes('+line 2500: changed')) throw new Error('the diff of the peer is wrong')
}
