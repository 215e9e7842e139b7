import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closePage } from '../../src/host/browser/close-page.ts'
import { readPage } from '../../src/host/browser/read-page.ts'
import { noBrowser } from '../support/chromium.ts'
import { turnsDuring } from '../support/loop-turns.ts'
import { openReader, type Reader } from '../support/read-page.ts'
import { sweep } from '../support/soak.ts'

let reader: Reader
beforeAll(async () => {
  reader = await openReader()
})
afterAll(async () => reader[Symbol.asyncDispose]())

describe.skipIf(noBrowser !== undefined)('pages that fight being read', () => {
  test('a page that redefines what it is read with, and puts fields over its own properties, is read as it stands', async () => {
    const { markdown, elements } =
      await reader.read(`<main><form id="f"><p>words <b>of it</b></p><input name="firstChild" aria-label="one"><input name="nodeType" aria-label="two">
      <input name="localName"><input name="getAttribute"><input name="attributes"><input name="shadowRoot"><img name="documentElement" alt="x"></form>
      <p>the end</p></main><script>
      const throws = () => { throw new Error('fought') }
      for (const type of [Node, Element, HTMLElement, Document, Text, CharacterData, HTMLInputElement, Array, Map, Set, String, WeakMap, RegExp])
        for (const name of Object.getOwnPropertyNames(type.prototype))
          if (name !== 'constructor') try { Object.defineProperty(type.prototype, name, { get: throws, configurable: true }) } catch {}
      JSON.parse = JSON.stringify = throws
      window.getComputedStyle = throws
      Object.defineProperty(window, 'handrailReading', { get: throws, set: throws })
      performance.now = () => Infinity
      </script>`)
    expect(markdown).toContain('words of it')
    expect(markdown).toContain('the end')
    expect(elements.map(({ name }) => name)).toEqual(expect.arrayContaining(['one', 'two', 'localName', 'attributes']))
  })

  test('elements that are called what the reader is called are read like others', async () => {
    const names = ['handrailReading', 'settled', 'handrail']
    const { markdown } = await reader.read(
      names.map((name) => `<form id="${name}" name="${name}"><p>${name} here</p></form>`).join(''),
    )
    expect(markdown).toBe(names.map((name) => `${name} here`).join('\n'))
  })

  test('nothing of the reading is seen by the page', async () => {
    await reader.read(`<p id="p">x</p><script>
      window.seen = []
      new MutationObserver((all) => seen.push(...all.map(({ type }) => type))).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
      for (const name of ['focusin', 'scroll', 'click', 'selectionchange']) document.addEventListener(name, () => seen.push(name), true)</script>`)
    const { page } = await reader.visit()
    expect(await page.evaluate('[seen, typeof handrailReading]')).toEqual([[], 'undefined'])
  })

  test('rows that never stop coming: what was there is read whole, in parts that fit', async () => {
    const first = await reader.read(
      `<ul id="u"></ul><script>let n = 0; (function add() { for (let k = 0; k < 50; k++) u.append(Object.assign(document.createElement('li'), { textContent: 'row ' + n++ })); setTimeout(add, 0) })()</script>`,
      { maxChars: 2_000 },
    )
    const { page } = await reader.visit()
    let text = first.markdown
    for (let { next } = first; next !== undefined;) {
      const part = await readPage(page, { cursor: next, maxChars: 100_000 })
      text += part.markdown
      next = part.next
    }
    const rows = text.split('\n')
    expect(rows).toEqual(rows.map((_, at) => `- row ${at}`))
    expect(rows.length % 50).toBe(0)
    expect(first.dropped).toEqual({})
  })

  test('a page whose scripts never rest again, and one that goes elsewhere again and again, end in time; the next is read', async () => {
    const { go, page } = await reader.visit()
    reader.answers['/loop'] =
      '<p>x</p><script>addEventListener("load", () => setTimeout(() => { window.on = 1; for (;;); }))</script>'
    await go(`${reader.home}/loop`, 60_000)
    await expect(readPage(page, { timeoutMs: sweep(2_000, 500) })).rejects.toMatchObject({ reason: 'page-timeout' })
    await closePage(page)
    reader.answers['/hop'] = '<p>x</p><script>location.reload()</script>'
    const hopping = await reader.visit()
    await hopping.page.goto(`${reader.home}/hop`, { waitUntil: 'commit' }).catch(() => undefined)
    await readPage(hopping.page, { timeoutMs: sweep(1_500, 500) }).then(
      ({ markdown }) => expect(markdown).toBe('x'),
      (fault: unknown) => expect(fault).toMatchObject({ name: 'Fault' }),
    )
    await closePage(hopping.page)
    expect((await reader.read('<p>fine</p>')).markdown).toBe('fine')
  })

  test('elements as deep as a browser bears, and so deep that it does not', async () => {
    const deep = (depth: number): string =>
      `<p>before</p><div id="r"></div><p>after</p><script>let at = r; for (let i = 0; i < ${depth}; i++) { const one = document.createElement(i % 2 ? 'span' : 'ul'); at.append(one); at = one } at.append('deep words')</script>`
    expect((await reader.read(deep(400))).markdown.replace(/ +/g, ' ')).toBe('before\n\n deep words\n\nafter')
    await expect(reader.read(deep(100_000))).rejects.toMatchObject({ reason: 'page-crashed' })
    expect((await reader.read('<p>fine</p>')).markdown).toBe('fine')
  })

  test('many frames are all read, and what is in none is said', async () => {
    const many = sweep(500, 12)
    const { markdown, dropped } = await reader.read(
      Array.from({ length: many }, (_, at) => `<iframe srcdoc="<p>frame number ${at}."></iframe>`).join(''),
      { maxChars: 1_000_000 },
    )
    expect([...markdown.matchAll(/frame number (\d+)\./g)].map(([, at]) => Number(at))).toEqual(
      Array.from({ length: many }, (_, at) => at),
    )
    expect(dropped).toEqual({})
  })

  test('a page of many megabytes: whole, in parts, and nothing else waits for it', async () => {
    const megabytes = sweep(50, 1)
    const one = `<p>${'word '.repeat(200)}</p>\n`
    const count = Math.ceil((megabytes * 1_000_000) / (one.length + 20))
    const html = `<main>${Array.from({ length: count }, (_, at) => `${one}<p>end of ${at}.`).join('')}</main>`
    reader.answers['/large'] = html
    const { go, page } = await reader.visit()
    await go(`${reader.home}/large`, 120_000)
    const { turns, result: first } = await turnsDuring(() => readPage(page, { maxChars: 1_000, timeoutMs: 120_000 }))
    // It is fetched in pieces, and others have their turn between them.
    expect(turns).toBeGreaterThan(first.totalChars / 200_000)
    expect(first.totalChars).toBeGreaterThan(megabytes * 900_000)
    let ends = 0
    let rest = ''
    for (let { next } = first; next !== undefined;) {
      const part = await readPage(page, { cursor: next, maxChars: 2_000_000, timeoutMs: 120_000 })
      ends += part.markdown.match(/end of \d+\./g)?.length ?? 0
      rest = part.markdown
      next = part.next
    }
    expect(rest.endsWith(`end of ${count - 1}.`)).toBe(true)
    expect(ends).toBe(count)
  })

  test('pages in the writing of their makers: GB18030, Shift JIS, right to left', async () => {
    const gb = Buffer.from([0xc4, 0xe3, 0xba, 0xc3, 0x84, 0x31, 0xa4, 0x37])
    expect((await reader.read(Buffer.concat([Buffer.from('<p>'), gb]), { type: 'text/html; charset=gb18030' })).markdown).toMatch(
      /^你好/,
    )
    const jis = Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea])
    expect(
      (await reader.read(Buffer.concat([Buffer.from('<meta charset=shift_jis><p>'), jis]), { type: 'text/html' })).markdown,
    ).toBe('日本語')
    const { markdown, language } = await reader.read(
      '<html lang="ar" dir="rtl"><h1>مرحبا <b>بالعالم</b></h1><p style="position:relative">النص <span style="position:absolute;left:-300px">بعيد</span> 123</p>',
    )
    expect([markdown, language]).toEqual(['# مرحبا بالعالم\n\nالنص\nبعيد\n123', 'ar'])
  })

  test('what is not a web page is read as it is shown: plain text, JSON, an image', async () => {
    expect((await reader.read('a\n  b <c>\n', { type: 'text/plain' })).markdown).toBe('```\na\n  b <c>\n```')
    expect((await reader.read('{"a":[1]}', { type: 'application/json' })).markdown).toContain('{"a":[1]}')
    expect(
      (await reader.read('<svg xmlns="http://www.w3.org/2000/svg"><text y="20">drawn</text></svg>', { type: 'image/svg+xml' }))
        .markdown,
    ).toBe('drawn')
  })
})
