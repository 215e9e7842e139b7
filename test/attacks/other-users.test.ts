import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openEgress } from '../../src/host/browser/egress.ts'
import { openOwnUser } from '../../src/host/own-user.ts'
import { fakeEngine, tinyGame } from '../support/tiny-game.ts'
import { openWorld } from '../support/world.ts'

// What listens on this machine without asking for a credential, and another user of it. To be one takes root.

const nobody = 65_534
const isRoot = process.platform === 'linux' && process.getuid?.() === 0
/** The older kind of address in a socket of the newer kind is told of in another table. */
const addresses = ['127.0.0.1', '::ffff:127.0.0.1']

/** Sends this as that user; what comes back. */
async function say(uid: number, host: string, port: number, text: string): Promise<string> {
  const script = `
    const [host, port, text] = process.argv.slice(1)
    const socket = require('node:net').connect({ host, port: Number(port), family: host.includes('::') ? 6 : 4 }, () => socket.write(text))
    socket.on('data', (piece) => process.stdout.write(piece)).on('error', () => process.exit(0)).on('close', () => process.exit(0))
    process.stdin.on('end', () => process.exit(0)).resume()`
  const child = spawn(process.execPath, ['-e', script, host, String(port), text], {
    uid,
    gid: uid,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  await once(child, 'close')
  return said
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

test.skipIf(!isRoot)('the preview shows another user of this machine nothing, and its own user what it shows', async () => {
  await using world = await openWorld({
    files: { ...tinyGame, ...fakeEngine('older'), 'game/scene/secret-plot.txt': 'the butler did it;\n' },
    environment: () => ({ HANDRAIL_CHROMIUM: '/nowhere' }),
  })
  const port = Number(new URL((await world.call<{ url: string }>('preview_scene', {})).url).port)
  const ask = `GET /game/scene/secret-plot.txt HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`
  for (const host of addresses) {
    expect(await say(nobody, host, port, ask), host).toBe('')
    expect(await say(0, host, port, ask), host).toContain('the butler did it')
  }
})

test.skipIf(!isRoot)('the way out that pages have is none for another user', async () => {
  const behind = createServer((socket) => void socket.end('from behind'))
  await new Promise<void>((resolve) => behind.listen(0, '127.0.0.1', resolve))
  closing.push(() => behind.close())
  const egress = await openEgress({ mayReach: () => true })
  closing.push(() => egress.close())
  const to = (behind.address() as AddressInfo).port
  // What anybody may reach, they do.
  for (const host of addresses) expect(await say(nobody, host, to, ''), host).toBe('from behind')
  for (const ask of [
    `CONNECT 127.0.0.1:${to} HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\n\r\n`,
    `GET http://127.0.0.1:${to}/ HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\nConnection: close\r\n\r\n`,
  ])
    for (const host of addresses) expect(await say(nobody, host, egress.port, ask), host).toBe('')
  expect(await say(0, '127.0.0.1', egress.port, `CONNECT 127.0.0.1:${to} HTTP/1.1\r\nHost: x\r\n\r\n`)).toContain('from behind')
})

test.skipIf(process.platform !== 'linux' || isRoot)('whose a connection is, is what the system says', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const came = once(server, 'connection') as Promise<[Socket]>
  const { connect } = await import('node:net')
  const mine = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = await came
  expect([await openOwnUser()(socket), await openOwnUser(nobody)(socket)]).toEqual([true, false])
  for (const one of [mine, socket]) one.destroy()
})

test.skipIf(process.platform !== 'linux')('whoever sends something and is gone is not taken for root', async () => {
  const server = createServer({ allowHalfOpen: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const came = once(server, 'connection') as Promise<[Socket]>
  const { connect } = await import('node:net')
  const gone = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = await came
  gone.destroy()
  await once(socket.resume(), 'end')
  expect(await openOwnUser(nobody)(socket)).toBe(false)
  socket.destroy()
})
