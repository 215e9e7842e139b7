import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/host/browser/read-page.ts'
import { noBrowser } from '../support/chromium.ts'
import { openReader, type Reader } from '../support/read-page.ts'

let reader: Reader
beforeAll(async () => {
  reader = await openReader()
})
afterAll(async () => reader[Symbol.asyncDispose]())

describe.skipIf(noBrowser !== undefined)('what a page says', () => {
  test('headings, lists, tables, code, quotations and links, main part first', async () => {
    const { markdown, title, language, links, untrusted, dropped } =
      await reader.read(`<!doctype html><html lang="en"><title>Sample</title>
      <nav><a href="/home">Home</a> <a href="https://other.example/x">Other</a></nav>
      <main><h1>Hello <em>world</em></h1><p>Use <code>code()</code>, see <a href="/x?q=1#z">the <b>manual</b></a>.<br>Next line</p>
      <ul><li>One<ol start="3"><li>three<li>four</ol></li><li><p>Two</p><p>and more</p></li></ul>
      <table><caption>Prices</caption><tr><th>Kind<th>Size<th>Price<tr><td rowspan="2">Tea<td>small<td>2<tr><td>large<td>3<tr><td colspan="2">Both<td>5</table>
      <div class="highlight-python"><pre>def f():\n    return 1\n</pre></div><blockquote><p>Said</p></blockquote>
      <dl><dt>Word<dd>What it means</dl><p>x<sup>2</sup> <del>old</del> <ruby>漢<rt>かん</rt></ruby> <img alt="A cat" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" width=9 height=9></p></main>
      <footer>The end</footer>`)
    expect(markdown).toBe(`# Hello world

Use \`code()\`, see [the manual](/x?q=1#z).
Next line

- One
  3. three
  4. four
- Two

  and more

Prices

|Kind|Size|Price|
|-|-|-|
|Tea|small|2|
||large|3|
|Both||5|

\`\`\`python
def f():
    return 1
\`\`\`

> Said

Word
: What it means

x^2 ~~old~~ 漢(かん) ![A cat]

⟦the rest of the page⟧

[Home](/home) [Other](https://other.example/x)
The end`)
    expect([title, language, untrusted, dropped]).toEqual(['Sample', 'en', true, {}])
    expect(links.map(({ text, url }) => [text, url])).toEqual([
      ['the manual', `${reader.home}/x?q=1#z`],
      ['Home', `${reader.home}/home`],
      ['Other', 'https://other.example/x'],
    ])
  })

  test('menus of a page that calls nothing by its name come after what it is about; lists of links that are what it is about do not', async () => {
    const links = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_, at) => `<li><a href="/${from + at}">Place ${from + at}</a></li>`).join('')
    const words = 'What this page is about is told in words, and in more of them than any menu has. '
    const soup = await reader.read(
      `<div><b>Some site</b></div><ul>${links(0, 8)}</ul><h1>The matter</h1><p>${words.repeat(6)}</p><ul>${links(8, 14)}</ul>`,
    )
    expect(soup.markdown.slice(0, 40)).toMatch(/^Some site\n\n# The matter\n\nWhat this/)
    expect(soup.markdown.indexOf('Place 13')).toBeLessThan(soup.markdown.indexOf('⟦the rest of the page⟧'))
    expect(soup.markdown.indexOf('⟦the rest of the page⟧')).toBeLessThan(soup.markdown.indexOf('Place 0'))
    expect(soup.markdown.match(/Place \d+/g)).toHaveLength(14)
    const stays = [
      // A list of links, with a few words below it.
      `<h1>Index</h1><ul>${links(0, 40)}</ul><p>${words.repeat(2)}</p>`,
      // Results, each with its words.
      Array.from({ length: 9 }, (_, at) => `<div><a href="/${at}">Result ${at}</a><p>${words.repeat(2)}</p></div>`).join(''),
      // A list under its heading.
      `<h1>Index</h1><ul>${links(0, 8)}</ul><p>${words.repeat(20)}</p>`,
      // Its own parts.
      `<ul>${links(0, 8).replaceAll('href="/', 'href="#')}</ul><p>${words.repeat(20)}</p>`,
      // A row of a few.
      `<p><a href="/a">One</a> <a href="/b">Two</a> <a href="/c">Three</a></p><p>${words.repeat(20)}</p>`,
    ]
    for (const page of stays) expect((await reader.read(page)).markdown).not.toContain('⟦the rest of the page⟧')
  })

  test('forms: what each field is, what it holds and what it offers, and no secret', async () => {
    const { markdown, forms, elements } = await reader.read(`<form id="signup" action="/go" method="post">
      <label>Email <input name="email" type="email" required value="me@x"></label>
      <input type="password" placeholder="Password" value="hunter2"><input name="api_token" value="tok-123"><input type="hidden" name="h" value="hush">
      <select name="land"><option>DE<option selected>FR</select><textarea placeholder="Words">first</textarea>
      <input type="checkbox" id="k" checked><label for="k">Agree</label><input type="radio" name="r" value="a" aria-label="A">
      <button>Sign up</button><button disabled>Later</button></form><div role="tab" aria-selected="true" tabindex="0">Tab</div>`)
    const [form] = forms
    expect(form).toMatchObject({ name: 'signup', action: `${reader.home}/go`, method: 'post' })
    expect(form?.fields.length).toBe(9)
    const unnamed = markdown.replace(/⟦[a-z][0-9a-z]{4}(-\d+)?/g, '⟦')
    expect(unnamed)
      .toBe(`Email ⟦ email required = me@x⟧ ⟦ password "Password" = •••⟧ ⟦ text "api_token" = •••⟧ ⟦ combobox "land" = FR of DE | FR⟧ ⟦ multiline "Words" = first⟧ ⟦ checkbox [x]⟧ Agree ⟦ radio "A" [ ]⟧ ⟦ Sign up⟧ ⟦ disabled, Later⟧

⟦ tab, on, Tab⟧`)
    expect(JSON.stringify({ elements, forms })).not.toMatch(/hunter2|tok-123|hush/)
  })

  test('words a person does not see are not passed for words, and how many is said', async () => {
    const hidden = [
      'style="display:none"',
      'hidden',
      'style="visibility:hidden"',
      'style="opacity:0"',
      'style="font-size:0"',
      'style="color:transparent"',
      'style="position:absolute;left:-9999px"',
      'style="position:absolute;clip:rect(0,0,0,0)"',
      'style="clip-path:inset(50%)"',
      'style="width:1px;height:1px;overflow:hidden"',
      'style="text-indent:-9999px"',
      'style="transform:scale(0)"',
      'style="position:absolute;top:-500px"',
      'style="height:0;overflow:hidden"',
      'style="position:fixed;left:200vw"',
    ]
    const { markdown, dropped } = await reader.read(
      `<!doctype html><body><p>Seen</p>${hidden.map((how) => `<div ${how}>HIDDEN <b>WORDS</b></div>`).join('')}
      <p style="color:#fff">white</p><p style="background:#000;color:#fff">inverse</p>
      <h2 style="background:linear-gradient(red,blue);background-clip:text;color:transparent">gradient</h2>
      <details><summary>More</summary>HIDDEN IN HERE</details><!-- HIDDEN --><noscript>HIDDEN</noscript><template>HIDDEN</template>
      <p>zero\u200bwidth \u202eabc\u202c</p><div style="visibility:hidden">HIDDEN<i style="visibility:visible">shown</i></div>`,
    )
    expect(markdown).not.toContain('HIDDEN')
    expect(markdown).toBe('Seen\n⟦as its background: white⟧\ninverse\n\n## gradient\n\n▸ More\nzerowidth abc\nshown')
    expect(dropped.hidden?.chars).toBe(hidden.length * 'HIDDENWORDS'.length + 'HIDDEN IN HERE'.length + 'HIDDEN'.length)
    expect(dropped.invisibleChars).toBe(3)
  })

  test('ids outlive small changes: rows that come and go, words that change, elements made anew', async () => {
    const row = (name: string): string => `<li>${name} <button>Delete</button></li>`
    const first = await reader.read(
      `<ul id="u">${['ant', 'bee', 'cat'].map(row).join('')}</ul><button id="s">Save</button><a href="/n">Next</a>`,
    )
    const { page } = await reader.visit()
    const idsOf = (reading: typeof first): Record<string, string> =>
      Object.fromEntries(
        reading.markdown.split('\n').map((line) => [line.replace(/⟦.*/, '').trim(), /⟦(\S+)/.exec(line)?.[1] ?? '']),
      )
    const before = idsOf(first)
    expect(new Set(first.elements.map(({ id }) => id)).size).toBe(5)
    await page.evaluate(`u.innerHTML = ${JSON.stringify(['new', 'ant', 'cat'].map(row).join(''))}; s.textContent = 'Saving…'`)
    const second = await readPage(page)
    expect(idsOf(second)['- ant']).toBe(before['- ant'])
    expect(idsOf(second)['- cat']).toBe(before['- cat'])
    expect(second.elements.find(({ name }) => name === 'Saving…')?.id).toBe(
      first.elements.find(({ name }) => name === 'Save')?.id,
    )
    await page.reload()
    expect((await readPage(page)).elements.map(({ id }) => id)).toEqual(first.elements.map(({ id }) => id))
  })

  test('in parts: put together they are the whole text, each with its own elements; a page that went on is said', async () => {
    const html = `<main>${Array.from({ length: 300 }, (_, at) => `<h2>Part ${at} 😀</h2><p>${'word '.repeat(30)}<a href="/${at}">go ${at}</a></p>`).join('')}</main><nav>around</nav>`
    const whole = await reader.read(html, { maxChars: 1_000_000 })
    const { page } = await reader.visit()
    expect(whole.next).toBeUndefined()
    expect(createHash('sha256').update(whole.markdown).digest('hex')).toBe(whole.digest)
    let part = await readPage(page, { maxChars: 3_001 })
    // What the page adds meanwhile belongs to the next reading.
    await page.evaluate(`document.body.prepend('LATER')`)
    let text = part.markdown
    const links = part.links.map(({ text: said }) => said)
    const { next } = part
    while (part.next !== undefined) {
      expect(part.markdown.length).toBeLessThanOrEqual(3_001)
      part = await readPage(page, { maxChars: 3_001, cursor: part.next })
      text += part.markdown
      links.push(...part.links.map(({ text: said }) => said))
    }
    expect(text).toBe(whole.markdown)
    expect(links).toEqual(whole.links.map(({ text: said }) => said))
    expect((await readPage(page, { main: true })).dropped.rest).toEqual({ chars: 'LATER'.length + 'around'.length })
    await expect(readPage(page, { cursor: next as string })).rejects.toMatchObject({ reason: 'conflict' })
    const again = await readPage(page, { maxChars: 100 })
    await page.goto('about:blank')
    await expect(readPage(page, { cursor: again.next as string })).rejects.toMatchObject({ reason: 'conflict' })
  })

  test('frames of this site and of others, open parts and closed ones, one in another', async () => {
    reader.answers['/inner'] = '<p>in the frame <a href="/l">l</a><iframe srcdoc="<p>and in that"></iframe>'
    const { markdown, dropped, elements } =
      await reader.read(`<p>top</p><div id="o"><b slot="s">slotted</b></div><div id="c">never shown</div>
      <x-card>light</x-card><section><template shadowrootmode="closed"><p>declared <slot></slot></p></template>in its slot</section>
      <iframe src="/inner"></iframe><iframe src="${reader.home.replace('127.0.0.1', 'localhost')}/inner"></iframe><iframe src="/inner" style="display:none"></iframe>
      <script>
        o.attachShadow({ mode: 'open' }).innerHTML = '<p>open part <slot name=s></slot></p>'
        const part = c.attachShadow({ mode: 'closed' })
        part.innerHTML = '<p>closed part <button>Press</button></p><div></div>'
        part.querySelector('div').attachShadow({ mode: 'closed' }).innerHTML = '<p>closed in closed'
        customElements.define('x-card', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'closed' }).innerHTML = 'card: <slot>' } })
      </script>`)
    for (const words of ['open part slotted', 'closed part ⟦', 'closed in closed', 'card: light', 'declared in its slot'])
      expect(markdown).toContain(words)
    expect(markdown).not.toContain('never shown')
    expect(markdown.match(/in the frame/g)?.length).toBe(2)
    expect(markdown.match(/and in that/g)?.length).toBe(2)
    expect(markdown).toContain(`⟦frame: ${reader.home}/inner⟧`)
    expect(dropped.frames).toEqual({ hidden: 2, unread: 0 })
    expect(elements.some(({ name }) => name === 'Press')).toBe(true)
  })
})
