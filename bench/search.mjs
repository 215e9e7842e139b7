import { answerOf, openRaw, run, using } from './clients.mjs'
import { installCommander, published, searchCommander } from './commander.mjs'
import { interleave, median, timed } from './measure.mjs'
import { literal, regex, searchTree } from './data.mjs'
import { ours, ripgrep } from './servers.mjs'
import { plain, row } from './table.mjs'

const rounds = 11
const asked = [
  { what: 'literal, 50 hits', kind: 'literal', pattern: literal, hits: 50 },
  { what: 'regex, 2,000 hits', kind: 'regex', pattern: regex, hits: 2_000 },
]

/** Content search over 20,000 files, against ripgrep by itself and against the fastest peer that searches contents. */
export async function search(bench) {
  const project = searchTree(bench.temp)
  bench.say('search: installing desktop-commander outside the repository…')
  const commander = await installCommander(bench, project)
  const servers = { ours: [openRaw, ours(bench, project)], ...(commander.server && { commander: [openRaw, commander.server] }) }
  try {
    return await using(servers, (clients) => searchAll(clients, project, commander.why))
  } catch (fault) {
    if (!commander.server) throw fault
    bench.say(`search: desktop-commander did not work (${fault.message}); going on without it`)
    return using({ ours: servers.ours }, (clients) => searchAll(clients, project, `it does not work here: ${fault.message}`))
  }
}

async function searchAll(clients, project, why) {
  const rows = []
  for (const { what, kind, pattern, hits } of asked) {
    const acts = contestants(clients, project, kind, pattern, hits)
    await interleave(2, acts)
    const found = await interleave(rounds, acts)
    rows.push(
      row({
        part: 'search',
        what: `search 20,000 files, ${what}`,
        unit: 'ms',
        ours: found.ours,
        other: found.rg,
        against: 'rg',
        target: 2,
      }),
    )
    rows.push(
      found.commander
        ? row({
            part: 'search',
            what: `… ${kind}`,
            unit: 'ms',
            ours: found.ours,
            other: found.commander,
            against: 'dc',
            target: 1 / 5,
          })
        : fromPublished(kind, found, why),
    )
  }
  return rows
}

function contestants(clients, project, kind, pattern, hits) {
  const mustFind = (count, who) => {
    if (count !== hits) throw new Error(`${who} found ${count} of ${hits}`)
  }
  const rg = {
    command: ripgrep,
    args: ['--no-config', '--line-number', '--with-filename', '--no-heading', '--regexp', pattern, '.'],
    env: {},
    cwd: project,
  }
  return {
    ours: () =>
      timed(async () =>
        mustFind(
          answerOf(await clients.ours.call('search_files', { path: '.', regex: pattern })).structuredContent.matches.length,
          'ours',
        ),
      ),
    rg: () => timed(() => run(rg)),
    ...(clients.commander && {
      commander: () =>
        timed(async () =>
          mustFind(await searchCommander(clients.commander, project, pattern, kind === 'literal'), 'desktop-commander'),
        ),
    }),
  }
}

/** Without the peer: its published time over rg's, times rg here. */
function fromPublished(kind, found, why) {
  const scaled = median(found.rg) * (published[kind] / published.rg)
  const ratio = median(found.ours) / scaled
  return {
    ...plain({
      part: 'search',
      what: `… ${kind}`,
      unit: 'ms',
      ours: median(found.ours),
      other: scaled,
      against: 'dc (scaled)',
      rounds: rounds,
    }),
    ratio,
    target: 1 / 5,
    met: ratio <= 1 / 5,
    note: `not measured: ${why}; scaled from the published ${published[kind]} ms beside rg's ${published.rg} ms`,
  }
}
