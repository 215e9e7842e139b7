import { openSeedWay, withPages } from './browser-pages.mjs'
import { interleave, timed } from './measure.mjs'
import { row } from './table.mjs'

const rounds = Number(process.env.HANDRAIL_BENCH_ROUNDS ?? 3)
const many = 200
/** Pages of a try, and of the slow way. */
const some = 40
/** What a batch takes where nobody says how many. */
const usual = 3

/** Many pages in one run, beside a bare script on the same browser that reads the same pages in the same way, and beside the seed's way. */
export function browser(bench) {
  return withPages(bench, async ({ url, openOurs, openBare }) => {
    const ours = openOurs()
    const bare = await openBare()
    const blind = await openBare({ pictures: false })
    const seed = await openSeedWay(url)
    try {
      const rate = async (count, read) => (count / (await timed(read))) * 1_000
      await ours.read(10, usual)
      await bare.read(10, usual)
      await blind.read(10, usual)
      await seed.read(6)
      const tried = new Map()
      for (const atOnce of [1, 2, 3, 4, 5]) tried.set(atOnce, await rate(some, () => bare.read(some, atOnce)))
      const [best] = [...tried].toSorted((a, b) => b[1] - a[1])[0]
      bench.say(`bare, by pages at once: ${[...tried].map(([atOnce, found]) => `${atOnce}: ${found.toFixed(1)}/s`).join(', ')}`)
      const found = await interleave(rounds, {
        ours: () => rate(many, () => ours.read(many, usual)),
        other: () => rate(many, () => bare.read(many, best)),
        blind: () => rate(many, () => blind.read(many, best)),
        seed: () => rate(some / 2, () => seed.read(some / 2)),
      })
      const what = `batch_extract_pages of ${many} pages, ${usual} at once (default)`
      const shared = { part: 'browser', what, unit: 'pages/s', ours: found.ours, more: true }
      return [
        row({ ...shared, other: found.other, against: `bare playwright-core, ${best} pages at once (its best)`, target: 0.8 }),
        row({ ...shared, other: found.blind, against: 'the same with pictures switched off, of which its pages hear nothing' }),
        row({ ...shared, other: found.seed, against: "the seed's way, 3 at once (its default)", target: 3 }),
      ]
    } finally {
      await seed.close()
      await bare.close()
      await blind.close()
      await ours.close()
    }
  })
}
