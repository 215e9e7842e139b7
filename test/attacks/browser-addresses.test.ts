import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { serveHttp } from '../../src/runtime/serve.ts'
import type { RunView } from '../../src/contracts/run.ts'
import { addressRange } from '../../src/host/browser/address-range.ts'
import { plainHost } from '../../src/text/host-name.ts'
import { noBrowser } from '../support/chromium.ts'
import { openInternet, outside } from '../support/internet.ts'
import { handIn } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** What lies on this machine, at every address of it. Whoever comes here at trust level `remote` has got through. */
let inner: Server
let port = 0
let reached: string[] = []
/** A site of the internet. */
let site: Site
let far = ''
let internet: ReturnType<typeof openInternet>
let rebound: string[] = []
let remote: World
let local: World
let served: Awaited<ReturnType<typeof serveHttp>>

beforeAll(async () => {
  inner = createServer((request, response) => {
    reached.push(request.url ?? '')
    response.writeHead(200, { 'Access-Control-Allow-Origin': '*', 'Content-Type': 'text/html' }).end('<title>inner</title>canary')
  })
  inner.on('connection', () => reached.push('connection'))
  inner.on('upgrade', (_, socket) => socket.destroy())
  await new Promise<void>((ready) => inner.listen(0, '::', ready))
  port = (inner.address() as AddressInfo).port
  site = await openSite()
  far = `http://site.example:${site.port}`
  internet = openInternet({
    'site.example': () => outside,
    'www.site.example': () => outside,
    'other.example': () => outside,
    'one.example': () => outside,
    'two.example': () => outside,
    'inner.example': () => '127.0.0.1',
    'cloud.example': () => '169.254.169.254',
    'mapped.example': () => '::ffff:10.0.0.1',
    // The first answer is for whoever judges, the next for whoever connects.
    'rebind.example': () => rebound.shift() ?? '127.0.0.1',
  })
  remote = await openWorld({ config: { policies: { trustLevel: 'remote' } } })
  local = await openWorld()
  served = await serveHttp(local.runtime, { host: '127.0.0.1', port: 0, allowRemote: false, allowOrigins: [] })
})
afterAll(async () => {
  await served.close()
  await remote[Symbol.asyncDispose]()
  await local[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
  internet[Symbol.dispose]()
  inner.close().closeAllConnections()
})
beforeEach(() => {
  reached = []
  site.pages.clear()
  site.visits.clear()
})

interface Item {
  success: boolean
  title?: string
  error?: { errorCode: string; details: { reason: string } }
}

/** Visits them all in one run. The person has allowed every one of these hosts: what is refused is refused all the same. */
async function visit(world: World, urls: string[]): Promise<Item[]> {
  for (const url of urls) {
    const host = URL.canParse(url) ? plainHost(new URL(url).hostname) : undefined
    if (host !== undefined) await world.runtime.grants.give({ kind: 'host', subject: host, scope: 'always', by: 'test' })
  }
  const run = await handIn(world, 'batch_extract_pages', { urls, concurrency: 5 }, { mode: 'sync' })
  const artifactId = run.artifactIds?.[0] as string
  let text = ''
  for (let complete = false; !complete;) {
    const chunk = await world.call<{ data: string; complete: boolean }>('get_artifact', {
      artifactId,
      offset: Buffer.byteLength(text),
    })
    text += chunk.data
    ;({ complete } = chunk)
  }
  return (JSON.parse(text) as { items: Item[] }).items
}

test('whatever leads to this machine or its network is known by its spelling', () => {
  const machine = ['localhost', 'LOCALHOST.', 'foo.localhost', 'a.b.localhost.', '127.0.0.1', '127.1', '0x7f.1', '0177.0.0.1']
  machine.push('2130706433', '0x7f000001', '017700000001', '0', '0.0.0.0', '127.255.0.9', '[::1]', '[::]', '[::ffff:127.0.0.1]')
  machine.push('[0:0:0:0:0:ffff:7f00:0001]', '[::127.0.0.1]', '１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.1')
  expect(machine.filter((host) => addressRange(plainHost(host) as string) !== 'machine')).toEqual([])
  const hidden = [
    '10.1',
    '100.64.0.1',
    '169.254.169.254',
    '0xa9fea9fe',
    '172.31.255.255',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
  ]
  hidden.push('255.255.255.255', '192.0.0.1', '[64:ff9b::7f00:1]', '[64:ff9b:1::1]', '[fd00::1]', '[fe80::1]', '[fec0::1]')
  hidden.push('[ff02::1]', '[2002:7f00:1::]', '[2001::1]', '[::ffff:10.0.0.1]', '[::ffff:0:127.0.0.1]', '[100::1]')
  expect(hidden.filter((host) => addressRange(plainHost(host) as string) !== 'private')).toEqual([])
  const open = ['8.8.8.8', '[2606:4700::1111]', '172.32.0.1', '100.128.0.1', outside]
  expect(open.filter((host) => addressRange(plainHost(host) as string) !== 'public')).toEqual([])
  expect(
    ['a b', 'a@b', 'a/b', '[fe80::1%25eth0]', 'a:80', '', '.', '[::1'].filter((host) => plainHost(host) !== undefined),
  ).toEqual([])
  expect(addressRange(plainHost('localhost.evil.example') as string)).toBe('name')
})

describe.skipIf(noBrowser !== undefined)('at trust level remote', () => {
  test('no address of this machine or a private network is visited, in no spelling and by no name, whatever a person allowed', async () => {
    const hosts = [
      'localhost',
      'localhost.',
      'foo.localhost',
      '127.0.0.1',
      '127.1',
      '0177.0.0.1',
      '0x7f000001',
      '2130706433',
      '0',
    ]
    hosts.push('0.0.0.0', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '100.64.0.1', '198.18.0.1', '224.0.0.1')
    hosts.push('169.254.169.254', '10.0.0.1', '192.168.1.1', '172.16.0.1', '[fe80::1]', '[fd00::1]')
    // How each is known by its spelling is told above: a third of them, which by the seed, and in a soak all.
    const third = draws('spellings of this machine')(3)
    const some = hosts.filter((_, at) => isSoak || at % 3 === third)
    const items = await visit(
      remote,
      some.map((host) => `http://${host}:${port}/`),
    )
    expect(items.map(({ success, error }) => [success, error?.details.reason])).toEqual(some.map(() => [false, 'policy']))
    const named = await visit(
      remote,
      ['inner.example', 'cloud.example', 'mapped.example'].map((name) => `http://${name}:${port}/`),
    )
    expect(named.map(({ error }) => error?.details.reason)).toEqual(['page-failed', 'page-failed', 'page-failed'])
    expect(reached).toEqual([])
  })

  test('nothing but http(s) is an address', async () => {
    const urls = [
      'file:///etc/passwd',
      `view-source:${far}/`,
      'data:text/html,x',
      'javascript:1',
      'chrome://version',
      'about:blank',
    ]
    urls.push(
      'ftp://site.example/',
      `blob:${far}/x`,
      'http://user:word@site.example/',
      'no address',
      'http://',
      '//site.example/',
    )
    const items = await visit(remote, urls)
    expect(items.map(({ error }) => error?.errorCode)).toEqual(urls.map(() => 'INVALID_PARAMETER'))
  })

  test('a redirect, by the server, by the page and at the third hop, does not lead there', async () => {
    const targets = [`http://127.0.0.1:${port}/a`, `http://foo.localhost:${port}/b`, `http://[::ffff:127.0.0.1]:${port}/c`]
    targets.push(
      `http://localhost.:${port}/d`,
      'http://169.254.169.254/latest',
      `http://inner.example:${port}/e`,
      'file:///etc/passwd',
    )
    targets.push('http://other.example/')
    targets.forEach((target, n) => {
      site.pages.set(`/${n}`, (_, response) => void response.writeHead(302, { Location: target }).end())
      site.pages.set(`/hop${n}`, (_, response) => void response.writeHead(307, { Location: `/again${n}` }).end())
      site.pages.set(`/again${n}`, (_, response) => void response.writeHead(308, { Location: `/${n}` }).end())
      site.pages.set(`/refresh${n}`, html(`<meta http-equiv="refresh" content="0; url=${target}">`))
      site.pages.set(`/script${n}`, html(`<script>location.href = ${JSON.stringify(target)}</script>`))
    })
    // Where one leads at once, at the third hop and by itself; in `npm test` each way to some of them, and to each of them some way.
    const some = (which: number[], whole: number[]): number[] => (isSoak ? whole : which)
    const all = targets.map((_, n) => n)
    const byServer = [
      ...some([1, 2, 3, 4, 6, 7], all).map((n) => `${far}/${n}`),
      ...some([0, 5], all).map((n) => `${far}/hop${n}`),
    ]
    const byPage = [
      ...some([0, 7], [0, 5, 7]).map((n) => `${far}/refresh${n}`),
      ...some([5], [0, 5, 7]).map((n) => `${far}/script${n}`),
    ]
    const items = await visit(remote, [...byServer, ...byPage])
    expect(items.filter(({ title }) => title === 'inner')).toEqual([])
    expect(items.slice(0, byServer.length).filter(({ success }) => success)).toEqual([])
    expect(reached).toEqual([])
  })

  test('a site is sent on to its own name with www, and to no other that nobody allowed', async () => {
    site.pages.set('/', (request, response) => {
      if (request.headers.host?.startsWith('www.'))
        response.writeHead(200, { 'Content-Type': 'text/html' }).end(html('here', 'www'))
      else response.writeHead(301, { Location: `http://www.site.example:${site.port}/` }).end()
    })
    site.pages.set(
      '/away',
      (_, response) => void response.writeHead(302, { Location: `http://third.example:${site.port}/` }).end(),
    )
    const items = await visit(remote, [`${far}/`, `${far}/away`])
    expect(items).toMatchObject([
      { success: true, title: 'www' },
      { success: false, error: { details: { reason: 'policy' } } },
    ])
  })

  test('a name that leads elsewhere a moment later is still what it was', async () => {
    rebound = [outside]
    site.pages.set(
      '/',
      html(
        '<p id="told">nothing</p><script>fetch("/again").then((r) => r.text()).then((t) => { told.textContent = t })</script>',
      ),
    )
    site.pages.set('/again', (_, response) => void response.writeHead(200, { Connection: 'close' }).end('the same site'))
    const [item] = await visit(remote, [`http://rebind.example:${site.port}/`])
    expect(item).toMatchObject({ success: true, content: expect.stringContaining('the same site') as string })
    expect(internet.asked.filter((name) => name === 'rebind.example')).toHaveLength(1)
    const [other] = await visit(remote, [`http://rebind.example:${port}/`])
    expect(other).toMatchObject({ success: false })
    expect(reached).toEqual([])
  })
})

describe.skipIf(noBrowser !== undefined)('at both levels', () => {
  // A page of the internet has one way out, whoever asked for it; the stricter level in the soak.
  test.each(isSoak ? ['remote', 'local'] : ['local'])(
    '%s: nothing a page of the internet loads, opens or connects to reaches this machine',
    async (level) => {
      const world = level === 'remote' ? remote : local
      const at = [
        `http://127.0.0.1:${port}`,
        `http://foo.localhost:${port}`,
        `http://[::1]:${port}`,
        `http://inner.example:${port}`,
      ]
      const all = (act: (base: string) => string): string => at.map(act).join('\n')
      site.pages.set('/worker.js', (_, response) => {
        const code = all(
          (base) =>
            `try { importScripts('${base}/import') } catch {} fetch('${base}/worker', { mode: 'no-cors' }).catch(() => 0)`,
        )
        response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(code)
      })
      site.pages.set(
        '/',
        html(`${all(
          (base) => `<img src="${base}/img"><iframe src="${base}/frame"></iframe><script src="${base}/script"></script>
        <link rel="stylesheet" href="${base}/css"><link rel="preconnect" href="${base}"><link rel="prefetch" href="${base}/prefetch">
        <video src="${base}/video"></video><object data="${base}/object"></object><form id="f" action="${base}/form" target="_blank"></form>`,
        )}
        <script>
        const soon = (act) => { try { act() } catch {} }
        for (const base of ${JSON.stringify(at)}) {
          fetch(base + '/fetch', { mode: 'no-cors' }).catch(() => 0)
          navigator.sendBeacon(base + '/beacon')
          soon(() => new WebSocket(base.replace('http', 'ws') + '/socket'))
          soon(() => new EventSource(base + '/events'))
          soon(() => window.open(base + '/window'))
          soon(() => { const a = document.createElement('a'); a.href = base + '/file'; a.download = 'x'; a.click() })
        }
        soon(() => document.getElementById('f').submit())
        soon(() => new Worker('/worker.js'))
        soon(() => new SharedWorker('/worker.js'))
        soon(() => navigator.serviceWorker.register('/worker.js').catch(() => 0))
        soon(() => { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${port}' }, { urls: 'turn:127.0.0.1:${port}?transport=tcp', username: 'a', credential: 'b' }] }); c.createDataChannel('x'); c.createOffer().then((o) => c.setLocalDescription(o)) })
        </script><p>the page itself</p>`),
      )
      await visit(world, [`${far}/`])
      expect(site.visits.get('/')).toBeGreaterThan(0)
      expect(reached).toEqual([])
    },
  )

  test('a page of this machine reaches no site that nobody allowed, nor Handrail itself', async () => {
    const own = Number(new URL(served.url).port)
    site.pages.set(
      '/secret',
      html(`<p id="told"></p><script>
        const ask = (url) => fetch(url, { mode: 'no-cors' }).then(() => url + ' answered', () => 'refused').then((text) => { told.append(text, ' ') })
        ask('http://third.example/?secret'); ask('http://localhost:${own}/healthz'); ask('http://127.0.0.1:${own}/healthz')</script>`),
    )
    const items = await visit(local, [`http://127.0.0.1:${site.port}/secret`, `http://127.0.0.1:${own}/healthz`])
    expect(items[0]).toMatchObject({ success: true, content: expect.stringMatching(/refused refused refused/) as string })
    expect(items[1]).toMatchObject({ success: false, error: { details: { reason: 'page-failed' } } })
    expect(internet.asked).not.toContain('third.example')
  })
})

describe.skipIf(noBrowser !== undefined)('sites that nobody allowed', () => {
  const hosts = ['one.example', 'two.example']
  const urls = (path: string, more: string[]): string[] => [...hosts, ...more].map((host) => `http://${host}:${site.port}${path}`)
  /** Hands it in, and answers what it asks. */
  async function asked(
    world: World,
    session: string,
    { approve = true, path = '/', more = [] }: { approve?: boolean; path?: string; more?: string[] } = {},
  ): Promise<{ run: RunView; notes: string[] }> {
    const given = { templateId: 'batch_extract_pages', inputs: { urls: urls(path, more) }, options: { mode: 'async' } }
    const { runId } = await world.call<{ runId: string }>('run_task_template', given, { session })
    const notes: string[] = []
    const run = await (
      await world.runtime.runs()
    ).wait(runId, {
      onProgress({ waiting }) {
        if (!waiting || world.runtime.approvals.state(waiting.approvalId) !== 'pending') return
        notes.push(...(world.runtime.approvals.get(waiting.approvalId)?.card.notes ?? []))
        world.runtime.approvals.decide(waiting.approvalId, { approve, by: 'the person' })
      },
    })
    return { run, notes }
  }

  test('are asked about once, all together, before any of them is visited; a yes counts for the session, a grant for as long as it says', async () => {
    site.pages.set('/', html('<p>here</p>', 'here'))
    const first = await asked(local, 'sess_a', { more: ['127.0.0.1'] })
    expect(first.notes.filter((note) => note.includes('one.example, two.example'))).toHaveLength(1)
    expect(first.run).toMatchObject({ status: 'succeeded', result: { summary: { total: 3, succeeded: 3 } } })
    expect((await asked(local, 'sess_a')).notes).toEqual([])
    const no = await asked(local, 'sess_b', { approve: false, path: '/no' })
    expect(no.run).toMatchObject({ status: 'failed', error: { errorCode: 'EXECUTION_ERROR', details: { reason: 'declined' } } })
    expect(site.visits.has('/no')).toBe(false)
    local.runtime.openSession({ id: 'sess_c', surface: 'mcp-stdio', client: 'test/1' })
    for (const subject of hosts)
      await local.runtime.grants.give({ kind: 'host', subject, scope: 'once', session: 'sess_c', by: 'the person' })
    expect((await asked(local, 'sess_c')).notes).toEqual([])
    expect((await asked(local, 'sess_c')).notes).not.toEqual([])
    for (const subject of hosts) await local.runtime.grants.give({ kind: 'host', subject, scope: 'always', by: 'the person' })
    expect((await asked(local, 'sess_d')).notes).toEqual([])
  })

  test('a host that is forbidden is not visited, whoever allowed it', async () => {
    await using world = await openWorld({ config: { policies: { browserForbiddenHosts: ['example'] } } })
    const [item] = await visit(world, [`http://one.example:${site.port}/`]).catch(() => [])
    expect(item?.success ?? false).toBe(false)
    expect(site.visits.size).toBe(0)
  })
})
