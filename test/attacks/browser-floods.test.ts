import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser } from '../support/chromium.ts'
import { handIn } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { sweep } from '../support/soak.ts'
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

// The driver makes one string of whatever a page makes the browser say, and throws where nobody catches it: the process would end.
describe.skipIf(noBrowser !== undefined)('a page that says more at once than a string can hold', () => {
  test('to its console ends its browser, and nothing else', async () => {
    // Six bytes each, as they are sent.
    const script = String.raw`console.log('\u0001'.repeat(${sweep(1e8, 3e7)}))`
    site.pages.set('/much', html(`<p>hi</p><script>${script}</script>`))
    site.pages.set('/fine', html('<p>a good page</p>', 'fine'))
    const read = (path: string) => handIn(world, 'batch_extract_pages', { urls: [site.url + path] }, { mode: 'sync' })
    expect(await read('/much')).toMatchObject({
      status: 'failed',
      error: { details: { failures: [{ errorCode: 'PAGE_CRASHED' }] } },
    })
    expect(await read('/fine')).toMatchObject({ status: 'succeeded', result: { items: [{ title: 'fine' }] } })
  })

  test('ends the browsers of nobody else, from the second time on', async () => {
    site.pages.set('/much', html(`<script>console.log('\\u0001'.repeat(${sweep(1e8, 3e7)}))</script>`))
    const read = (path: string, session: string) =>
      world.call('visit_page', { url: site.url + path }, { session }).then(
        () => 'read',
        (fault: { reason: string }) => fault.reason,
      )
    expect(await read('/much', 'sess_floods')).toBe('page-crashed')
    // Answered once the other's browser has ended.
    let answer = (): void => undefined
    const isThere = new Promise<void>((there) => {
      site.pages.set('/waits', (_, response) => {
        answer = () => void response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('late'))
        there()
      })
    })
    const beside = read('/waits', 'sess_beside')
    await isThere
    expect(await read('/much', 'sess_floods')).toBe('page-crashed')
    answer()
    expect(await beside).toBe('read')
    expect(site.visits.get('/waits')).toBe(1)
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
