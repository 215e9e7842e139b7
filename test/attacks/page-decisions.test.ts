import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { lapseNow } from '../support/approve.ts'
import { keyFor, typed } from '../support/person.ts'
import { serveInside } from '../support/inside.ts'
import { openServe, type Served } from '../support/serve.ts'
import { openWorld } from '../support/world.ts'
import {
  approve,
  args,
  close,
  open,
  before,
  nextCount,
  decide,
  files,
  formToken,
  propose,
  question,
  served,
  signIn,
  state,
  until,
  visit,
  withoutOwnPicture,
  world,
} from '../support/page.ts'
import { ceiling } from '../support/ceiling.ts'

beforeAll(open)
afterAll(close)

/** Seconds of processor time it has used, which no other load on this machine can add to. */
function cpuSeconds({ pid }: Served): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

describe('decisions', () => {
  test('a yes takes the number that the second page shows for this card, this answer and this sign-in', async () => {
    const [cookie, other] = [await signIn(), await signIn()]
    const [one, two] = [await question(), await question()]
    const form = await formToken(one.id, cookie)
    const note = 'a\r\nb \u202e "c" &amp;'
    const first = await decide(one.id, { form, decision: 'approve', note }, { Cookie: cookie })
    expect([first.status, state(one.id)]).toEqual([200, 'pending'])
    const good = typed(first.text)
    const changed = (change: Record<string, string>): URLSearchParams => {
      const fields = new URLSearchParams(good)
      for (const [name, value] of Object.entries(change)) fields.set(name, value)
      return fields
    }
    const number = String(((Number(good.get('number')) - 99) % 900) + 100)
    const [until = '', mark = ''] = (good.get('confirm') ?? '').split('.')
    const wrong: Record<string, string>[] = [
      { number },
      { number: '' },
      { confirm: '' },
      { confirm: `${until}.` },
      { confirm: `.${mark}` },
      { confirm: `${(Date.now() - 1).toString(36)}.${mark}` },
      { confirm: `zzzzzzzzzz.${mark}` },
      { along: '' },
      { along: Buffer.from('note=other').toString('base64url') },
      { note: 'more' },
    ]
    for (const change of wrong) {
      const again = await decide(one.id, changed(change), { Cookie: cookie })
      expect([change, again.status, again.text.includes('class="number"')]).toEqual([change, 200, true])
    }
    expect((await decide(two.id, good, { Cookie: cookie })).text).toContain('class="number"')
    const theirs = await formToken(one.id, other)
    expect((await decide(one.id, changed({ form: theirs }), { Cookie: other })).text).toContain('class="number"')
    expect([state(one.id), state(two.id)]).toEqual(['pending', 'pending'])
    expect((await decide(one.id, good, { Cookie: cookie })).status).toBe(303)
    expect(world.runtime.approvals.get(one.id)).toMatchObject({ state: 'approved', note })
  })

  test('the first one counts: twice, the other way round, and many at once', async () => {
    const cookie = await signIn()
    const one = await question()
    const form = await formToken(one.id, cookie)
    await approve(one.id, { form }, cookie)
    for (const decision of ['decline', 'approve'])
      expect((await decide(one.id, { form, decision, note: 'late' }, { Cookie: cookie })).status).toBe(303)
    expect(world.runtime.approvals.get(one.id)).toMatchObject({ state: 'approved' })
    expect(world.runtime.approvals.get(one.id)?.note).toBeUndefined()

    const two = await question()
    const second = await formToken(two.id, cookie)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2
          ? approve(two.id, { form: second, note: `n${index}` }, cookie)
          : decide(two.id, { form: second, decision: 'decline', note: `n${index}` }, { Cookie: cookie }),
      ),
    )
    const lines = [...world.runtime.audit.lines()].filter((line) => line.event === 'approval.decided' && line.approval === two.id)
    expect(lines).toHaveLength(1)
    expect(state(two.id)).toBe(lines[0]?.approved ? 'approved' : 'denied')
  })

  test('what was used, has lapsed or is unknown stays as it is', async () => {
    await using other = await openWorld({ files })
    await using serving = await serveInside(other.project, { args })
    const cookie = await signIn(serving, other)
    const stateOf = (id: string): string | undefined => other.runtime.approvals.get(id)?.state
    const send = async (id: string, form: string): Promise<number> => (await approve(id, { form }, cookie, serving)).status
    const content = '{ "name": "used" }\n'
    const used = await propose({ content }, undefined, serving, other)
    const form = await formToken(used.id, cookie, serving)
    expect(await send(used.id, form)).toBe(303)
    await propose({ content }, undefined, serving, other).catch(() => undefined)
    expect([stateOf(used.id), other.read('package.json')]).toEqual(['used', content])
    expect(await send(used.id, form)).toBe(303)
    expect(stateOf(used.id)).toBe('used')

    const lapsed = await propose({ content: '{}\n' }, undefined, serving, other)
    lapseNow(other, lapsed.id)
    expect(await send(lapsed.id, form)).toBe(303)
    expect(stateOf(lapsed.id)).toBe('expired')
    expect((await visit(`/approvals/${lapsed.id}`, { at: serving, headers: { Cookie: cookie } })).text).not.toContain('<form')

    for (const id of [
      '__proto__',
      'constructor',
      'toString',
      'appr_',
      `appr_${'0'.repeat(32)}`,
      '%2e%2e',
      '..%2fmcp',
      'x/../../mcp',
      '*',
      '%27%20OR%201=1%20--',
      '%00',
      '%0d%0aSet-Cookie:%20x=y',
      'a'.repeat(10_000),
      `${used.id}/`,
      `${used.id}%20`,
      used.id.toUpperCase(),
    ]) {
      const { status, headers, text } = await visit(`/approvals/${id}`, { at: serving, headers: { Cookie: cookie } })
      expect([id, status]).toEqual([id, 404])
      expect([headers.get('set-cookie'), headers.get('location')]).toEqual([null, null])
      expect(text).not.toContain(decodeURIComponent(id).slice(0, 30))
      expect([id, await send(id, form)]).toEqual([id, 404])
    }
    expect((await visit('/approvals/', { at: serving, headers: { Cookie: cookie } })).status).toBe(404)
  })

  test('a note that is too long, or holds what cannot be stored, breaks nothing', async () => {
    const cookie = await signIn()
    const notes = [
      'n'.repeat(5_000),
      `${'n'.repeat(999)}😀`,
      '😀'.repeat(600),
      'a\0b',
      '\ud800',
      '\u202e\u001b[31mred',
      '</textarea><script>x</script>',
      '   ',
      '\r\n\r\nx',
    ]
    for (const note of notes) {
      const { id } = await question()
      const form = await formToken(id, cookie)
      expect((await decide(id, { form, decision: 'decline', note }, { Cookie: cookie })).status).toBe(303)
      const kept = world.runtime.approvals.get(id)
      expect(kept?.state).toBe('denied')
      expect(kept?.note?.length ?? 0).toBeLessThanOrEqual(1_000)
      expect(kept?.note?.isWellFormed() ?? true).toBe(true)
      const { text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie } })
      expect(text).not.toMatch(/<script|<\/textarea>|[\0\u001b\u202e]/)
    }
    const { id } = await question()
    const form = await formToken(id, cookie)
    const huge = await decide(id, { form, decision: 'decline', note: 'n'.repeat(30 << 20) }, { Cookie: cookie })
    expect([303, 403, 413]).toContain(huge.status)
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
  })
})

const script = `<script>alert(1)</script>`
const image = `"><img src=x onerror=alert(1)>`

/** Everything that can be said by somebody else, and would be something in a page. */
async function poison(): Promise<Approval> {
  const content = [
    '{ "name": "game" }',
    script,
    image,
    `'><svg/onload=alert(1)>`,
    '</pre></b><form action="//evil.example"><button>Approve exactly this</button>',
    '<!-- &lt;b&gt; &#60;script&#62; -->',
    '<style>*{display:none}</style>',
    '{{7*7}} ${7*7} <%= 7 %>',
    `poison ${nextCount()}`,
    '',
  ].join('\n')
  return propose({ path: `.github/${image.replaceAll('/', '')}'&amp;.md`, content }, { name: script, version: image })
}

test('XSS: titles, paths, diffs, notes and names of clients are text on every page', async () => {
  const approval = await poison()
  const cookie = await signIn()
  for (const path of ['/approvals', `/approvals/${approval.id}`]) {
    const { text } = await visit(path, { headers: { Cookie: cookie } })
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(
      withoutOwnPicture(text).match(/<(script|img|svg|iframe|object|embed|link|base|meta (?!charset|name="viewport"))/gi),
    ).toBeNull()
    expect(text.match(/<form/g)?.length ?? 0).toBe(path === '/approvals' ? 0 : 1)
    expect(text.match(/<style/g)).toHaveLength(1)
    expect(text).not.toMatch(/<[^>]*\son\w+=/i)
  }
  const form = await formToken(approval.id, cookie)
  await decide(approval.id, { form, decision: 'decline', note: script + image }, { Cookie: cookie })
  const { text } = await visit(`/approvals/${approval.id}`, { headers: { Cookie: cookie } })
  expect(text).toContain('denied')
  expect(text.match(/<(script|img|svg)/gi)).toBeNull()
  const wrong = await visit(`/sign-in?key=${encodeURIComponent(script + image)}`)
  expect(wrong.text).not.toMatch(/<script|<img/)
})

test('clickjacking: no page may be framed, runs a script, loads anything, or is kept', async () => {
  const { id } = await question()
  const cookie = await signIn()
  const pages = [
    await visit('/', {}),
    await visit('/sign-in'),
    await visit('/sign-in?key=wrong'),
    await visit('/approvals', { headers: { Cookie: cookie } }),
    await visit(`/approvals/${id}`, { headers: { Cookie: cookie } }),
    await visit('/approvals/none', { headers: { Cookie: cookie } }),
  ]
  for (const { headers, text } of pages) {
    const policy = headers.get('content-security-policy') ?? ''
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(policy).toMatch(/default-src 'none'/)
    expect(policy).toMatch(/frame-ancestors 'none'/)
    expect(policy).toMatch(/form-action 'self'/)
    expect(policy).toMatch(/base-uri 'none'/)
    expect(policy).not.toMatch(/script-src|unsafe-eval|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(['same-origin', 'no-referrer', 'strict-origin']).toContain(headers.get('referrer-policy'))
    expect(withoutOwnPicture(text)).not.toMatch(/<script|<[^<>]*(?:\ssrc=|javascript:|https?:\/\/)/i)
  }
})

describe('G07', () => {
  test('G07 what hides in a diff is shown, not obeyed', async () => {
    const hidden = {
      '\u202e': '\\u202e',
      '\u2066': '\\u2066',
      '\u200b': '\\u200b',
      '\u200d': '\\u200d',
      '\ufeff': '\\ufeff',
      '\u00ad': '\\u00ad',
      '\u001b[2K\u001b[1A': '\\u001b[2K\\u001b[1A',
      '\u0008': '\\u0008',
      '\u0000': '\\u0000',
      '\u007f': '\\u007f',
      '\u009b31m': '\\u009b31m',
      '\u2028': '\\u2028',
      '\u2029': '\\u2029',
      '\u{e0041}': '\\u{e0041}',
      '\ufe0f': '\\ufe0f',
      '\u{e0100}': '\\u{e0100}',
      '\u3164': '\\u3164',
      '\u115f': '\\u115f',
      '\r': '␍',
    }
    const content = `${Object.keys(hidden)
      .filter((one) => one !== '\u0000')
      .map((one, index) => `line ${index} ${one} end`)
      .join('\n')}\n`
    const name = 'evil\u202egnp.exe\u200b\u001b[0m'
    const { id } = await propose({ content }, { name, version: '\u2066' })
    const cookie = await signIn()
    for (const path of ['/approvals', `/approvals/${id}`]) {
      const { text } = await visit(path, { headers: { Cookie: cookie } })
      expect(text).not.toMatch(
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u115f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff]|\ufe0f|[\u{e0000}-\u{e01ef}]/u,
      )
      expect(text).toContain('evil\\u202egnp.exe')
    }
    const { text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie } })
    for (const [one, shown] of Object.entries(hidden)) if (one !== '\u0000') expect(text).toContain(shown)
  })

  test('G07 all of a change is there: very long lines to their end, every line, and lines that look like parts of the page', async () => {
    const tail = 'END-OF-THE-LINE'
    const lines = [
      `${' '.repeat(50_000)}evil()`,
      `${'x'.repeat(200_000)}${tail}`,
      '- a line that only looks like one that goes',
      '@@ line 1: 0 out, 0 in @@',
      ...Array.from({ length: 900 }, (_, index) => `n${index}.`),
    ]
    const { id } = await propose({ content: `${lines.join('\n')}\n` })
    const cookie = await signIn()
    const { text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie } })
    const rows = [...text.matchAll(/<b class="(in|out|place)">([^<]*)<\/b>/g)].map((row) => [row[1], row[2]] as const)
    // Long lines stand on several rows, each with its sign; long blanks are counted.
    const added = rows.flatMap(([kind, row]) => (kind === 'in' ? [row] : [])).join('\n')
    const there = new Set(
      added
        .replaceAll('\n+ … ', '')
        .replace('⟨50000 blanks⟩', ' '.repeat(50_000))
        .split('\n')
        .map((row) => row.slice(2)),
    )
    expect(lines.filter((line) => !there.has(line)).map((line) => line.slice(0, 50))).toEqual([])
    expect(rows.filter(([kind]) => kind === 'place').length).toBe(1)
    expect(rows.flatMap(([kind, row]) => (kind === 'out' ? [row] : []))).toEqual([`- ${before.trim().replaceAll('"', '&quot;')}`])
  })

  test("G07 lines of nothing but blanks, tabs and marks cost seconds of nobody's time, to ask about and to show", async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project, { args })
    const cookie = await signIn(serving, other)
    const began = cpuSeconds(serving)
    for (const unit of [' ', '\t', '\u202e', '<']) {
      const { id } = await propose({ content: `${unit.repeat(80_000)}x\n` }, undefined, serving, other)
      expect((await visit(`/approvals/${id}`, { at: serving, headers: { Cookie: cookie } })).status).toBe(200)
    }
    expect((await visit('/approvals', { at: serving, headers: { Cookie: cookie } })).status).toBe(200)
    ceiling('s', cpuSeconds(serving) - began, 5)
  })
})

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path))

interface Browser {
  /** Opens an address in a page of its own and waits until it has settled. */
  open(url: string): Promise<Tab>
  [Symbol.asyncDispose](): Promise<void>
}

interface Tab {
  go(url: string): Promise<void>
  run<T>(expression: string): Promise<T>
  /** What each frame of the page shows in the end. */
  frames(): Promise<string[]>
  /** Dialogs a script has opened. */
  readonly dialogs: string[]
}

/** A real browser without a window, spoken to over two pipes. */
async function openBrowser(path: string, profile: string): Promise<Browser> {
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-extensions',
    '--disable-background-networking',
  ]
  const child = spawn(path, [...flags, `--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const gone = once(child, 'close')
  const [input, output] = [child.stdio[3] as Writable, child.stdio[4] as Readable]
  input.on('error', () => undefined)
  const waiting = new Map<number, { resolve: (result: never) => void; reject: (fault: Error) => void }>()
  const hearing = new Set<(message: { method?: string; params?: Record<string, unknown>; sessionId?: string }) => void>()
  let last = 0
  let rest = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\0')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const message = JSON.parse(part) as { id?: number; result?: unknown; error?: { message: string }; method?: string }
      const one = waiting.get(message.id ?? 0)
      waiting.delete(message.id ?? 0)
      if (message.error) one?.reject(new Error(message.error.message))
      else one?.resolve(message.result as never)
      for (const hear of hearing) hear(message)
    }
  })
  const send = <T>(method: string, params: object = {}, sessionId?: string): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      input.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`)
    })
  return {
    async open(url) {
      const { targetId } = await send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
      const { sessionId } = await send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
      const dialogs: string[] = []
      const loaded = new Set<unknown>()
      hearing.add((message) => {
        if (message.sessionId !== sessionId) return
        if (message.method === 'Page.lifecycleEvent' && message.params?.['name'] === 'load')
          loaded.add(message.params['loaderId'])
        if (message.method !== 'Page.javascriptDialogOpening') return
        dialogs.push(String(message.params?.['message']))
        void send('Page.handleJavaScriptDialog', { accept: true }, sessionId).catch(() => undefined)
      })
      await send('Page.enable', {}, sessionId)
      await send('Page.setLifecycleEventsEnabled', { enabled: true }, sessionId)
      const tab: Tab = {
        dialogs,
        async go(address) {
          // This very page: one that was on its way before may still come.
          const { loaderId } = await send<{ loaderId: string }>('Page.navigate', { url: address }, sessionId)
          await until('the page', () => loaded.has(loaderId))
        },
        async run<T>(expression: string) {
          const { result } = await send<{ result: { value: T } }>(
            'Runtime.evaluate',
            { expression, returnByValue: true, awaitPromise: true },
            sessionId,
          )
          return result.value
        },
        async frames() {
          interface Tree {
            frame: { url: string; unreachableUrl?: string }
            childFrames?: Tree[]
          }
          const { frameTree } = await send<{ frameTree: Tree }>('Page.getFrameTree', {}, sessionId)
          return (frameTree.childFrames ?? []).map(({ frame }) => frame.url)
        },
      }
      await tab.go(url)
      return tab
    },
    async [Symbol.asyncDispose]() {
      await Promise.race([send('Browser.close').catch(() => undefined), pause(3_000)])
      const late = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), 5_000)
      await gone
      clearTimeout(late)
    },
  }
}

test.skipIf(!chromium)(
  'in a real browser: the page is text, cannot be framed, cannot be answered from another port, and can be answered',
  async () => {
    const approval = await poison()
    await using browser = await openBrowser(chromium as string, join(world.base, 'chromium'))
    const tab = await browser.open(`${served.url}/sign-in?key=${keyFor(served, world.runtime)}`)
    await tab.run(`document.querySelector('button').click()`)
    await until('the list', () => tab.run<boolean>(`location.pathname.endsWith('/approvals')`))
    const address = `${await tab.run<string>('location.href')}/${approval.id}`
    expect(address).toMatch(/^http:\/\/handrail-[a-z2-7]{16}\.localhost:/)
    await tab.go(address)
    expect(await tab.run('document.querySelectorAll("script, img, svg, iframe, object, [onload], [onerror]").length')).toBe(0)
    expect(await tab.run('document.forms.length')).toBe(1)
    expect(await tab.run('document.querySelectorAll("main a, header a").length')).toBe(3)
    expect(await tab.run('document.body.innerText')).toContain(script)
    expect(await tab.run('document.cookie')).toBe('')

    // Another program on this machine, to whom the address was given away.
    const neighbour = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(
        request.url === '/frame'
          ? `<iframe src="${address}"></iframe><iframe src="${served.url}/sign-in"></iframe>`
          : `<iframe name="sink"></iframe><form method="post" target="sink" action="${address}"><input name="decision" value="approve"></form>
           <script>
             document.forms[0].submit()
             fetch('${address}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'decision=approve' }).catch(() => 0)
             fetch('${address}', { credentials: 'include' }).then((r) => r.text()).then((t) => (window.stolen = t), (e) => (window.stolen = String(e)))
             window.opened = window.open('${address}')
           </script>`,
      )
    })
    neighbour.listen(0, '127.0.0.1')
    await once(neighbour, 'listening')
    try {
      const near = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}`
      const framing = await browser.open(`${near}/frame`)
      expect([...new Set(await framing.frames())]).toEqual(['chrome-error://chromewebdata/'])
      const posting = await browser.open(`${near}/post`)
      await until('its answer', () => posting.run<boolean>('window.stolen !== undefined'))
      expect(await posting.run('window.stolen')).toMatch(/TypeError/)
      await pause(500)
      expect(state(approval.id)).toBe('pending')
    } finally {
      neighbour.close()
      neighbour.closeAllConnections()
    }

    await tab.go(address)
    await tab.run(`document.querySelector('textarea').value = '<b>no</b>'; document.querySelector('button.no').click()`)
    await until('the decision', () => state(approval.id) === 'denied')
    await until('the page that says so', async () => (await tab.run<string>('document.body?.innerText ?? ""')).includes('denied'))
    expect(world.runtime.approvals.get(approval.id)).toMatchObject({ decidedBy: 'person@page', note: '<b>no</b>' })
    expect(tab.dialogs).toEqual([])
  },
)
