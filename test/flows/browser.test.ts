import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Attachment } from '../../src/contracts/tool.ts'
import { footprint, noBrowser, whatIsLeft } from '../support/chromium.ts'
import { proves } from '../support/proof.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { cleanEnv, openWorld, program, type World } from '../support/world.ts'

const page = `<!doctype html><title>Shop</title><body style="background:#2a7">
  <button id="more">More</button> <button class="twin">a</button> <button class="twin">b</button>
  <a id="next" href="/next">next</a><p id="seen"></p>
  <script>more.onclick = () => { seen.textContent = 'clicked'; document.body.style.background = '#c33' }</script>`

let server: Server
let base = ''
const asked: string[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.cookie ?? ''}`.trim())
    if (request.url === '/slow') return
    response.setHeader('Set-Cookie', 'seen=1')
    response.writeHead(request.url === '/gone' ? 404 : 200, { 'Content-Type': 'text/html' }).end(page)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  base = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close().closeAllConnections())

const developer = { mode: 'developer', 'browser-timeout-ms': '10000' }
const act = (world: World, action: string, more: object = {}, session = 'sess_test'): Promise<Record<string, unknown>> =>
  world.call('browser_action', { action, ...more }, { session })

const isPng = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(1, 4)).toString('latin1') === 'PNG'

describe.skipIf(noBrowser !== undefined)('browser_action', () => {
  // One runtime, and so one browser, for all of them: the last ends it.
  let world: World
  beforeAll(async () => {
    world = await openWorld({ flags: developer })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  proves(
    'browser.act',
    'opens, clicks and takes a picture; the page stays for the session, and the picture can be undone',
    async () => {
      expect(await act(world, 'open', { url: `${base}/` })).toEqual({ ok: true, url: `${base}/`, status: 200 })
      const shown: Attachment[] = []
      const take = (path: string): Promise<unknown> =>
        world.call('browser_action', { action: 'screenshot', path }, { onAttachment: (one) => shown.push(one) })
      expect(await take('before.png')).toEqual({ ok: true, url: `${base}/`, path: 'screenshots/before.png' })
      expect(await act(world, 'click', { selector: '#more' })).toEqual({ ok: true, url: `${base}/` })
      expect(await take('screenshots/after')).toMatchObject({ path: 'screenshots/after.png' })
      expect(shown.map(({ mimeType, bytes }) => [mimeType, isPng(bytes)])).toEqual([
        ['image/png', true],
        ['image/png', true],
      ])
      expect(Buffer.from(shown[0]?.bytes ?? []).equals(Buffer.from(shown[1]?.bytes ?? []))).toBe(false)
      expect(await act(world, 'click', { selector: 'text=next' })).toEqual({ ok: true, url: `${base}/next` })
      expect(world.runtime.snapshots(10, 'screenshots').map(({ path }) => path)).toEqual([
        'screenshots/after.png',
        'screenshots/before.png',
      ])
    },
  )

  test('each session has a page and cookies of its own', async () => {
    await act(world, 'open', { url: `${base}/one` })
    asked.length = 0
    await act(world, 'open', { url: `${base}/two` }, 'sess_other')
    expect(asked).toContain('/two')
    await act(world, 'open', { url: `${base}/three` })
    expect(asked).toContain('/three seen=1')
    expect(await act(world, 'click', { selector: '#more' }, 'sess_other')).toMatchObject({ url: `${base}/two` })
    expect((await world.fault('browser_action', { action: 'click', selector: '#more' }, { session: 'sess_new' })).hint).toContain(
      'Open one first',
    )
  })

  test('what does not work is said', async () => {
    const fault = (input: object) => world.fault('browser_action', input)
    expect(await fault({ action: 'open', url: 'http://localhost:1/' })).toMatchObject({ code: 'E_PREVIEW_FAIL' })
    expect(await fault({ action: 'open', url: `${base}/slow` })).toMatchObject({ code: 'E_TIMEOUT' })
    expect(await act(world, 'open', { url: `${base}/gone` })).toMatchObject({ status: 404 })
    expect((await fault({ action: 'click', selector: '.twin' })).message).toBe('2 elements fit the selector')
    expect((await fault({ action: 'click', selector: '#nothing' })).message).toBe('Nothing on the page fits the selector')
    expect((await fault({ action: 'click', selector: '<<<' })).message).toBe('The selector cannot be used')
    expect(await fault({ action: 'screenshot', path: 'a.txt' })).toMatchObject({ code: 'E_BAD_ARGS' })
  })

  test('a browser that was killed is started again, and what it left is cleared away', async () => {
    await act(world, 'open', { url: `${base}/` })
    for (const pid of footprint().processes)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        continue
      }
    expect((await world.fault('browser_action', { action: 'screenshot', path: 'a.png' })).code).toBe('E_PREVIEW_FAIL')
    expect(await act(world, 'open', { url: `${base}/` })).toMatchObject({ ok: true })
    expect(await act(world, 'screenshot', { path: 'a.png' })).toMatchObject({ ok: true })
    await world.runtime.close()
    expect(await whatIsLeft()).toEqual({ homes: [], processes: [] })
  })
})

test('developer mode only, each action with what it needs, and what is allowed is told', async () => {
  await using world = await openWorld()
  expect((await world.fault('browser_action', { action: 'click', selector: 'a' })).code).toBe('E_TOOL_DISABLED')
  expect(await world.call('get_runtime_info', {})).not.toHaveProperty('browser')
  await world.reopen({ mode: 'developer', 'browser-timeout-ms': '1234' })
  expect(await world.call('get_runtime_info', {})).toMatchObject({
    browser: { enabled: true, allowedHosts: ['localhost', '127.0.0.1'], timeoutMs: 1234, screenshotDir: 'screenshots' },
  })
  for (const action of ['open', 'click', 'screenshot'])
    expect((await world.fault('browser_action', { action })).code).toBe('E_BAD_ARGS')
  await world.reopen({ mode: 'developer', 'read-only': 'true' })
  expect((await world.fault('browser_action', { action: 'screenshot', path: 'a.png' })).code).toBe('E_POLICY_VIOLATION')
})

/** Loaded before Handrail: kills it in the moment it comes to start the keeper of its browser, or has made the browser's folder. */
const dying = (when: string): string => `
const childProcess = require('node:child_process'), fs = require('node:fs')
const die = () => process.kill(process.pid, 'SIGKILL')
const { spawn } = childProcess
childProcess.spawn = (...given) => (${when === 'start'} && String(given[1]).includes('cat >/dev/null') ? die() : spawn(...given))
for (const name of ['mkdirSync', 'mkdtempSync']) {
  const make = fs[name]
  fs[name] = (...given) => {
    const made = make(...given)
    if (${when === 'make'} && String(given[0]).includes('handrail-chromium-')) die()
    return made
  }
}
require('node:module').syncBuiltinESMExports()
`

const deaths = ['start', 'make']
/** Either of them in `npm test`, by the seed. */
const someDeaths = isSoak ? deaths : [deaths[draws('how a Handrail dies before its browser is there')(deaths.length)]]

test.skipIf(noBrowser !== undefined || process.platform === 'win32').each(someDeaths)(
  'a Handrail that is killed before its browser is there leaves no folder (%s)',
  async (when = '') => {
    await using world = await openWorld()
    const preload = join(world.base, 'dying.cjs')
    writeFileSync(preload, dying(when))
    const input = JSON.stringify({ action: 'open', url: `${base}/` })
    const words = ['call', 'browser_action', input, '--mode', 'developer', '--project', world.project, '--wait', '0']
    const env = cleanEnv(world.base)
    const child = spawn(process.execPath, ['--require', preload, program, ...words], { stdio: 'ignore', env })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    expect(await whatIsLeft(child.pid)).toEqual({ homes: [], processes: [] })
  },
)
