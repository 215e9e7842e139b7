import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agreed } from '../support/approve.ts'
import { noBrowser } from '../support/chromium.ts'
import { openInternet, outside } from '../support/internet.ts'
import { auditText } from '../support/records.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { isSoak } from '../support/soak.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
const sent: string[] = []
let tell = (): void => undefined
beforeAll(async () => {
  site = await openSite({
    '/': html(
      `<main><h1>Start</h1><p>Some words.</p><a href="/second">Second page</a> <a href="/out">Out</a>
      <form action="/send" method="post"><label>Name <input name="name"></label><label>Size <select name="size"><option value="s">Small<option value="l">Large</select></label>
      <button>Send it</button></form><button onclick="list.append(Object.assign(document.createElement('li'), { textContent: 'item ' + list.children.length }))">Add</button><ul id="list"></ul>
      <button type="button" onclick="document.forms[0].submit()">By script</button>
      <div id="host"></div><script>host.attachShadow({ mode: 'closed' }).innerHTML = '<button>Closed</button>'</script></main>`,
      'Start',
    ),
    '/hangs': html('<button onclick="for (;;);">Hang</button>'),
    '/second': html('<main><h1>Second</h1><p>More words.</p></main>', 'Second'),
    '/out': (_, response) => void response.writeHead(302, { Location: `http://not-allowed.example:${site.port}/` }).end(),
    '/later': html(
      '<p id="p">not yet</p><script>new EventSource("/events").onmessage = () => { p.textContent = "ready now" }</script>',
      'Later',
    ),
    '/events': (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
      tell = () => void response.write('data: now\n\n')
    },
    '/send': (request, response) => {
      let body = ''
      request.on('data', (piece: Buffer) => (body += String(piece)))
      request.on('end', () => {
        sent.push(body)
        response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('<main><p>Thank you</p></main>', 'Sent'))
      })
    },
  })
  world = await openWorld({ flags: { mode: 'developer' } })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

interface Said {
  tab: string
  url: string
  title: string
  text: string
  changed: string
}
const call = (tool: string, input: object = {}): Promise<Said> => world.call<Said>(tool, input)
const idOf = (text: string, words: string): string =>
  new RegExp(`${words}[^⟦]*⟦([\\w-]+)|⟦([\\w-]+) ${words}`).exec(text)?.slice(1).find(Boolean) ?? `no ${words}`

describe.skipIf(noBrowser !== undefined)('working in pages', () => {
  test('a local page is opened, seen, clicked and typed into without a question, and only what changed is told', async () => {
    expect(await call('page_navigate', { url: `${site.url}/` })).toMatchObject({ title: 'Start', status: 200 })
    const { text } = await call('page_snapshot')
    expect(text).toMatch(/^# Start\n/)
    expect(await call('page_click', { element: idOf(text, 'Add') })).toMatchObject({ changed: '+ - item 0' })
    expect(await call('page_click', { element: idOf(text, 'Add') })).toMatchObject({ changed: '+ - item 1' })
    const typed = await call('page_type', { element: idOf(text, 'Name'), text: 'Ada' })
    expect(typed.changed).toContain('= Ada⟧')
    expect((await call('page_type', { element: idOf(text, 'Name'), text: 'Grace' })).changed).toContain('= Grace⟧')
    expect((await call('page_select', { element: idOf(text, 'Size'), values: ['Large'] })).changed).toContain(
      '= Large of Small | Large',
    )
    expect((await world.fault('page_select', { element: idOf(text, 'Size'), values: ['Huge'] })).code).toBe('E_BAD_ARGS')
    expect((await world.fault('page_click', { element: 'b0000' })).hint).toContain('page_snapshot')
    expect(await call('page_click', { element: idOf(text, 'Closed') })).toMatchObject({ changed: '' })
    const second = await call('page_click', { element: idOf(text, 'Second page') })
    expect(second).toMatchObject({ url: `${site.url}/second`, title: 'Second' })
    expect(second.changed).toContain('More words.')
    expect((await call('page_extract')).text).toBe('# Second\n\nMore words.')
  })

  test('a form is sent only where that is said and the person agrees; what is typed is in no record', async () => {
    await call('page_navigate', { url: `${site.url}/` })
    const { text } = await call('page_snapshot')
    await call('page_type', { element: idOf(text, 'Name'), text: 'mumble-4711' })
    expect((await world.fault('page_click', { element: idOf(text, 'Send it') })).message).toContain('nothing was sent')
    expect((await world.fault('page_click', { element: idOf(text, 'By script') })).hint).toContain('Nothing was sent')
    expect(sent).toEqual([])
    await call('page_navigate', { url: `${site.url}/` })
    await call('page_type', { element: idOf(text, 'Name'), text: 'mumble-4711' })
    const { answer, cards } = await agreed<Said>(world, 'page_click', { element: idOf(text, 'Send it'), submit: true })
    expect(cards.map(({ title }) => title)).toEqual([expect.stringContaining('send its form')])
    expect(answer).toMatchObject({ url: `${site.url}/send`, title: 'Sent' })
    expect(sent).toEqual(['name=mumble-4711&size=s'])
    expect(auditText(world)).toContain('page_type')
    expect(auditText(world)).not.toContain('mumble-4711')
  })

  test('a site outside is asked about once, with its name; where a page leads on to another, it does not go', async () => {
    using internet = openInternet({ 'site.example': () => outside, 'not-allowed.example': () => outside })
    const url = `http://site.example:${site.port}/`
    const { answer, cards } = await agreed<Said>(world, 'page_navigate', { url })
    expect(answer).toMatchObject({ url, title: 'Start' })
    expect(cards.map(({ notes }) => notes?.join(' '))).toEqual([expect.stringContaining('site.example')])
    expect((await agreed(world, 'page_navigate', { url: `${url}second` })).cards).toEqual([])
    await call('page_navigate', { url })
    const { text } = await call('page_snapshot')
    expect((await world.fault('page_click', { element: idOf(text, 'Out') })).code).toBe('E_POLICY_VIOLATION')
    expect(internet.asked).not.toContain('not-allowed.example')
  })

  test.runIf(isSoak)(
    'a call that is cancelled while its page hangs gives up its tab, and the next of its session does not wait for it',
    async () => {
      await call('page_navigate', { url: `${site.url}/hangs` })
      const { text } = await call('page_snapshot')
      const stop = new AbortController()
      const clicked = world.call('page_click', { element: idOf(text, 'Hang') }, { signal: stop.signal })
      const failed = expect(clicked).rejects.toThrow()
      // A page that hangs is asked for its title in vain.
      const titles = async () => (await world.call<{ tabs: { title: string }[] }>('page_tabs', {})).tabs.map(({ title }) => title)
      await expect.poll(titles).toContain('')
      stop.abort(new Error('enough'))
      await failed
      expect(await call('page_navigate', { url: `${site.url}/second` })).toMatchObject({ title: 'Second' })
    },
  )

  test.runIf(isSoak)('a page that hangs under a click is closed, and the next tab of the session is used', async () => {
    await call('page_navigate', { url: `${site.url}/hangs` })
    const { text } = await call('page_snapshot')
    await expect(call('page_click', { element: idOf(text, 'Hang') })).rejects.toMatchObject({ reason: 'timeout' })
    expect(await call('page_navigate', { url: `${site.url}/second` })).toMatchObject({ title: 'Second' })
  })

  test('tabs, waiting and pictures', async () => {
    await call('page_navigate', { url: `${site.url}/second`, newTab: true })
    const { tab } = await call('page_navigate', { url: `${site.url}/later`, newTab: true })
    expect((await call('page_snapshot')).text).toBe('not yet')
    const waiting = call('page_wait', { text: 'ready now', timeoutMs: 60_000 })
    tell()
    expect((await waiting).changed).toBe('- not yet\n+ ready now')
    expect((await world.fault('page_wait', { text: 'never', timeoutMs: 1 })).code).toBe('E_TIMEOUT')
    const { tabs } = await world.call<{ tabs: { id: string; title: string; active: boolean }[] }>('page_tabs', {})
    expect(tabs.find(({ active }) => active)).toMatchObject({ id: tab, title: 'Later' })
    const other = tabs.find(({ title }) => title === 'Second')?.id as string
    expect((await call('page_extract', { tab: other })).text).toContain('More words.')
    expect(await call('page_screenshot', { path: 'a.png', tab })).toMatchObject({
      tab,
      path: expect.stringMatching(/a\.png$/) as string,
    })
    await call('page_tabs', { action: 'close', tab })
    expect((await world.fault('page_snapshot', { tab })).hint).toContain('page_navigate')
  })
})

describe.skipIf(noBrowser !== undefined)('handrail browse', () => {
  test('prints a page as an agent reads it, safely, and says what is not in it', async () => {
    site.pages.set('/odd', html('<h1>Odd \u001b[31mred</h1><p style="display:none">secret</p><p>end\u200b</p>', 'An odd page'))
    const { code, out, err } = await runInside(world.project, ['browse', `${site.url.slice('http://'.length)}/odd`])
    expect([code, out]).toEqual([0, '# Odd [31mred\n\nend\n'])
    expect(err).toContain('An odd page')
    expect(err).toContain('Left out: 6 characters in 1 elements that nobody sees')
    expect(err).toContain('Left out: 1 characters that nobody sees')
  })

  test('what cannot be opened is said, with what to do', async () => {
    for (const [given, exit, says] of [
      [[], 2, 'Which page?'],
      [['ftp://x.example/'], 2, 'No address of the web'],
      [[`${site.url}/none`], 1, 'The site answered 404'],
    ] as const) {
      const { code, err, out } = await runInside(world.project, ['browse', ...given])
      expect([code, out]).toEqual([exit, ''])
      expect(err).toContain(says)
    }
    expect((await runInside(world.project, ['browse', '--help'])).out).toContain('handrail browse http://localhost:5173/')
  })
})

test('without a browser a run says so at once, and what to do; a name that is nearly right is told', async () => {
  const urls = JSON.stringify({ urls: Array.from({ length: 30 }, (_, n) => `${site.url}/${n}`) })
  const nowhere = { env: { HANDRAIL_CHROMIUM: '/nowhere' } }
  const none = await runInside(world.project, ['run', 'batch_extract_pages', '--input', urls], nowhere)
  expect(none.code).toBe(1)
  expect(none.err).toContain('There is no browser here')
  expect(none.err).toContain('HANDRAIL_CHROMIUM names no program')
  const wrong = await runInside(world.project, ['run', 'batch_extract_page', '--input', urls])
  expect(wrong.err).toMatch(/Did you mean batch_extract_pages\? `[^`]*handrail[^`]* templates list [^`]*` shows what there is/)
  expect(wrong.err, 'it can be typed as it stands').toContain(` templates list --project ${world.project}\``)
})
