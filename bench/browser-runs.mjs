import { pssOf, withPages } from './browser-pages.mjs'
import { interleave, quantile, timed } from './measure.mjs'
import { plain, row } from './table.mjs'

const rounds = Number(process.env.HANDRAIL_BENCH_ROUNDS ?? 3)
const single = 100
/** Pages of a try. */
const some = 15

/** A hundred runs of one page each, handed in at once, beside a bare script with a fresh context for each. */
export function browserRuns(bench) {
  return withPages(bench, async ({ url, openOurs, openBare }) => {
    const ours = openOurs()
    const bare = await openBare()
    const blind = await openBare({ pictures: false })
    const acks = []
    const own = async (count) => {
      const runsApi = await ours.runtime.runs()
      const hand = async (_, n) => {
        const since = performance.now()
        const { run } = await ours.hand([url(n)])
        acks.push(performance.now() - since)
        return run.runId
      }
      const ms = await timed(async () => {
        const handed = await Promise.all(Array.from({ length: count }, hand))
        const ended = await Promise.all(handed.map((id) => runsApi.wait(id)))
        if (ended.some(({ status }) => status !== 'succeeded')) throw new Error('a run did not succeed')
      })
      return (count / ms) * 1_000
    }
    const other = async (count, atOnce, script = bare) => {
      let next = 0
      const work = async () => {
        while (next < count) await script.alone(next++)
      }
      return (count / (await timed(() => Promise.all(Array.from({ length: atOnce }, work))))) * 1_000
    }
    try {
      await own(5)
      await other(5, 5)
      const tried = new Map()
      for (const atOnce of [2, 3, 4, 5]) tried.set(atOnce, await other(some, atOnce))
      const [best] = [...tried].toSorted((a, b) => b[1] - a[1])[0]
      bench.say(
        `bare, by contexts at once: ${[...tried].map(([atOnce, found]) => `${atOnce}: ${found.toFixed(1)}/s`).join(', ')}`,
      )
      acks.length = 0
      const found = await interleave(rounds, {
        own: () => own(single),
        other: () => other(single, best),
        blind: () => other(single, best, blind),
      })
      const told = [...acks]
      // Looking costs time: not in the rounds that are measured.
      let peak = 0
      const look = setInterval(() => (peak = Math.max(peak, pssOf(`/handrail-chromium-${process.pid}-`))), 500)
      await own(single / 2)
      clearInterval(look)
      const shared = {
        part: 'browser-runs',
        what: `${single} runs of one page, handed in at once`,
        unit: 'runs/s',
        ours: found.own,
        more: true,
      }
      return [
        row({
          ...shared,
          other: found.other,
          against: `bare playwright-core, a fresh context each, ${best} at once (its best)`,
          target: 0.8,
        }),
        row({ ...shared, other: found.blind, against: 'the same with pictures switched off, of which its pages hear nothing' }),
        plain({
          part: 'browser-runs',
          what: 'acknowledgement of each of them, p95',
          unit: 'ms',
          ours: quantile(told, 0.95),
          rounds: told.length,
          note: 'target 50',
        }),
        plain({
          part: 'browser-runs',
          what: 'peak memory (PSS) of Handrail and its browser meanwhile',
          unit: 'MB',
          ours: peak / 1_048_576,
          note: 'target 700; with the bench itself and the bare script, which share the process',
        }),
      ]
    } finally {
      await bare.close()
      await blind.close()
      await ours.close()
    }
  })
}
