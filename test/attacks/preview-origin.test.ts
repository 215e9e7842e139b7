import { createServer } from 'node:http'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { openBrowser } from '../../src/host/browser/browser.ts'
import { noBrowser } from '../support/chromium.ts'
import { fakeEngine, tinyGame } from '../support/tiny-game.ts'
import { openWorld, type World } from '../support/world.ts'

function ask(
  port: number,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: IncomingMessage['headers'] }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers }, (answer) => {
      answer.resume().once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }))
    })
      .once('error', reject)
      .end()
  })
}
const portOf = async (world: World): Promise<number> =>
  Number(new URL((await world.call<{ url: string }>('preview_scene', {})).url).port)

test('a browser is sent on to a name that no other server has, and everything comes with a policy', async () => {
  await using world = await openWorld({
    files: { ...tinyGame, ...fakeEngine('older'), 'game/x.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' },
    environment: () => ({ HANDRAIL_CHROMIUM: '/nowhere' }),
  })
  const port = await portOf(world)
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    for (const path of ['/preview', '/game/x.svg?y', '//game/x.svg']) {
      const sent = await ask(port, path, { Host: `${host}:${port}`, 'Sec-Fetch-Mode': 'navigate' })
      expect([host, path, sent.status]).toEqual([host, path, 302])
      const to = sent.headers.location ?? ''
      expect(to).toMatch(/^http:\/\/preview-[0-9a-f]{16}\.localhost:\d+\//)
      const own = { Host: new URL(to).host, 'Sec-Fetch-Mode': 'navigate' }
      expect((await ask(port, path, own)).status).toBe(200)
    }
  for (const path of ['/preview', '/game/x.svg', '/assets/engine.js', '/game/none']) {
    const { headers } = await ask(port, path, { Host: `localhost:${port}` })
    const policy = String(headers['content-security-policy'])
    for (const part of ["connect-src 'self'", "form-action 'none'", "frame-src 'none'", "object-src 'none'", 'sandbox '])
      expect(policy).toContain(part)
    expect(policy).not.toMatch(/\*|https?:/)
  }
  for (const host of ['preview-0000000000000000.localhost', 'x.localhost', 'handrail.localhost'])
    expect((await ask(port, '/preview', { Host: `${host}:${port}` })).status).toBe(403)
})

describe.skipIf(noBrowser !== undefined)('in a browser that would let it', () => {
  test('a hostile game reaches no other port of this machine, by no means, and sees no cookie of others', async () => {
    const heard: string[] = []
    const other = createServer((asked, answer) => {
      heard.push(`${asked.method} ${asked.url}`)
      answer.setHeader('Access-Control-Allow-Origin', '*').setHeader('Set-Cookie', 'secret=canary; Path=/').end('x')
    }).on('upgrade', (asked, socket) => {
      heard.push(`upgrade ${asked.url}`)
      socket.destroy()
    })
    await new Promise<void>((ready) => other.listen(0, '127.0.0.1', ready))
    const there = `localhost:${(other.address() as AddressInfo).port}`
    const evil = `
      const to = 'http://${there}/'
      const tries = [
        () => fetch(to + 'fetch', { mode: 'no-cors', method: 'POST', body: 'x' }),
        () => navigator.sendBeacon(to + 'beacon', 'x'),
        () => new WebSocket('ws://${there}/socket'),
        () => new EventSource(to + 'events'),
        () => { const asked = new XMLHttpRequest(); asked.open('GET', to + 'xhr'); asked.send() },
        () => { new Image().src = to + 'image' },
        () => { const made = document.createElement('script'); made.src = to + 'script'; document.head.append(made) },
        () => { const made = document.createElement('link'); made.rel = 'stylesheet'; made.href = to + 'style'; document.head.append(made) },
        () => { const made = document.createElement('iframe'); made.src = to + 'frame'; document.body.append(made) },
        () => { const made = document.createElement('object'); made.data = to + 'object'; document.body.append(made) },
        () => { const made = document.createElement('form'); made.action = to + 'form'; made.method = 'POST'; made.target = '_blank'; document.body.append(made); made.submit() },
        () => { const made = document.createElement('video'); made.src = to + 'video'; document.body.append(made) },
        () => open(to + 'window'),
        () => new Worker(URL.createObjectURL(new Blob(["fetch('" + to + "worker', { mode: 'no-cors' })"]))),
        () => import(to + 'module').catch(() => 0),
      ]
      addEventListener('load', () => {
        for (const one of tries) { try { Promise.resolve(one()).catch(() => 0) } catch {} }
        setTimeout(() => { document.body.dataset.tried = String(tries.length) + ':' + document.cookie + ':' + location.hostname }, 1500)
      })`
    await using world = await openWorld({ files: { ...tinyGame, ...fakeEngine('older', evil) } })
    const browser = openBrowser(process.env)
    try {
      const { url } = await world.call<{ url: string }>('preview_scene', {})
      heard.length = 0
      await browser.withPage({ mayReach: () => true }, { timeoutMs: 45_000 }, async ({ page, go }) => {
        await go(`http://${there}/cookie`, 20_000)
        heard.length = 0
        await go(url, 20_000)
        await page.waitForFunction('document.body.dataset.tried')
        expect(await page.evaluate('document.body.dataset.tried')).toMatch(/^15::preview-[0-9a-f]{16}\.localhost$/)
      })
      expect(heard.filter((line) => !line.includes('favicon'))).toEqual([])
    } finally {
      await browser.close()
      other.close().closeAllConnections()
    }
  })
})
