import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../../src/host/browser/find.ts'
import { noBrowser } from '../support/chromium.ts'
import { runInside, serveInside } from '../support/inside.ts'
import { openServe, type Served } from '../support/serve.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

// The link that signs a person in, against other programs of this machine that sit on a port, sat on one before, or can be reached on another.

/** Where its process is not what matters; in a soak the program itself. */
const serveSome = isSoak ? openServe : serveInside

let world: World
beforeAll(async () => {
  world = await openWorld({ files: { 'a.txt': 'a\n' } })
})
afterAll(() => world[Symbol.asyncDispose]())

const linkOf = async (args: string[] = []): Promise<URL> =>
  new URL((await runInside(world.project, ['approvals', 'page', ...args])).out.trim())

interface Squatter {
  port: number
  heard: string[]
  close(): Promise<void>
}

/** Another program's server, which answers as it likes and writes down what it is sent. */
async function squat(port = 0, answer: (path: string) => Promise<string> = () => Promise.resolve('')): Promise<Squatter> {
  const heard: string[] = []
  const server: Server = createServer({ maxHeaderSize: 65_536 }, (asked, response) => {
    heard.push(asked.url ?? '')
    response.setHeader('Content-Type', asked.url === '/sw.js' ? 'text/javascript' : 'text/html')
    void answer(asked.url ?? '').then((text) => response.end(text))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

/** What pressing the button answers where the link leads, whatever the system makes of its name. */
async function press(link: URL, at = link.host): Promise<number> {
  const body = new URLSearchParams({ key: link.searchParams.get('key') ?? '' }).toString()
  const headers = { Host: at, Origin: `http://${at}`, 'Content-Type': 'application/x-www-form-urlencoded' }
  const sending = request({ host: '127.0.0.1', port: Number(at.split(':')[1]), path: '/sign-in', method: 'POST', headers })
  sending.end(body)
  const [response] = (await once(sending, 'response')) as [{ statusCode: number; resume(): void }]
  response.resume()
  return response.statusCode
}

async function killed(served: Served): Promise<void> {
  process.kill(served.pid, 'SIGKILL')
  await served[Symbol.asyncDispose]()
}

test('where no server of the project runs, no link is made, whoever has the usual port', async () => {
  for (const args of [[], ['--port', '4777'], ['--by-address']]) {
    const { code, out, err } = await runInside(world.project, ['approvals', 'page', ...args])
    expect([code === 0, out]).toEqual([false, ''])
    expect(err).toContain('No `handrail serve` of this project is running')
    expect(err).toContain('handrail serve')
  }
})

test('the link leads to the server that runs, under a name that is new in each process, and signs in there', async () => {
  const names = new Set<string>()
  let port = 0
  for (let round = 0; round < 2; round++) {
    await using served = await openServe(world.project, { args: ['--port', String(port)] })
    port = served.port
    const link = await linkOf()
    expect(link.port).toBe(String(port))
    expect(link.hostname).toMatch(/^handrail-[a-z2-7]{16}\.localhost$/)
    names.add(link.hostname)
    expect(await press(link)).toBe(200)
    const address = await linkOf(['--by-address'])
    expect(address.host).toBe(`127.0.0.1:${port}`)
    expect(await press(address)).toBe(303)
  }
  expect(names.size).toBe(2)
})

test('of several servers one is named, and a key counts at no other', async () => {
  await using one = await openServe(world.project)
  await using two = await serveSome(world.project)
  const { code, out, err } = await runInside(world.project, ['approvals', 'page'])
  expect([code === 0, out]).toEqual([false, ''])
  for (const { port } of [one, two]) expect(err).toContain(String(port))
  for (const byAddress of [[], ['--by-address']]) {
    const link = await linkOf(['--port', String(one.port), ...byAddress])
    expect(link.port).toBe(String(one.port))
    expect(await press(link, `127.0.0.1:${two.port}`)).toBe(403)
    expect([200, 303]).toContain(await press(link))
  }
})

test('a program that took the port of a server that was killed gets no key', async () => {
  const served = await openServe(world.project)
  await killed(served)
  const squatter = await squat(served.port)
  const { code, out } = await runInside(world.project, ['approvals', 'page', '--port', String(served.port)])
  expect([code === 0, out, squatter.heard]).toEqual([false, '', []])
  await squatter.close()
})

test('a program that has the port of a server it does not belong to is found out, even where it asks a real server what to say', async () => {
  await using served = await serveSome(world.project)
  const squatter = await squat(0, async (path) => (await fetch(`${served.url}${path}`)).text())
  // As if a server had lost its port without a word.
  const withdraw = world.runtime.servedPages.announce({ instance: 'lost', url: `http://127.0.0.1:${squatter.port}` })
  const { code, out, err } = await runInside(world.project, ['approvals', 'page', '--port', String(squatter.port)])
  expect([code === 0, out]).toEqual([false, ''])
  expect(err).toContain(`Another program answers at http://127.0.0.1:${squatter.port}`)
  expect(squatter.heard).toEqual([expect.stringMatching(/^\/sign-in\/proof\?challenge=[\w-]{43}$/)])
  withdraw()
  await squatter.close()
})

describe.skipIf(noBrowser !== undefined)('in a browser that was at that port before', () => {
  let browser: Browser
  beforeAll(async () => {
    const found = findChromium(process.env)
    browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  const worker = `self.oninstall = () => self.skipWaiting()
    self.onactivate = (event) => event.waitUntil(clients.claim())
    self.onfetch = (event) => event.respondWith(new Response('stolen ' + event.request.url))`
  const page = `<script>
    for (let at = 0; at < 6; at++) document.cookie = 'c' + at + '=' + 'x'.repeat(4000) + '; Path=/; Max-Age=31536000'
    navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => (window.done = true))
  </script>`

  test('neither a service worker nor cookies that were left there stand between the person and the page', async () => {
    const context = await browser.newContext()
    const tab = await context.newPage()
    // The name of an earlier server is known to whoever took its port with a tab still open.
    const earlier = await serveSome(world.project)
    const { hostname: before } = await linkOf()
    await earlier[Symbol.asyncDispose]()
    const left = await squat(earlier.port, (path) => Promise.resolve(path === '/sw.js' ? worker : page))
    for (const name of ['127.0.0.1', 'localhost', before]) {
      await tab.goto(`http://${name}:${left.port}/`)
      await tab.waitForFunction('window.done')
    }
    await left.close()
    await using served = await openServe(world.project, { args: ['--port', String(left.port)] })
    expect(served.port).toBe(left.port)
    await tab.goto((await linkOf()).href)
    expect(await tab.textContent('h1')).toBe('Sign in to Handrail')
    await tab.getByRole('button', { name: 'Sign in' }).click()
    await tab.waitForURL(/\/p\/[a-z2-7]+\/approvals$/)
    await context.close()
  })
})
