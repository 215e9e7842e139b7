import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../../src/host/browser/find.ts'
import { noBrowser } from '../support/chromium.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

// `audit export --html`: one file that tells what was done, and finds out by itself whether a byte of it was changed.

let world: World
let exported: string
const hostile = '</script><img src=x onerror=alert(1)><!-- \u202etxt'

beforeAll(async () => {
  world = await openWorld({ files: { 'package.json': '{}\n', 'src/a.txt': 'a\n' }, flags: { 'write-requires-diff': 'false' } })
  await world.call('write_to_file', { path: 'src/a.txt', content: 'b\n', dryRun: false }, { client: 'editor/2.1' })
  const change = { path: 'package.json', content: '{ "name": "x" }\n', dryRun: false }
  const { details } = await world.fault('write_to_file', change, { approvalWaitMs: 0, client: hostile })
  world.runtime.approvals.decide(String(details?.['approvalId']), { approve: true, by: 'ada@cli', note: 'go on', unread: true })
  await world.call('write_to_file', change, { approvalWaitMs: 0, client: hostile })
  await world.fault('read_file', { path: 'none.txt' })
  // What was only read is written down a moment later, unless somebody looks.
  world.runtime.audit.head()
  const { code, out } = await runInside(world.project, ['audit', 'export', '--html'])
  expect(code).toBe(0)
  exported = out
})
afterAll(() => world[Symbol.asyncDispose]())

const shown = async (...args: string[]): Promise<Record<string, unknown>[]> =>
  (await runInside(world.project, ['audit', 'show', '--json', ...args])).out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('audit show', () => {
  test('by path: a file, and what lies below a folder, and nothing that only begins alike', async () => {
    const below = await shown('--path', 'src/')
    expect(below.length).toBeGreaterThan(0)
    expect(JSON.stringify(below)).not.toContain('package.json')
    expect((await shown('--path', './src/a.txt')).length).toBe(below.length)
    expect(await shown('--path', 'sr')).toEqual([])
  })

  test('by client and by outcome, together with the others', async () => {
    expect((await shown('--client', 'editor')).every(({ client }) => client === 'editor/2.1')).toBe(true)
    expect((await shown('--client', 'editor', '--outcome', 'ok')).length).toBe(1)
    expect((await shown('--outcome', 'error')).map(({ tool }) => tool)).toContain('read_file')
    expect((await shown('--outcome', 'E_NOT_FOUND')).map(({ tool }) => tool)).toEqual(['read_file'])
    expect(await shown('--outcome', 'approved')).toMatchObject([{ event: 'approval.decided', by: 'ada@cli' }])
    expect(await shown('--client', 'edit')).toEqual([])
  })
})

test('a log that is broken is not made into a page that says it is whole', async () => {
  await using other = await openWorld({ files: { 'a.txt': 'a\n' } })
  await other.put('a.txt', 'b\n')
  const log = other.state('audit.jsonl')
  writeFileSync(log, readFileSync(log, 'utf8').replace('write_to_file', 'write_to_fil3'))
  const { code, out, err } = await runInside(other.project, ['audit', 'export', '--html'])
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain('broken')
})

describe.skipIf(noBrowser !== undefined)('the exported page, from disk and without the network', () => {
  let browser: Browser
  let page: Page
  const alerts: string[] = []
  const asked: string[] = []
  beforeAll(async () => {
    const found = findChromium(process.env)
    browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
    const context = await browser.newContext({ offline: true, viewport: { width: 360, height: 800 } })
    page = await context.newPage()
    page.on('dialog', (dialog) => {
      alerts.push(dialog.message())
      void dialog.dismiss()
    })
    page.on('request', (request) => asked.push(request.url()))
  })
  afterAll(() => browser?.close())

  const open = async (name: string, text: string): Promise<string> => {
    const file = join(world.base, name)
    writeFileSync(file, text)
    await page.goto(pathToFileURL(file).href)
    return page.locator('#verdict').innerText()
  }

  test('says that it is intact, with the head that verify prints, and tells the story of a call', async () => {
    const { out } = await runInside(world.project, ['audit', 'verify', '--json'])
    const { head, lines } = JSON.parse(out) as { head: string; lines: number }
    expect(await open('log.html', exported)).toBe(`Log intact: ${lines} entries, head ${head}`)
    await page.locator('#find').fill('package.json')
    const story = page.locator('.story').first()
    await story.locator('summary').click()
    await story.locator('pre').first().waitFor()
    const told = await story.innerText()
    expect(told).toContain('write_to_file package.json')
    expect(told).toMatch(
      /a person was asked \(R2\)[^]*approved by ada@cli “go on”[^]*went on after the answer[^]*ok after \d+ ms/,
    )
    expect(told).toContain('</script><img src=x onerror=alert(1)><!-- \\u{202e}txt')
  })

  test('nothing of an agent runs there, nothing is asked for, nothing reaches beyond 360 pixels, and axe is content', async () => {
    await open('log.html', exported)
    expect(await page.locator('img').count()).toBe(0)
    expect([alerts, asked.filter((url) => !url.startsWith('file:'))]).toEqual([[], []])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    const context = await browser.newContext({ bypassCSP: true })
    const other = await context.newPage()
    await other.goto(page.url())
    await other.evaluate(axe.source)
    const { violations } = (await other.evaluate('axe.run()')) as { violations: { id: string }[] }
    await context.close()
    expect(violations.map(({ id }) => id)).toEqual([])
  })

  test('finds one changed letter, one entry taken out, and an end that was cut off', async () => {
    expect(await open('letter.html', exported.replace('"by":"ada@cli"', '"by":"eve@cli"'))).toMatch(
      /^CHANGED: entry \d+ was changed/,
    )
    const [start = '', log = '', end = ''] = exported.split(/(?<=id="log">\n)|(?=<\/script>\n<script>)/)
    const lines = log.split('\n').filter(Boolean)
    const without = (from: number): string => `${start}${lines.toSpliced(from, 1).join('\n')}\n${end}`
    expect(await open('middle.html', without(3))).toMatch(/^CHANGED: entry 4 /)
    expect(await open('cut.html', without(lines.length - 1))).toMatch(/^CHANGED: entry \d+ is missing/)
    expect(await open('again.html', exported)).toMatch(/^Log intact/)
  })
})
