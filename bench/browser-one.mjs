import { origin, withPages } from './browser-pages.mjs'
import { interleave, median, quantile, timed } from './measure.mjs'
import { plain, row } from './table.mjs'

const rounds = Number(process.env.HANDRAIL_BENCH_ROUNDS ?? 7)
const visits = 60
/** Those before it are not counted. */
const settledAfter = 10

/** One page: warm, cold, and how much is said of it. */
export function browserOne(bench) {
  return withPages(bench, async ({ url, openOurs, openBare }) => {
    const ours = openOurs()
    const bare = await openBare()
    try {
      return [await warm(ours, bare, url), await chars(ours, bare, url), await cold(openOurs, openBare)]
    } finally {
      await bare.close()
      await ours.close()
    }
  })
}

async function warm({ runtime }, bare, url) {
  const context = await bare.driver.newContext()
  const tab = await context.newPage()
  const times = { ours: [], other: [] }
  for (let n = 0; n < visits; n++) {
    times.ours.push(await timed(() => runtime.gate.call('visit_page', { url: url(n) }, { ...origin, role: 'agent' })))
    times.other.push(await timed(() => bare.visit(tab, n)))
  }
  await context.close()
  const [ours, other] = [times.ours.slice(settledAfter), times.other.slice(settledAfter)]
  return plain({
    part: 'browser-one',
    what: 'a warm page in a kept session, p50',
    unit: 'ms',
    ours: median(ours),
    other: median(other),
    against: 'bare playwright-core, one page kept',
    rounds: ours.length,
    note: `p95 ${quantile(ours, 0.95).toFixed(0)} ms; target 150 ms for ours`,
  })
}

/** Playwright's MCP server answers `ariaSnapshot` of this mode; nothing of it but its words and addresses is told twice. */
async function chars({ runtime }, bare, url) {
  const { output } = await runtime.gate.call(
    'visit_page',
    { url: url(0), extract: { pageInfo: false, maxContentLength: 50_000 } },
    { ...origin, role: 'agent' },
  )
  const context = await bare.driver.newContext()
  const tab = await context.newPage()
  await tab.goto(url(0), { waitUntil: 'load' })
  const snapshot = await tab.ariaSnapshot({ mode: 'ai' })
  await context.close()
  const words = new Set(
    snapshot
      .replace(/\[[a-z]+(=[^\]]*)?\]/g, '')
      .replace(/^\s*- (\/url:.*|'?[a-z]+)/gm, '')
      .match(/[\p{L}\p{N}]{2,}/gu),
  )
  const lost = [...words].filter((word) => !output.content.includes(word))
  return row({
    part: 'browser-one',
    what: 'characters of the extract of one page',
    unit: '',
    ours: [output.content.length],
    other: [snapshot.length],
    against: "Playwright MCP's snapshot",
    target: 0.6,
    note: `words of the snapshot that are not in it: ${lost.length}; twenty-one documents of others are in test/flows/page-documents.test.ts`,
  })
}

/** From nothing running to the page read and the browser ended. Both have their modules loaded. */
async function cold(openOurs, openBare) {
  let n = 0
  const ours = () =>
    timed(async () => {
      const one = openOurs(`browser-cold-${n++}`)
      await one.read(1, 1)
      await one.close()
    })
  const other = () =>
    timed(async () => {
      const one = await openBare()
      await one.alone(0)
      await one.close()
    })
  const found = await interleave(rounds, { ours, other })
  return row({
    part: 'browser-one',
    what: 'one page, the browser started for it and ended',
    unit: 'ms',
    ours: found.ours,
    other: found.other,
    against: 'bare playwright-core',
    target: 1.3,
  })
}
