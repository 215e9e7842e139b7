import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { printable } from '../../src/text/printable.ts'
import { findChromium } from '../../src/host/browser/find.ts'
import { noBrowser } from '../support/chromium.ts'
import { signInByLink } from '../support/person.ts'
import { openServe, type Served } from '../support/serve.ts'
import { ask, shownFirst } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

/** Hostile names and contents as a person sees them, in a real browser: nothing runs, nothing lies over anything else or off the page. */

const zalgo = `Z${'\u0301\u0336\u035c'.repeat(60)}`
const markup =
  '<img src=x onerror=alert(1)></pre></code><form action=/approvals><button>Approve</button></form><script>alert(1)</script>'
const long = 'l'.repeat(180)

let world: World
let served: Served
let browser: Browser
let page: Page
let asked: Approval
const dialogs: string[] = []

beforeAll(async () => {
  if (noBrowser !== undefined) return
  world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: shownFirst })
  served = await openServe(world.project, { args: ['--enable-shell'] })
  const found = findChromium(process.env)
  browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
  world.write(
    'made.txt',
    [markup, zalgo, `${long}${long}${long}`, '\u05d0\u05d1 12 34', '\u202eevil', ' '.repeat(400) + 'far', 'end'].join('\n'),
  )
  asked = await ask(world, {
    command: [
      `cp made.txt a.txt; mkdir -p '${long}/${long}'; cp made.txt '${long}/${long}/package.json'`,
      `cp made.txt 'two  blanks.txt'; cp made.txt '\u05d0\u05d1 12'; cp made.txt 'z${'\u0301'.repeat(60)}'; : '<b>x'; ln -s 't${'u'.repeat(400)}' way; cat made.txt`,
    ].join('; '),
  })
  const { cookie, basePath } = await signInByLink(served, world.project)
  const [name = '', value = ''] = cookie.split('=')
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 } })
  page = await context.newPage()
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  const url = new URL(served.url)
  await context.addCookies([{ name, value, domain: url.hostname, path: '/' }])
  await page.goto(`http://127.0.0.1:${served.port}${basePath}/approvals/${asked.id}`)
  if (process.env['SHOW_PAGE']) await page.screenshot({ path: process.env['SHOW_PAGE'], fullPage: true })
})

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

describe.skipIf(noBrowser !== undefined)('a hostile card in Chromium', () => {
  test('is text: no element, picture or script of it', async () => {
    expect(await page.title()).toContain('Approval')
    expect(await page.locator('main img:not(.elsewhere), main script').count()).toBe(0)
    expect(await page.locator('main form').count()).toBe(1)
    expect(await page.locator('main button').count()).toBe(2)
    expect(dialogs).toEqual([])
  })

  test('nothing reaches beyond the page', async () => {
    const [scroll, client] = (await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )) as [number, number]
    expect(scroll).toBeLessThanOrEqual(client)
    const over = await page.evaluate(`
      const { right } = document.querySelector('main').getBoundingClientRect();
      [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > right + 1).length`)
    expect(over).toBe(0)
  })

  test('marks that pile up are written out, so that no line is painted over another', async () => {
    expect(printable(zalgo)).toMatch(/\\u0301/)
    expect(printable('café, नमस्ते, ภาษาไทยที่นี่, Việt Nam, שָׁלוֹם')).not.toContain('\\u')
    expect(await page.locator('main').innerText()).not.toMatch(/\p{M}{6}/u)
  })

  test('a name keeps its blanks and its order, apart from what we say of it', async () => {
    const styles = (await page.evaluate(`
      [...document.querySelectorAll('.change code')].map((one) => [getComputedStyle(one).unicodeBidi, getComputedStyle(one).whiteSpace])`)) as string[][]
    expect(styles.length).toBeGreaterThan(4)
    for (const style of styles) expect(style).toEqual(['isolate', 'pre-wrap'])
    expect(await page.locator('summary', { hasText: 'two  blanks.txt' }).count()).toBe(1)
  })
})
