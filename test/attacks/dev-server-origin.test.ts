// @stage
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../../src/host/browser/find.ts'
import { noBrowser } from '../support/chromium.ts'
import { askLocal } from '../support/local-get.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

// An agent's dev server against what the person's browser and other programs of this machine have at `localhost`.

interface Answer {
  urls: string[]
  logs: string[]
  running: boolean
}

const dev = (world: World, more: Record<string, unknown> = {}): Promise<Answer> =>
  world.call<Answer>('execute_command', { scriptName: 'dev', ...more })

const openProject = (source: string): Promise<World> =>
  openWorld({
    files: { 'package.json': JSON.stringify({ name: 'p', scripts: { dev: 'node dev.js' } }), 'dev.js': source },
    flags: { mode: 'developer' },
  })

/** Says what it was sent, sets what it can, and brings a service worker. */
const greedy = (port: number): string => `
  const worker = "self.oninstall=()=>self.skipWaiting();self.onactivate=e=>e.waitUntil(clients.claim());self.onfetch=e=>e.respondWith(new Response('the agent was here'))"
  const page = "<h1>mine</h1><script>navigator.serviceWorker.register('/sw.js',{scope:'/'}).then(()=>navigator.serviceWorker.ready).then(()=>{document.title='worker'},()=>{document.title='none'})</script>"
  const set = (response) => { response.setHeader('Set-Cookie', ['theirs=1; Path=/']); response.setHeader('Service-Worker-Allowed', '/'); response.setHeader('Clear-Site-Data', '"cookies"') }
  const server = require('node:http').createServer((request, response) => {
    console.log('seen', request.headers.host, JSON.stringify({ cookie: request.headers.cookie, storage: request.url.startsWith('/storage') && request.url }))
    if (request.url === '/sw.js') return response.setHeader('Content-Type', 'text/javascript').end(worker)
    if (request.url === '/bare') set(response)
    response.setHeader('Content-Type', 'text/html').end(request.url === '/bare' ? JSON.stringify(request.headers) : page)
  })
  server.on('upgrade', (request, socket) => {
    console.log('seen', request.headers.host, JSON.stringify({ cookie: request.headers.cookie }))
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: Upgrade\\r\\nSet-Cookie: theirs=1\\r\\n\\r\\n')
    socket.on('error', () => {}).pipe(socket)
  })
  server.listen(${port})`

/** Where dev servers usually listen: on the first of these that nobody else has. */
async function listenHere(text: string, [port, ...others]: readonly number[]): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer((_, response) => {
    response.setHeader('Set-Cookie', 'session=OTHER-APP; HttpOnly; SameSite=Strict; Path=/')
    response.setHeader('Content-Type', 'text/html').end(text)
  })
  server.listen(port, '127.0.0.1')
  const free = await new Promise<boolean>((done) => {
    server.once('listening', () => done(true)).once('error', () => done(false))
  })
  if (!free) return listenHere(text, others)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

async function said(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

const seen = async (world: World): Promise<string> => (await dev(world)).logs.filter((line) => line.startsWith('seen')).join('\n')

describe('under a name it shares with other servers', () => {
  let world: World
  let url: URL
  let answer: Answer
  beforeAll(async () => {
    world = await openProject(greedy(0))
    answer = await dev(world)
    url = new URL(answer.urls[0] as string)
  })
  afterAll(() => world[Symbol.asyncDispose]())
  const shared = (): string[] => ['localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:${url.port}`)

  test('its address has a name of its own, the same for as long as Handrail runs, and the answer says what else leads there', async () => {
    expect(url.hostname).toMatch(/^dev-[0-9a-f]{16}\.localhost$/)
    expect(answer.logs.join('\n')).toContain(
      `as ${url.href} (for programs that do not find that name: http://localhost:${url.port}/`,
    )
    expect((await askLocal(url.href)).text).toContain('<h1>mine</h1>')
  })

  test('a page is shown at its own name only, and no service worker is given out', async () => {
    const asked: Record<string, string>[] = [
      { 'Sec-Fetch-Mode': 'navigate' },
      { Accept: 'text/html,*/*' },
      { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' },
    ]
    // In `npm test` each name is asked in one of the three ways; in a soak in each.
    for (const [at, origin] of shared().entries())
      for (const headers of asked.filter((_, way) => isSoak || way === at)) {
        const { status, headers: got, text } = await askLocal(`${origin}//a?b=1`, headers)
        expect([origin, status, got.location, text]).toEqual([origin, 302, `${url.origin}//a?b=1`, ''])
        expect((await askLocal(`${origin}/`, headers, 'POST')).status).toBe(403)
      }
    for (const origin of shared()) expect((await askLocal(`${origin}/sw.js`, { 'Service-Worker': 'script' })).status).toBe(403)
    expect((await askLocal(`${url.origin}/sw.js`, { 'Service-Worker': 'script' })).status).toBe(200)
    for (const host of [
      'rebound.example',
      'x.localhost',
      `dev-${'0'.repeat(16)}.localhost`,
      `${url.hostname}.`,
      `x.${url.hostname}`,
    ])
      expect([host, (await askLocal(`http://${host}:${url.port}/bare`)).status]).toEqual([host, 403])
    expect((await askLocal(`http://${url.hostname}:${url.port}/bare`, { Host: `${url.hostname}:1` })).status).toBe(403)
  })

  test('no cookie goes in, none comes out, nothing is cleared; at its own name all of that is its own', async () => {
    const cookie = 'a=1; handrail_person=x; session=OTHER-APP'
    const own = await askLocal(`${url.origin}/bare`, { Cookie: cookie })
    expect(JSON.parse(own.text)).toMatchObject({ host: url.host, cookie })
    expect(own.headers).toMatchObject({ 'set-cookie': ['theirs=1; Path=/'], 'service-worker-allowed': '/' })
    for (const origin of shared()) {
      const { status, headers, text } = await askLocal(`${origin}/bare`, { Cookie: cookie, 'X-More': 'kept' })
      expect(status).toBe(200)
      expect(JSON.parse(text)).toMatchObject({ 'x-more': 'kept' })
      expect(text).not.toContain('OTHER-APP')
      for (const name of ['set-cookie', 'service-worker-allowed', 'clear-site-data'])
        expect([name, headers[name]]).toEqual([name, undefined])
    }
  })

  test('the same for a connection that is slow, comes in pieces, carries several requests, or becomes something else', async () => {
    const head = (host: string, more: string): string =>
      `GET /bare HTTP/1.1\r\nHost: ${host}\r\nCookie: session=OTHER-APP\r\n${more}\r\n`
    const pieces = connect(Number(url.port), '127.0.0.1')
    for (const byte of head(`localhost:${url.port}`, 'Connection: close\r\n')) {
      pieces.write(byte)
      await pause(1)
    }
    expect(await said(pieces)).toMatch(/^HTTP\/1\.1 200 /)
    const many = connect(Number(url.port), '127.0.0.1')
    many.write(head(url.host, '') + head(`localhost:${url.port}`, '') + head('127.0.0.1', 'Connection: close\r\n'))
    const answers = await said(many)
    expect([answers.match(/HTTP\/1\.1 200 /g)?.length, answers.match(/OTHER-APP/g)?.length]).toEqual([3, 1])
    const flood = connect(Number(url.port), '127.0.0.1')
    flood.write(head(url.host, '').repeat(40))
    const heard = await said(flood).catch(() => '')
    expect([heard.match(/HTTP\/1\.1 200 /g)?.length, heard.match(/HTTP\/1\.1 503 /g)?.length]).toEqual([16, 1])
    for (const [host, sets] of [
      [`localhost:${url.port}`, false],
      [url.host, true],
    ] as const) {
      const upgraded = connect({ port: Number(url.port), host: '127.0.0.1', allowHalfOpen: true })
      upgraded.write(head(host, 'Connection: Upgrade\r\nUpgrade: echo\r\n'))
      upgraded.end('\0hello')
      const text = await said(upgraded)
      expect([text.startsWith('HTTP/1.1 101 '), text.endsWith('\0hello'), text.includes('theirs')]).toEqual([true, true, sets])
    }
    const wholly = (await seen(world)).split('\n').filter((line) => /OTHER-APP/.test(line))
    expect(wholly.filter((line) => !line.startsWith(`seen ${url.host} `))).toEqual([])
    const encrypted = connect(Number(url.port), '127.0.0.1')
    encrypted.write(Buffer.from([0x16, 3, 1, 0, 1, 0]))
    expect(await said(encrypted).catch(() => '')).toBe('')
  })

  test('a method that no browser has by itself, or a server that answers before it is asked, is no way around', async () => {
    const odd = connect(Number(url.port), '127.0.0.1')
    odd.write(`whatever /bare HTTP/1.1\r\nHost: localhost:${url.port}\r\nCookie: session=OTHER-APP\r\n\r\n`)
    await said(odd).catch(() => '')
    expect(await seen(world)).not.toMatch(/^seen localhost:\d+ .*OTHER-APP/m)
    await using eager = await openProject(`
      require('node:net').createServer((socket) => {
        socket.on('error', () => {}).on('data', (chunk) => console.log('seen', String(chunk)))
        socket.write('HTTP/1.1 200 OK\\r\\nSet-Cookie: theirs=1\\r\\nContent-Length: 2\\r\\n\\r\\nhi')
      }).listen(0)`)
    const { port } = new URL((await dev(eager)).urls[0] as string)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'data')
    socket.write(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\nCookie: session=OTHER-APP\r\n\r\n`)
    expect(await said(socket).catch(() => '')).toBe('')
    expect(await seen(eager)).not.toContain('OTHER-APP')
  })
})

test('a port that somebody had is never taken under its number, however often the server or its port comes and goes', async () => {
  const persons = await listenHere('the person', [5179, 4176, 4175, 8083, 3009])
  const { port } = persons
  await using world = await openProject(`
    const http = require('node:http'); let inside
    const open = () => new Promise((done) => { inside = http.createServer((_, response) => response.end('agent')).listen(${port}, done) })
    const control = http.createServer(async (request, response) => {
      if (request.url === '/again') { inside.closeAllConnections(); await new Promise((done) => inside.close(done)) } else await open()
      response.end('done')
    })
    open().then(() => control.listen(9999))`)
  const { urls } = await dev(world)
  // In the order in which they were found.
  const [, control = ''] = urls
  expect(urls).toHaveLength(2)
  expect(new URL(urls[0] as string).port).not.toBe(String(port))
  await persons.close()
  const taken = (): Promise<boolean> =>
    new Promise((done) => {
      const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false))
      socket.on('connect', () => socket.destroy())
    })
  // Its port goes, which the next look sees, and comes again.
  expect((await askLocal(`${control}again`)).text).toBe('done')
  while ((await dev(world)).urls.length > 1) await pause(50)
  expect((await askLocal(`${control}open`)).text).toBe('done')
  while ((await dev(world)).urls.length < 2) await pause(50)
  expect(await taken()).toBe(false)
  await dev(world, { stop: true })
  expect((await dev(world)).urls).toHaveLength(2)
  expect(await taken()).toBe(false)
})

test('who listens with thousands of sockets is ended, and told why', async () => {
  await using world = await openProject(`
    const net = require('node:net'); net.createServer().listen(3000)
    for (let at = 0; at < 2500; at++) net.createServer().on('error', () => {}).listen(10000 + (at % 250), '127.1.' + (1 + Math.floor(at / 250)) + '.1')
    setInterval(() => {}, 1000)`)
  const why = 'it listened with more than 1000 sockets'
  const fault = await world.fault('execute_command', { scriptName: 'dev' }).catch(() => undefined)
  const told = fault?.message ?? (await dev(world, { stop: true })).logs.join('\n')
  expect(told).toContain(why)
})

describe.skipIf(noBrowser !== undefined)('in a real browser', () => {
  let browser: Browser
  beforeAll(async () => {
    const found = findChromium(process.env)
    browser = await chromium.launch({ executablePath: 'file' in found ? found.file : '', args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  test('sees neither cookies nor storage of the app that had its port before, and leaves nothing to the next', async () => {
    const context = await browser.newContext()
    const tab = await context.newPage()
    const before = await listenHere(`<script>localStorage.auth = 'bearer-of-other-app'</script>before`, [8084, 4174, 3008, 3007])
    const shared = `http://localhost:${before.port}/`
    await tab.goto(shared)
    await before.close()
    await using world = await openProject(greedy(before.port))
    const { urls } = await dev(world)
    await tab.goto(shared)
    expect(tab.url()).toBe(urls[0])
    await tab.waitForFunction('document.title')
    expect([await tab.title(), await tab.evaluate('JSON.stringify(localStorage)')]).toEqual(['worker', '{}'])
    expect(await seen(world)).not.toContain('OTHER-APP')
    await dev(world, { stop: true })
    const after = await listenHere('after', [before.port])
    for (const name of ['localhost', '127.0.0.1']) {
      await tab.goto(`http://${name}:${before.port}/`)
      expect(await tab.textContent('body')).toBe('after')
    }
    expect((await context.cookies(shared)).map(({ name }) => name)).toEqual(['session'])
    await after.close()
    await context.close()
  })

  test('an agent opens its own server by the address it was told, and no other name', async () => {
    await using world = await openProject(greedy(0))
    const [address = ''] = (await dev(world)).urls
    const { port } = new URL(address)
    for (const url of [address, `http://localhost:${port}/`, `http://127.0.0.1:${port}/`])
      expect(await world.call('browser_action', { action: 'open', url })).toMatchObject({ ok: true, url: address, status: 200 })
    for (const url of [`http://x.localhost:${port}/`, `http://${'a'.repeat(20)}.localhost:${port}/`])
      expect((await world.fault('browser_action', { action: 'open', url })).code).toBe('E_POLICY_VIOLATION')
  })
})
