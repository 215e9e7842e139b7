import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEgress, type Egress } from '../../src/host/browser/egress.ts'
import { claimPort, isOwnPort } from '../../src/host/own-ports.ts'
import { processName } from '../../src/host/running.ts'
import { openServe, type Served } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'

/** Another project's Handrail, another process with another state; and the way out of a page here that may go everywhere on this machine. */
let other: World
let serving: Served
let egress: Egress
const plain = createServer((_, response) => response.end('reached'))

beforeAll(async () => {
  other = await openWorld({ files: { 'a.txt': 'one' } })
  serving = await openServe(other.project)
  egress = await openEgress({ mayReach: () => true }, '/somewhere/else')
  plain.listen(0, '::')
  await once(plain, 'listening')
})

afterAll(async () => {
  plain.close()
  await egress.close()
  await serving[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

const uid = process.getuid?.() ?? 0
const records = existsSync(`/run/user/${uid}/handrail-ports`) ? `/run/user/${uid}/handrail-ports` : `/tmp/handrail-ports-${uid}`

/** What a page gets that asks for an address: an answer, or nothing. */
function ask(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const path = `http://${host}:${port}/healthz`
    const sent = request({ host: '127.0.0.1', port: egress.port, path, headers: { Host: `${host}:${port}` }, agent: false })
    sent.once('response', (response: IncomingMessage) => {
      response.resume()
      resolve(`answered ${response.statusCode}`)
    })
    sent.once('error', () => resolve('refused'))
    sent.end()
  })
}

/** The same through a tunnel, as WebSockets and encrypted pages go. */
async function tunnel(host: string, port: number): Promise<string> {
  const socket = connect(egress.port, '127.0.0.1')
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)
  const [said] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return said.toString('latin1').split(' ')[1] ?? ''
}

const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? [])
const lan = addresses.filter(({ family, address }) => family === 'IPv4' && address !== '127.0.0.1').map(({ address }) => address)
const names = ['localhost', '127.0.0.1', '[::1]', 'x.localhost', 'LOCALHOST', '127.1.2.3', '0.0.0.0', '[::]', ...lan]

describe('the ports of another Handrail of this user', () => {
  test('are refused to pages, under every name of this machine and by every way', async () => {
    const { port } = serving
    const reachable = (plain.address() as AddressInfo).port
    expect(await ask('localhost', reachable)).toBe('answered 200')
    for (const name of names) {
      expect(await ask(name, port), name).toBe('refused')
      expect(await tunnel(name, port), name).toBe('403')
    }
    expect(await ask('handrail-0123456789abcdef.localhost', port)).toBe('refused')
    expect(await tunnel('localhost', reachable)).toBe('200')
  })

  test('also its pages’ way out, which would lead them where it leads its own; until it ends', async () => {
    const ours = readdirSync(records).find((name) => name.startsWith(`${processName(process.pid)}.${egress.port}.own.`))
    expect(ours).toBeDefined()
    const { port } = plain.address() as AddressInfo
    const child = spawn('sleep', ['1000'])
    await once(child, 'spawn')
    writeFileSync(join(records, `${processName(child.pid ?? 0)}.${port}.own.0`), '')
    expect(await ask('localhost', port)).toBe('refused')
    child.kill()
    await once(child, 'close')
    expect(await ask('localhost', port)).toBe('answered 200')
    // The next one that listens takes away what the killed left behind.
    claimPort(1)()
    expect(readdirSync(records).filter((name) => name.includes(`.${port}.own.`))).toEqual([])
  })

  test('a state that is taken away under a running Handrail ends neither it nor its pages', async () => {
    const gone = await openWorld()
    rmSync(join(gone.base, 'state'), { recursive: true })
    const reachable = (plain.address() as AddressInfo).port
    expect(await ask('localhost', reachable)).toBe('answered 200')
    expect(await ask('localhost', serving.port)).toBe('refused')
    await gone[Symbol.asyncDispose]()
  })

  test('what it serves of its project is for the pages of that project', () => {
    const release = claimPort(1, '/this/project')
    expect(isOwnPort(1, '/this/project')).toBe(false)
    expect(isOwnPort(1, '/somewhere/else')).toBe(true)
    release()
    expect(isOwnPort(1, '/somewhere/else')).toBe(false)
  })
})
