import { expect, test } from 'vitest'
import { noBrowser } from '../support/chromium.ts'
import { newSpace, openMachine, reached, startWorker, workInside } from '../support/cluster.ts'
import { handIn } from '../support/runs.ts'
import { html, openSite } from '../support/site.ts'
import { isSoak, sweep } from '../support/soak.ts'

const pages = sweep(100, 6)

// `workers` kills one of two, and `browser-killed` whoever has pages open: both at once is for the soak.
test.skipIf(noBrowser !== undefined || !isSoak)(
  'pages over two workers, one of them killed -9: none is lost, and it is known which were visited twice',
  async () => {
    const space = newSpace()
    await using site = await openSite()
    for (let n = 0; n < pages; n++) site.pages.set(`/${n}`, html(`<h1>Page ${n}</h1>`, `Title ${n}`))
    await using here = await openMachine(space)
    // Of the machine that they were handed in on: pages of its own network are not for others.
    await using first = await startWorker(here, space, { args: ['--slots', '1'] })
    // Two runs, so that each worker has one of them.
    const half = pages / 2
    const list = (from: number): string[] => Array.from({ length: half }, (_, n) => `${site.url}/${from + n}`)
    const handed = await Promise.all(
      [list(0), list(half)].map((urls) => handIn(here, 'batch_extract_pages', { urls }, { mode: 'async' })),
    )
    await using _second = await workInside(here, space, { args: ['--slots', '1'] })
    const runsApi = await here.runtime.runs()
    await Promise.race(handed.map(({ runId }) => reached(runsApi, runId, 1)))
    first.signal('SIGKILL')
    const ends = await Promise.all(handed.map(({ runId }) => runsApi.wait(runId)))
    const items = ends.flatMap(({ result }) => (result as { items: { success: boolean; title: string }[] }).items)
    expect(ends.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    expect(items.map(({ title }) => title)).toEqual(Array.from({ length: pages }, (_, n) => `Title ${n}`))
    const visits = Array.from({ length: pages }, (_, n) => site.visits.get(`/${n}`) ?? 0)
    expect(Math.min(...visits)).toBeGreaterThanOrEqual(1)
    const twice = visits.filter((n) => n > 1).length
    // No more than were open in the browser that died.
    expect(twice).toBeLessThanOrEqual(5)
    process.stderr.write(`handrail: ${pages} pages, ${twice} visited twice\n`)
  },
)

test.skipIf(noBrowser !== undefined)(
  'what is handed in on another machine reaches nothing of the network of this one',
  async () => {
    const space = newSpace()
    await using site = await openSite()
    site.pages.set('/', html('<h1>Inside</h1>', 'Inside'))
    await using here = await openMachine(space)
    await using there = await openMachine(space)
    await using _worker = await workInside(there, space)
    const { runId } = await handIn(here, 'batch_extract_pages', { urls: [`${site.url}/`] }, { mode: 'async' })
    const runsApi = await here.runtime.runs()
    const end = await runsApi.wait(runId)
    expect(end.status).toBe('failed')
    expect(JSON.stringify(end.error)).toContain('Address not allowed')
    expect(site.visits.get('/')).toBeUndefined()
  },
)
