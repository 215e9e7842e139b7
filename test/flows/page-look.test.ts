// @stage
import axe from 'axe-core'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { findChromium } from '../../src/host/browser/find.ts'
import { noBrowser } from '../support/chromium.ts'
import { serveInside } from '../support/inside.ts'
import { signInByLink, visitAt, type Person } from '../support/person.ts'
import type { Served } from '../support/serve.ts'
import { isSoak } from '../support/soak.ts'
import { ask, shownFirst } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'
import { picture } from '../support/picture.ts'

// What a person sees of the page, in a real browser.

let world: World
let served: Served
let person: Person
let browser: Browser
const asked: Record<string, Approval> = {}
let inWords = ''

beforeAll(async () => {
  if (noBrowser !== undefined) return
  const files: Record<string, string | Buffer> = {
    'src/app.ts': 'one\ntwo\n',
    'docs/old.md': '# Title\n\nwords\n',
    'package.json': '{ "dependencies": { "react": "18" } }\n',
    'logo.png': picture(60, 40, [200, 30, 30]),
  }
  for (let at = 0; at < 402; at++) files[`many/f${at}.txt`] = `one ${at}\ntwo\nthree\n`
  world = await openWorld({ files, flags: { ...shownFirst, 'write-requires-diff': 'false' } })
  served = await serveInside(world.project)
  person = await signInByLink(served, world.project)
  asked['many'] = await ask(world, {
    command: 'for f in many/*; do sed -i s/two/zwei/ $f; done; rm many/f1?.txt; mv docs/old.md docs/new.md',
  })
  asked['several'] = await ask(world, { command: 'for f in many/f2*; do echo more >> $f; done; rm many/f3.txt; echo printed' })
  world.write('next.png', picture(80, 40, [30, 30, 200]))
  asked['picture'] = await ask(world, { command: 'cp next.png logo.png; cp next.png new.png; tar cf pack.tar src docs' })
  asked['network'] = await ask(world, { command: `curl https://example.com/${'long'.repeat(60)}`, network: true })
  asked['package'] = await ask(
    world,
    { path: 'package.json', content: '{ "scripts": { "postinstall": "node x.js" } }\n', dryRun: false },
    'write_to_file',
  )
  await world.call('ask_followup_question', {
    question: `Which?\n${'long'.repeat(60)}`,
    options: ['short', 'a long one '.repeat(12)],
  })
  inWords = world.runtime.questions.list()[0]?.id ?? ''
  const found = findChromium(process.env)
  browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
})

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

interface Look {
  width: number
  colorScheme: 'light' | 'dark'
  locale: 'en-GB' | 'zh-CN'
}

async function looking(
  { width, colorScheme, locale }: Look,
  use: (open: (path: string) => Promise<Page>, context: BrowserContext) => Promise<void>,
): Promise<void> {
  // Without our policy axe could not be put into the page; what the policy says is tested elsewhere.
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, locale, bypassCSP: true })
  try {
    const [name = '', value = ''] = person.cookie.split('=')
    await context.addCookies([{ name, value, domain: '127.0.0.1', path: '/' }])
    const page = await context.newPage()
    await use(async (path) => {
      await page.goto(`http://127.0.0.1:${served.port}${person.basePath}${path}`)
      return page
    }, context)
  } finally {
    await context.close()
  }
}

const looks: Look[] = [
  { width: 1200, colorScheme: 'light', locale: 'en-GB' },
  { width: 360, colorScheme: 'dark', locale: 'zh-CN' },
]

describe.skipIf(noBrowser !== undefined)('the page', () => {
  test.for(looks.map((look, nth) => ({ ...look, nth })))(
    'is clean for axe, and nothing reaches beyond it: $width px, $colorScheme, $locale',
    async (look) => {
      await looking(look, async (open) => {
        // Hundreds of rows of one kind tell axe nothing new, and take it a minute.
        const cards = [asked['several'], asked['network'], asked['package'], asked['picture']].map(
          (one) => `/approvals/${one?.id}`,
        )
        for (const [at, path] of ['/approvals', `/questions/${inWords}`, ...cards].entries()) {
          const page = await open(path)
          expect(await page.evaluate('document.documentElement.lang')).toBe(look.locale === 'zh-CN' ? 'zh-CN' : 'en')
          expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
          await page.evaluate(`document.querySelectorAll('details').forEach((one) => (one.open = true))`)
          expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
          // Each of them in one of both looks; in the soak in both.
          if (!isSoak && at % looks.length !== look.nth) continue
          await page.evaluate(axe.source)
          const { violations } = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] }
          expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
        }
      })
    },
  )

  test('402 changed files are counted first and folded: a few screens, and the buttons in sight', async () => {
    await looking({ width: 1200, colorScheme: 'light', locale: 'en-GB' }, async (open) => {
      const page = await open(`/approvals/${asked['many']?.id}`)
      expect(await page.locator('.counts').innerText()).toBe('403 changes: 10 deleted, 1 renamed, 392 modified')
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(4_000)
      // The first fold one by one; of the others every line is there as in a terminal, in a hundredth of the parts.
      expect(await page.locator('details.change').count()).toBe(200)
      const plain = (await page.locator('pre.plain').allTextContents()).join('')
      expect(plain.match(/^many\/f\d+\.txt · modified · \d+ → \d+ bytes · sha256 \w{16} → \w{16}$/gm)).toHaveLength(192)
      expect(plain.match(/^@@ line 2: 1 out, 1 in @@\n- two\n\+ zwei$/gm)).toHaveLength(192)
      const box = await page.locator('button.yes').boundingBox()
      expect((box?.y ?? 1e9) + (box?.height ?? 0)).toBeLessThanOrEqual(800)
      expect(await page.locator('.flat', { hasText: 'docs/new.md' }).innerText()).toContain('docs/old.md → docs/new.md')
    })
  })

  test('a network request is the loudest: above everything else of the card, in words and in colour', async () => {
    await looking({ width: 1200, colorScheme: 'light', locale: 'en-GB' }, async (open) => {
      const page = await open(`/approvals/${asked['network']?.id}`)
      const loud = page.locator('.loud')
      expect(await loud.innerText()).toMatch(/With the network[^]*No undo brings back/)
      const [loudY, noteY] = [(await loud.boundingBox())?.y ?? 1e9, (await page.locator('.said').last().boundingBox())?.y ?? 0]
      expect(loudY).toBeLessThan(noteY)
    })
  })

  test('a package.json is told as packages, an archive as files, a picture by both sides of it', async () => {
    await looking({ width: 1200, colorScheme: 'light', locale: 'en-GB' }, async (open) => {
      const packages = await open(`/approvals/${asked['package']?.id}`)
      const rows = await packages.locator('.diff').innerText()
      expect(rows).toMatch(/as packages[^]*- react 18\n\+ script postinstall, which runs by itself: node x\.js/)
      const page = await open(`/approvals/${asked['picture']?.id}`)
      // Those further down wait until somebody comes near them.
      await page.evaluate(`for (const one of document.querySelectorAll("figure img")) one.loading = 'eager'`)
      await page.waitForFunction(`[...document.querySelectorAll("figure img")].every((one) => one.naturalWidth > 0)`)
      const widths = (await page.evaluate(
        `[...document.querySelectorAll('figure')].map((one) => one.innerText.trim() + ' ' + one.querySelector('img').naturalWidth)`,
      )) as string[]
      expect(widths).toEqual(['Before 60', 'After 80', 'After 80'])
      expect(await page.locator('.change', { hasText: 'pack.tar' }).innerText()).toContain('+ src/app.ts 8 bytes')
    })
  })

  test('a picture is served as one, of a question that waits, to the person alone', async () => {
    const at = (path: string) => `${person.basePath}/pictures/${asked['picture']?.id}?side=after&path=${path}`
    const seen = await visitAt(served.port, at('logo.png'), { headers: { Cookie: person.cookie } })
    expect([seen.status, seen.headers.get('content-type'), seen.headers.get('x-content-type-options')]).toEqual([
      200,
      'image/png',
      'nosniff',
    ])
    expect(seen.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    for (const path of ['pack.tar', 'src/app.ts', '../outside', '', 'none.png'])
      expect((await visitAt(served.port, at(path), { headers: { Cookie: person.cookie } })).status).toBe(404)
    expect((await visitAt(served.port, at('logo.png'))).status).toBe(401)
    const framed = { Cookie: person.cookie, 'Sec-Fetch-Dest': 'document' }
    expect((await visitAt(served.port, at('logo.png'), { headers: framed })).status).toBe(403)
  })

  test('by keyboard alone: to the answer, no, and the next card is there, with what became of the last', async () => {
    await looking({ width: 1200, colorScheme: 'light', locale: 'en-GB' }, async (open) => {
      const first = await ask(world, { command: 'echo first > first.txt' })
      const page = await open(`/approvals/${first.id}`)
      expect(await page.title()).toMatch(/^\(7\) Approval · project · Handrail$/)
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('#answer')
      await page.locator('textarea').focus()
      await page.keyboard.type('not today')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.value')).toBe('decline')
      // What was shown a moment ago is not answered by a press that was meant for the one before.
      await page.evaluate(`document.querySelector('[name=shown]').value = Date.now() - 60_000`)
      await page.keyboard.press('Enter')
      await page.waitForURL((url) => url.searchParams.get('after') === first.id)
      expect(page.url()).toContain(asked['many']?.id)
      expect(await page.locator('.notice').innerText()).toMatch(/^declined by person@page.*not today/)
      await page.goto(`http://127.0.0.1:${served.port}${person.basePath}/approvals`)
      expect(await page.locator('.verdicts').innerText()).toMatch(/declined by person@page.*not today.*Run echo first/)
    })
  })

  test('a no that comes with the card itself does not count; one that comes later does', async () => {
    const { id } = await ask(world, { command: 'echo second > second.txt' })
    const at = `${person.basePath}/approvals/${id}`
    const form = /name="form" value="([^"]+)"/.exec((await visitAt(served.port, at, { headers: { Cookie: person.cookie } })).text)
    const decline = (shown: number) =>
      visitAt(served.port, at, {
        method: 'POST',
        headers: { Cookie: person.cookie, Origin: served.url, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ form: form?.[1] ?? '', decision: 'decline', shown: String(shown) }).toString(),
      })
    const early = await decline(Date.now() + 60_000)
    expect([early.status, world.runtime.approvals.state(id)]).toEqual([200, 'pending'])
    expect(early.text).toContain('did not count')
    expect([(await decline(Date.now() - 60_000)).status, world.runtime.approvals.state(id)]).toEqual([303, 'denied'])
  })

  test('an open page shows that somebody answered elsewhere, without a script, and keeps what is typed', async () => {
    await world.call('ask_followup_question', { question: 'Which of them?' })
    const id = world.runtime.questions.list().at(-1)?.id ?? ''
    await looking({ width: 360, colorScheme: 'light', locale: 'zh-CN' }, async (open) => {
      // It is loaded, though the picture is still to come.
      const page = await open(`/questions/${id}`)
      await page.fill('textarea', 'half a word')
      expect(await page.evaluate(`document.querySelector('img.elsewhere').naturalWidth`)).toBe(0)
      world.runtime.questions.answer(id, 'this one', 'mara@cli')
      await page.waitForFunction(`document.querySelector('img.elsewhere').naturalWidth > 200`)
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      expect(await page.inputValue('textarea')).toBe('half a word')
    })
  })

  test('the language can be chosen, and stays', async () => {
    await looking({ width: 1200, colorScheme: 'light', locale: 'en-GB' }, async (open) => {
      const page = await open('/approvals')
      await page.getByText('中文').click()
      expect(await page.locator('h1').innerText()).toBe('有 6 个请求等你答复')
      await page.locator('.one a').first().click()
      expect(await page.evaluate('document.documentElement.lang')).toBe('zh-CN')
    })
  })
})
