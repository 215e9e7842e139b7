import { answerOf, openRaw, openSdk, using } from './clients.mjs'
import { median, medianOf, timed, withCpu } from './measure.mjs'
import { smallProject } from './data.mjs'
import { floor, ours, peer } from './servers.mjs'
import { row } from './table.mjs'

const rounds = 11
const sequential = 400
const together = 1_600
const inFlight = 32

/** Reads of 10,240 bytes: one after the other, and 32 at a time. */
export async function read(bench) {
  const project = smallProject(bench.temp, 'read')
  const servers = (open) => ({ ours: [open, ours(bench, project)], other: [open, peer(bench, project)] })
  return [
    ...(await using({ ...servers(openRaw), floor: [openRaw, floor(bench, project)] }, (clients) =>
      readAll('raw client', clients, project),
    )),
    ...(await using(servers(openSdk), (clients) => readAll('SDK client', clients, project))),
  ]
}

async function readAll(name, clients, project) {
  const reads = {
    ours: () => clients.ours.call('read_file', { path: 'ten.txt' }),
    other: () => clients.other.call('read_text_file', { path: `${project}/ten.txt` }),
    floor: () => clients.floor.call('read_file', { path: 'ten.txt' }),
  }
  for (const who of Object.keys(clients)) await warmUp(reads[who])
  const alone = await withCpu(rounds, clients, sequential, (who) => medianOf(sequential, reads[who]))
  const crowd = await withCpu(
    rounds,
    clients,
    together,
    async (who) => together / ((await timed(() => flood(together, reads[who]))) / 1000),
  )
  const line = (what, unit, { ours, other, floor }, more = {}) =>
    row({
      part: 'read',
      what: `${what}, ${name}`,
      unit,
      ours,
      other,
      against: 'fs',
      ...more,
      ...(floor && { note: `a server that does nothing but read and answer: ${median(floor).toFixed(2)} ${unit}` }),
    })
  return [
    line('read 10 KB, one by one', 'ms', alone.found, { target: 1 }),
    line('… server CPU per read, one by one', 'ms', alone.cpu),
    line('read 10 KB, 32 in flight', '/s', crowd.found, { target: 1, more: true }),
    line('… server CPU per read, 32 in flight', 'ms', crowd.cpu),
  ]
}

async function warmUp(read) {
  const { content } = answerOf(await read()).structuredContent
  if (content.length !== 10_240) throw new Error('a read came back short')
  await medianOf(sequential, read)
  await flood(together, read)
}

/** Keeps a number of calls under way until all are answered. */
export async function flood(count, one) {
  let left = count
  const lane = async () => {
    while (left-- > 0) await one()
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}
