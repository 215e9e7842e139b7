import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, createServer as createTcp, type AddressInfo } from 'node:net'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { closePage } from '../../src/host/browser/close-page.ts'
import { findChromium } from '../../src/host/browser/find.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { noBrowser } from '../support/chromium.ts'
import { signInByLink, visitAt } from '../support/person.ts'
import { openServe, type Served } from '../support/serve.ts'
import { runInside } from '../support/inside.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

// The approvals page against other programs of this machine that a browser visits too: every port of 127.0.0.1 is the same site to it.

const files = { 'package.json': '{ "name": "game" }\n' }
let world: World
let served: Served
let browser: Browser
let neighbour: Neighbour

beforeAll(async () => {
  if (noBrowser !== undefined) return
  world = await openWorld({ files, flags: { 'write-requires-diff': 'false' } })
  served = await openServe(world.project, { args: ['--approval-wait-ms', '0', '--write-requires-diff', 'false'] })
  const found = findChromium(process.env)
  browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
  neighbour = await openNeighbour()
})

afterAll(async () => {
  await neighbour?.close()
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

interface Neighbour {
  port: number
  /** The cookies that came with any request so far. */
  cookies: string[]
  /** What it serves at `/`. */
  page: string
  /** What it sets. */
  plants: string[]
  close(): Promise<void>
}

/** Another program's server on this machine, which takes every Host. */
async function openNeighbour(): Promise<Neighbour> {
  const self: Neighbour = {
    port: 0,
    cookies: [],
    page: 'hello',
    plants: [],
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  const server: Server = createServer((request, response) => {
    if (request.headers.cookie !== undefined) self.cookies.push(request.headers.cookie)
    response.writeHead(200, { 'Content-Type': 'text/html', ...(self.plants.length > 0 && { 'Set-Cookie': self.plants }) })
    response.end(request.url?.startsWith('/plain') ? 'hello' : self.page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  self.port = (server.address() as AddressInfo).port
  return self
}

let count = 0
/** An agent's question; its id. */
async function question(): Promise<string> {
  try {
    await world.call(
      'write_to_file',
      { path: 'package.json', content: `{ "name": "game ${++count}" }\n`, dryRun: false },
      { approvalWaitMs: 0 },
    )
  } catch (fault) {
    if (fault instanceof Fault) return String(fault.details?.['approvalId'])
    throw fault
  }
  throw new Error('nobody was asked')
}

const state = (id: string): string | undefined => world.runtime.approvals.get(id)?.state

/** Where the browser finds the page's own name, as most do, and where it does not. */
const ways = ['at its own name', 'at 127.0.0.1, where that name is not found'] as const
type Way = (typeof ways)[number]
/** Under the other name its address and its cookies are others; what it answers to whoever leads there or frames it is not. */
const onlyOnce = (way: Way): boolean => way !== ways[0] && !isSoak

/** A browser of their own, in which the person has signed in. */
async function signedIn(way: Way): Promise<Page> {
  const how = way === ways[0] ? [] : ['--by-address']
  const { out } = await runInside(world.project, ['approvals', 'page', '--port', String(served.port), ...how])
  const page = await (await opened(way)).newPage()
  await page.goto(out.trim())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/approvals$/)
  const { hostname } = new URL(page.url())
  expect(hostname).toMatch(way === ways[0] ? /^handrail-[a-z2-7]{16}\.localhost$/ : /^127\.0\.0\.1$/)
  return page
}

/** A browser of its own, signed in where it is given what another one knows. */
async function opened(way: Way, storageState?: Awaited<ReturnType<BrowserContext['storageState']>>): Promise<BrowserContext> {
  const context = await browser.newContext({ ...(storageState && { storageState }) })
  if (way !== ways[0])
    await context.route(
      ({ hostname, port }) => hostname.endsWith('.localhost') && port === String(served.port),
      (route) => route.abort('namenotresolved'),
    )
  return context
}

/** The middle of what a person would press to approve, as an attacker may know it from their own Handrail. */
async function aim(page: Page, id: string): Promise<{ x: number; y: number }> {
  await page.goto(`${page.url()}/${id}`)
  const box = await page.locator('button.yes').boundingBox()
  if (!box) throw new Error('no button to aim at')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

describe.skipIf(noBrowser !== undefined).for(ways)('another port of this machine, with the page %s', (way) => {
  let page: Page
  let list: string
  let known: Awaited<ReturnType<BrowserContext['storageState']>>
  beforeAll(async () => {
    const first = await signedIn(way)
    list = first.url()
    known = await first.context().storageState()
  })
  // A browser of its own for each test: a page that was led somewhere may still be on its way when the next begins, and cannot be closed meanwhile.
  beforeEach(async () => {
    page = await (await opened(way, known)).newPage()
  })

  test("gets no cookie of the person's, under whatever name it is called", async () => {
    neighbour.cookies = []
    neighbour.page = `<script>fetch('/plain', { credentials: 'include' }).then(() => (window.done = true))</script>`
    for (const name of ['127.0.0.1', 'localhost', new URL(list).hostname, 'evil.localhost'])
      for (const path of isSoak || name === new URL(list).hostname ? ['/', '/p/', '/approvals'] : ['/']) {
        await page.goto(`http://${name}:${neighbour.port}${path}`)
        await page.waitForFunction('window.done')
      }
    expect(neighbour.cookies).toEqual([])
  })

  test.skipIf(onlyOnce(way))('cannot get one click or key to approve by leading the person there at that moment', async () => {
    const id = await question()
    await page.goto(list)
    const { x, y } = await aim(page, id)
    const address = page.url()
    // With the address known, without it, and by going back to where the person was.
    for (const leap of [`location = '${address}'`, `location = '${served.url}/approvals/${id}'`, 'history.back()']) {
      await page.goto(address)
      neighbour.page = `<body style="height:3000px" onmousedown="${leap}">Win a prize: click twice!</body>`
      await page.goto(`http://127.0.0.1:${neighbour.port}/`)
      const left = page.waitForEvent('framenavigated')
      await page.mouse.click(x, y)
      await left
      await page.waitForLoadState()
      for (const key of ['Enter', 'Space']) await page.keyboard.press(key)
      for (let clicks = 0; clicks < 3; clicks++) {
        await page.mouse.click(x, y)
        await page.waitForLoadState()
      }
      expect([leap, state(id)]).toEqual([leap, 'pending'])
    }
  })

  test.skipIf(onlyOnce(way))(
    'leads a person who has its address to a page with nothing to press but a link, or to none',
    async () => {
      const id = await question()
      neighbour.page = `<a href="${list}/${id}">your prize</a>`
      for (const name of ['127.0.0.1', 'localhost', new URL(list).hostname]) {
        await page.goto(`http://${name}:${neighbour.port}/`)
        await page.click('a')
        await page.waitForSelector('main')
        expect([name, await page.locator('button.yes').count(), await page.locator('.diff').count()]).toEqual([name, 0, 0])
      }
      // It was asked from the page's own name last: the person is known there, and goes on by themselves.
      await page.getByRole('link', { name: 'Go on' }).click()
      await page.waitForSelector('button.yes')
    },
  )

  test.skipIf(onlyOnce(way))('can neither frame it, nor hold its window, nor read it', async () => {
    const id = await question()
    const address = `${list}/${id}`
    neighbour.page = `<iframe src="${address}"></iframe><iframe src="${served.url}/sign-in"></iframe><iframe src="${served.url}/healthz"></iframe>
      <button onclick="window.held = window.open('${address}')">win</button>
      <script>
        window.read = Promise.allSettled(
          ['${address}', '${list}', '${served.url}/healthz'].flatMap((one) =>
            ['cors', 'no-cors'].map((mode) => fetch(one, { mode, credentials: 'include' }).then((response) => response.text())),
          ),
        ).then((all) => all.map((one) => one.value ?? ''))
      </script>`
    for (const name of ['127.0.0.1', 'evil.localhost', new URL(list).hostname]) {
      await page.goto(`http://${name}:${neighbour.port}/`)
      const frames = (): string[] => {
        const [, ...inner] = page.frames()
        return inner.map((frame) => frame.url())
      }
      await expect.poll(frames).toEqual(Array(3).fill('chrome-error://chromewebdata/'))
      expect((await page.evaluate<string[]>('window.read')).join('')).toBe('')
      const [popup] = await Promise.all([page.context().waitForEvent('page'), page.click('button')])
      await popup.waitForSelector('main')
      expect([await popup.evaluate('window.opener'), await page.evaluate('window.held.closed')]).toEqual([null, true])
      await closePage(popup)
    }
  })

  test('plants cookies that neither sign anybody in nor lock the person out', async () => {
    const { hostname } = new URL(list)
    neighbour.page = 'hello'
    neighbour.plants = ['/', '/p', '/p/', '/approvals'].map((path) => `handrail_person=planted; Path=${path}`)
    for (const domain of ['localhost', hostname]) neighbour.plants.push(`handrail_person=tossed; Domain=${domain}; Path=/`)
    for (const name of ['evil.localhost', '127.0.0.1', hostname]) await page.goto(`http://${name}:${neighbour.port}/`)
    neighbour.plants = []
    await page.goto(list)
    expect(await page.locator('h1').innerText()).toMatch(/questions? waits? for you$/)
    const stranger = await (await browser.newContext()).newPage()
    await stranger.context().addCookies([{ name: 'handrail_person', value: 'planted', domain: hostname, path: '/' }])
    await stranger.goto(list)
    expect(new URL(stranger.url()).pathname).toBe('/sign-in')
    await stranger.context().close()
  })

  test.skipIf(onlyOnce(way))('does not keep the person from approving what they read, with their own words', async () => {
    const id = await question()
    await page.goto(`${list}/${id}`)
    const note = 'fine,\n"this once" <b>only</b>'
    await page.fill('textarea', note)
    await page.click('button.yes')
    const number = await page.locator('.number').innerText()
    await page.keyboard.type(number === '123' ? '124' : '123')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.notice')
    expect(state(id)).toBe('pending')
    await page.keyboard.type(await page.locator('.number').innerText())
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('after') === id)
    expect(await page.locator('.notice').innerText()).toContain('approved by person@page')
    expect(world.runtime.approvals.get(id)).toMatchObject({ state: 'approved', note: note.replace('\n', '\r\n') })
  })
})

describe.skipIf(noBrowser !== undefined)('the page and the agents have a name each', () => {
  test('cannot be taken by others: both loopback addresses are held', async () => {
    const taken = createTcp().listen(served.port, '::1')
    const [outcome] = (await Promise.race([once(taken, 'listening').then(() => ['listening']), once(taken, 'error')])) as [
      unknown,
    ]
    taken.close()
    if ((outcome as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL') return
    expect(outcome).toMatchObject({ code: 'EADDRINUSE' })
    const socket = connect(served.port, '::1')
    await once(socket, 'connect')
    socket.destroy()
  })

  test('where somebody sits at the other loopback address, the name is not used', async () => {
    const squatter = createTcp((socket) => socket.destroy()).listen(0, '::1')
    await Promise.race([once(squatter, 'listening'), once(squatter, 'error')])
    if (squatter.address() === null) return
    const { port } = squatter.address() as AddressInfo
    await using other = await openServe(world.project, { args: ['--port', String(port)] })
    expect(other.port).toBe(port)
    const { basePath, cookie } = await signInByLink(other, world.project, 'direct')
    expect((await visitAt(port, `${basePath}/approvals`, { headers: { Cookie: cookie } })).status).toBe(200)
    squatter.close()
  })

  test("an agent's token does not count at the page's name, a person's cookie at no other, and no spelling of it is taken", async () => {
    const page = await signedIn(ways[0])
    const { host, hostname, port, pathname } = new URL(page.url())
    const [cookie] = await page.context().cookies(page.url())
    await page.context().close()
    const Cookie = `handrail_person=${cookie?.value}`
    const Authorization = `Bearer ${served.token}`
    const at = async (Host: string, path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
      (await visitAt(served.port, path, { method, headers: { Host, ...headers } })).status
    expect(await at(host, pathname, { Cookie })).toBe(200)
    for (const path of ['/mcp', '/sse', '/messages?sessionId=1', '/healthz', '/none', pathname.replace('approvals', 'mcp')])
      for (const method of ['GET', 'POST'])
        expect([path, await at(host, path, { Authorization, Cookie }, method)]).toEqual([path, 401])
    expect(await at(`127.0.0.1:${port}`, pathname.replace('approvals', 'mcp'), { Authorization }, 'POST')).toBe(401)
    expect(await at(`127.0.0.1:${port}`, pathname, { Cookie })).toBe(401)
    for (const wrong of [
      `${hostname}.:${port}`,
      `${hostname.toUpperCase()}:${port}`,
      hostname,
      `${hostname}:${Number(port) + 1}`,
      `evil.localhost:${port}`,
      `x.${host}`,
      `localhost.:${port}`,
      `${hostname.slice(0, -10)}:${port}`,
      `${host}@evil.example`,
      `rebound.example:${port}`,
    ])
      for (const path of [pathname, '/sign-in', '/mcp'])
        expect([wrong, await at(wrong, path, { Cookie, Authorization })]).toEqual([wrong, 403])
    for (const Origin of [served.url, 'null', `http://${hostname}`, `https://${host}`, 'http://evil.localhost'])
      expect([Origin, await at(host, pathname, { Cookie, Origin })]).toEqual([Origin, 403])
    for (const dest of ['iframe', 'frame', 'embed', 'object', 'image', 'script', 'style', 'empty', 'report'])
      expect([dest, await at(host, pathname, { Cookie, 'Sec-Fetch-Dest': dest, 'Sec-Fetch-Site': 'same-origin' })]).toEqual([
        dest,
        403,
      ])
    expect(await at(host, pathname, { Cookie, 'Sec-Purpose': 'prefetch;prerender' })).toBe(403)
  })
})
