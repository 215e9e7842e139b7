import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openFiles } from '../files.ts'
import { openLinkNames } from '../links/link-names.ts'
import { followingRules, pathRules } from '../paths.ts'
import { closeRoot, openRoot } from '../walk.ts'
import { findEngine } from './engine.ts'
import { servePreview } from './serve.ts'
import { sweep } from '../../../test/support/soak.ts'

/** The real server over a project with an engine and a film. */
async function openGround() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  mkdirSync(join(base, 'game'))
  mkdirSync(join(base, 'assets'))
  writeFileSync(join(base, 'index.html'), `<html><head></head><body>${'x'.repeat(3 << 20)}</body></html>`)
  writeFileSync(join(base, 'game', 'film.mp4'), Buffer.alloc(3 << 20))
  const root = openRoot(base)
  const rules = pathRules([])
  const files = openFiles(root, rules, Number.MAX_SAFE_INTEGER)
  const links = openLinkNames(root, followingRules([]), rules)
  const server = await servePreview(files, findEngine(files, 'game', ''), 'game', links.hideLinkedSecrets)
  return {
    server,
    base,
    async [Symbol.asyncDispose]() {
      await server.close()
      links.close()
      closeRoot(root)
      rmSync(base, { recursive: true, force: true })
    },
  }
}

test('what a link makes a secret is not served any more, though nobody has called since', async () => {
  await using ground = await openGround()
  const status = async (): Promise<number> => (await fetch(`http://127.0.0.1:${ground.server.port}/game/film.mp4`)).status
  expect(await status()).toBe(200)
  symlinkSync('game/film.mp4', join(ground.base, '.env'))
  expect(await status()).toBe(403)
  rmSync(join(ground.base, '.env'))
  mkdirSync(join(ground.base, '.aws'))
  expect(await status()).toBe(200)
  symlinkSync('../game/film.mp4', join(ground.base, '.aws/plain'))
  expect(await status()).toBe(403)
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What nobody holds any more does not count, though it may still be there. */
function megabytesHeld(): number {
  collectGarbage()
  return process.memoryUsage().external / (1 << 20)
}

for (const [path, connections, each] of [
  ['/game/film.mp4', 1, 400],
  ['/game/film.mp4', sweep(200, 80), 1],
  ['/preview', sweep(200, 80), 2],
] as const)
  test(`${connections} connection(s) with ${each} request(s) for ${path} that nobody reads are not kept in memory`, async () => {
    await using ground = await openGround()
    const { port } = ground.server
    const ask = `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`
    const before = megabytesHeld()
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => undefined).pause()
        await once(socket, 'connect')
        socket.write(ask.repeat(each))
        return socket
      }),
    )
    // Whoever reads is answered all the same, after all of the others were looked at.
    const reader = connect(port, '127.0.0.1')
    let heard = 0
    let head = ''
    reader.on('data', (bytes: Buffer) => {
      heard += bytes.length
      head ||= bytes.toString('latin1', 0, 40)
    })
    reader.write(`GET /game/film.mp4 HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`)
    await once(reader, 'close')
    expect(head).toMatch(/^HTTP\/1\.1 200/)
    expect(heard).toBeGreaterThan(3 << 20)
    // V8 gives back what buffers held a moment after it has found that nobody holds them.
    await expect.poll(() => megabytesHeld() - before).toBeLessThan(64)
    for (const socket of sockets) socket.destroy()
  })

/** Opens as many connections as it gets, reads a little from each all the time, and says so once it has them. */
const greedy = `
  const net = require('node:net')
  const port = Number(process.argv[1])
  let open = 0
  const more = () => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.once('connect', () => {
      socket.write('GET /game/film.mp4 HTTP/1.1\\r\\nHost: localhost:' + port + '\\r\\n\\r\\n')
      if (++open === 300) process.stdout.write('full\\n')
    })
    socket.on('data', () => { socket.pause(); setTimeout(() => socket.resume(), 200) })
    socket.once('close', () => setTimeout(more, 1))
  }
  for (let i = 0; i < 300; i++) more()`

test.runIf(process.platform === 'linux')(
  'one process takes all connections and reads from them, and another is let in',
  async () => {
    await using ground = await openGround()
    const { port } = ground.server
    const child = spawn(process.execPath, ['-e', greedy, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await once(createInterface(child.stdout), 'line')
      const heard: number[] = []
      for (let times = 0; times < sweep(10, 3); times++) {
        const asked = request({
          host: '127.0.0.1',
          port,
          method: 'HEAD',
          path: '/preview',
          headers: { Host: `localhost:${port}` },
          agent: false,
        })
        asked.end()
        heard.push(
          await once(asked, 'response').then(
            ([answer]: IncomingMessage[]) => answer?.statusCode ?? 0,
            () => 0,
          ),
        )
        asked.destroy()
      }
      expect(heard).toEqual(heard.map(() => 200))
    } finally {
      child.kill('SIGKILL')
    }
  },
)
