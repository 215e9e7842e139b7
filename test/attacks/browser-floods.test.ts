import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBareSessions, wantedBy } from '../support/bare-sessions.ts'
import { noBrowser } from '../support/chromium.ts'
import { patienceMs } from '../support/patience.ts'
import { handIn } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
beforeAll(async () => {
  site = await openSite()
  world = await openWorld()
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

/** What becomes of a visit to a path of the site, by somebody. */
type Read = (path: string, session: string) => Promise<string>

/** A page that says so many bytes to its console, twice, and beside it the page of somebody else. */
async function floods(read: Read, bytes: number): Promise<void> {
  // Six bytes each, as they are sent.
  site.pages.set('/much', html(`<script>console.log('\\u0001'.repeat(${Math.ceil(bytes / 6)}))</script>`))
  site.pages.set('/fine', html('<p>a good page</p>', 'fine'))
  expect(await read('/much', 'sess_floods')).toBe('page-crashed')
  // Answered once the other's browser has ended.
  let answer = (): void => undefined
  const isThere = new Promise<void>((there) => {
    site.pages.set('/waits', (_, response) => {
      answer = () => void response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('late'))
      there()
    })
  })
  site.visits.delete('/waits')
  const beside = read('/waits', 'sess_beside')
  await isThere
  expect(await read('/much', 'sess_floods')).toBe('page-crashed')
  answer()
  expect(await beside).toBe('read')
  expect(site.visits.get('/waits')).toBe(1)
  expect([await read('/fine', 'sess_beside'), await read('/fine', 'sess_floods')]).toEqual(['read', 'read'])
}
const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'read',
    (fault: { reason: string }) => fault.reason,
  )

// The driver makes one string of whatever a page makes the browser say, and throws where nobody catches it: the process would end.
describe.skipIf(noBrowser !== undefined)('a page that says more at once than a string can hold', () => {
  test.runIf(isSoak)('to its console ends its browser, and nothing else', async () => {
    const script = String.raw`console.log('\u0001'.repeat(1e8))`
    site.pages.set('/much', html(`<p>hi</p><script>${script}</script>`))
    site.pages.set('/fine', html('<p>a good page</p>', 'fine'))
    const read = (path: string) => handIn(world, 'batch_extract_pages', { urls: [site.url + path] }, { mode: 'sync' })
    expect(await read('/much')).toMatchObject({
      status: 'failed',
      error: { details: { failures: [{ errorCode: 'PAGE_CRASHED' }] } },
    })
    expect(await read('/fine')).toMatchObject({ status: 'succeeded', result: { items: [{ title: 'fine' }] } })
  })

  test.runIf(isSoak)('ends the browsers of nobody else, from the second time on', async () => {
    await floods((path, session) => outcome(world.call('visit_page', { url: site.url + path }, { session })), 6e8)
  })

  test('or than is listened to, ends its own browser, and those of nobody else from the second time on', async () => {
    const patience = { launchMs: patienceMs, answerMs: patienceMs, closeMs: 5_000, mostSaid: 4_000_000 }
    const { sessions, close } = openBareSessions(patience)
    const read: Read = (path, session) =>
      outcome(
        sessions.withPage(wantedBy(session, session), async (page) => {
          await page.go(site.url + path)
          await page.read({})
        }),
      )
    try {
      await floods(read, 6_000_000)
    } finally {
      await close()
    }
  })
})

describe.skipIf(noBrowser !== undefined)('a client whose pages hang', () => {
  test('keeps no other from theirs', async () => {
    const held: (() => void)[] = []
    let ready = (): void => undefined
    const allHang = new Promise<void>((done) => (ready = done))
    site.pages.set('/hangs', (_, response) => {
      held.push(() => void response.end('x'))
      if (held.length === 8) ready()
    })
    site.pages.set('/fine', html('<p>a good page</p>', 'fine'))
    const visit = (path: string, session: string) => world.call('visit_page', { url: site.url + path }, { session })
    const hanging = Promise.allSettled(Array.from({ length: 12 }, () => visit('/hangs', 'sess_many')))
    await allHang
    expect(await visit('/fine', 'sess_other')).toMatchObject({ title: 'fine' })
    site.pages.set('/hangs', html('no more'))
    for (const letGo of held) letGo()
    await hanging
  })
})
