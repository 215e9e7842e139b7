import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../../src/host/browser/find.ts'
import { branchingGame } from '../support/branching-game.ts'
import { noBrowser } from '../support/chromium.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

// The route map as a page and as a picture, in a real browser.

describe.skipIf(noBrowser !== undefined)('the route map', () => {
  let browser: Browser
  let page: Page
  const wrong: string[] = []
  beforeAll(async () => {
    const found = findChromium(process.env)
    browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
    const context = await browser.newContext({ offline: true, viewport: { width: 1200, height: 800 } })
    page = await context.newPage()
    page.on('dialog', (dialog) => {
      wrong.push(dialog.message())
      void dialog.dismiss()
    })
    page.on('pageerror', ({ message }) => wrong.push(message))
    page.on('console', (said) => wrong.push(said.text()))
    page.on('request', (request) => request.url().startsWith('file:') || wrong.push(request.url()))
  })
  afterAll(() => browser?.close())

  const open = async (world: World, format: 'html' | 'svg', config = ''): Promise<void> => {
    const { drawing } = await world.call<{ drawing: string }>('scene_graph', { format })
    const file = join(world.base, `map${config}.${format}`)
    writeFileSync(file, drawing)
    await page.goto(pathToFileURL(file).href)
  }
  /** Captions that reach over another one, or out of their box. */
  const overlaps = (within: string): Promise<string[]> =>
    page.evaluate(
      `(() => {
        const found = [...document.querySelectorAll(${JSON.stringify(within)})].map((node) => ({ node, box: node.getBoundingClientRect(), around: node.closest('svg.scene')?.getBoundingClientRect() }))
        const bad = found.filter(({ box, around }) => around && (box.left < around.left || box.right > around.right + 0.5 || box.bottom > around.bottom + 0.5)).map(({ node }) => 'out of its box: ' + node.textContent)
        found.sort((one, two) => one.box.left - two.box.left)
        for (let i = 0; i < found.length; i++)
          for (let k = i + 1; k < found.length && found[k].box.left < found[i].box.right; k++)
            if (found[k].box.top < found[i].box.bottom - 0.5 && found[i].box.top < found[k].box.bottom - 0.5) bad.push(found[i].node.textContent + ' / ' + found[k].node.textContent)
        return bad
      })()`,
    )

  for (const count of isSoak ? [10, 300, 1_000] : [300])
    test(`${count} scenes: no caption over another, none out of its box, a legend, those never reached apart`, async () => {
      await using world = await openWorld({ files: branchingGame(count), config: { lang: 'EN' } })
      for (const format of ['svg', 'html'] as const) {
        await open(world, format)
        expect(await page.locator('svg.scene[data-i]').count()).toBe(count)
        expect(await overlaps('text')).toEqual([])
        const lowest = (selector: string, side: 'top' | 'bottom'): Promise<number> =>
          page.evaluate(
            `Math.${side === 'top' ? 'min' : 'max'}(...[...document.querySelectorAll('${selector}')].map((node) => node.getBoundingClientRect().${side}))`,
          )
        if (count < 30) continue
        expect(await lowest('svg.scene[data-i].lost', 'top')).toBeGreaterThan(
          await lowest('svg.scene[data-i]:not(.lost)', 'bottom'),
        )
      }
      expect(await page.locator('footer').innerText()).toMatch(/dead end[^]*never reached[^]*is called/)
      expect(wrong).toEqual([])
    })

  test('a place that leads to a hundred and twenty others and back: no box over another, lines beside them', async () => {
    const places = Array.from({ length: 120 }, (_, index) => `place${index}`)
    const files = Object.fromEntries(places.map((name) => [`game/scene/${name}.txt`, 'changeScene:start.txt;\n']))
    const start = `choose:${places.map((name) => `${name}:${name}.txt`).join('|')};\n`
    await using world = await openWorld({ files: { ...files, 'game/scene/start.txt': start } })
    await open(world, 'svg')
    expect(await overlaps('svg.scene[data-i] > rect')).toEqual([])
    const { width, height } = (await page.locator('svg').first().boundingBox()) ?? { width: 0, height: 1 }
    expect(width / height).toBeGreaterThan(0.4)
    expect(width / height).toBeLessThan(4)
  })

  test('found by name, moved, zoomed and walked by keys; a click tells lines, labels and ways; both languages; axe is content', async () => {
    await using world = await openWorld({ files: branchingGame(60), config: { lang: 'EN' } })
    await open(world, 'html')
    const view = (): Promise<string | null> => page.locator('#world').getAttribute('transform')
    const before = await view()
    await page.mouse.move(700, 300)
    await page.mouse.down()
    await page.mouse.move(640, 260, { steps: 3 })
    await page.mouse.up()
    const moved = await view()
    expect(moved).not.toBe(before)
    await page.mouse.wheel(0, -400)
    await expect.poll(view).not.toBe(moved)
    await page.keyboard.press('/')
    await page.keyboard.type('夜10')
    expect(await page.locator('#hits li').allInnerTexts()).toEqual(['夜10'])
    await page.keyboard.press('Enter')
    const panel = page.locator('#panel')
    const told = await panel.innerText()
    expect(told).toMatch(/夜10\.txt[^]*和她一起去海边看日落[^]*Tell her the truth about the letter \[score>3\][^]*Reached from/)
    expect(told).toContain('雪乃:这是第10个场景，海风真舒服呢。;')
    await page.keyboard.press('ArrowRight')
    expect(await panel.locator('h2').innerText()).not.toBe('夜10.txt')
    await page.keyboard.press('Escape')
    expect(await panel.isHidden()).toBe(true)
    await page.keyboard.press('0')
    await page.locator('svg.scene[data-i]', { hasText: /其一5\.txt/ }).click()
    expect(await panel.innerText()).toMatch(/#nowhere[^]*Labels \(1\)[^]*here/)
    const [cut, name] = (await page.evaluate(
      `[...document.querySelectorAll('svg.scene[data-i]')].map((node) => [node.querySelector('.name').textContent, node.querySelector('title').textContent]).find(([, name]) => name.startsWith('第三章'))`,
    )) as [string, string]
    expect(name).toMatch(/^第三章·雪乃的回忆与那个夏天的最后一封没有寄出的信\d+\.txt$/)
    expect(cut).toMatch(/^第三章.+…\D*\d+$/)
    await page.locator('#problems').click()
    expect(await panel.innerText()).toMatch(
      /Scenes that are not there \(\d+\)[^]*missing7\.txt[^]*Labels that are not there[^]*Dead ends[^]*never reached/,
    )
    await page.locator('#lang').click()
    expect(await panel.innerText()).toMatch(/不存在的场景[^]*不存在的标签/)
    expect(wrong).toEqual([])
    const context = await browser.newContext({ bypassCSP: true })
    // Either of them in `npm test`, by the seed.
    const schemes = ['light', 'dark'] as const
    const one = draws('colours of the map')(schemes.length)
    for (const colorScheme of schemes.filter((_, at) => isSoak || at === one)) {
      const other = await context.newPage()
      await other.emulateMedia({ colorScheme })
      await other.goto(page.url())
      await other.keyboard.press('ArrowRight')
      await other.evaluate(axe.source)
      const { violations } = (await other.evaluate('axe.run()')) as { violations: { id: string }[] }
      expect(violations.map(({ id }) => id)).toEqual([])
    }
    await context.close()
  })

  test('no name breaks the page: markup, turned round, endless, piled up', async () => {
    const hostile = [
      '<img src=x onerror=alert(1)>',
      '</script><script>alert(2)<!--',
      '&quot;"\'`${x}',
      'a\u202egnp.exe',
      '\u05d0'.repeat(60),
      'W'.repeat(180),
      `e${'\u0301'.repeat(80)}`,
      '﷽﷽﷽﷽',
      '👩‍👩‍👧‍👦'.repeat(6),
    ].map((name) => name.replaceAll('/', '_'))
    const options = hostile.map((name) => `${name.replaceAll(/[:|]/g, '')}:${name}.txt`)
    const script = [
      'label:</script><b>x',
      ...options.map((one) => `choose:${one};`),
      'choose:</text></svg><script>alert(3)</script>:start;',
      'jumpLabel:<i>;',
    ].join('\n')
    await using world = await openWorld({
      files: {
        'game/config.txt': 'Game_name:</title><script>alert(4)</script>;\n',
        'game/scene/start.txt': script,
        ...Object.fromEntries(hostile.map((name) => [`game/scene/${name}.txt`, `${name}\nend;\n`])),
      },
    })
    for (const format of ['svg', 'html'] as const) {
      await open(world, format)
      expect(await page.locator('svg.scene[data-i]').count()).toBe(hostile.length + 1)
      expect(await page.locator('img, b, i, #world script').count()).toBe(0)
      // Wider than was reckoned with is clipped by its box; two boxes never meet.
      expect(await overlaps('svg.scene[data-i] > rect')).toEqual([])
    }
    await page.locator('svg.scene[data-i]', { hasText: 'start' }).click()
    expect(await page.locator('#panel').innerText()).toContain('</script><b>x')
    expect(await page.locator('h1').innerText()).toBe('</title><script>alert(4)</script>')
    expect(wrong).toEqual([])
  })
})
