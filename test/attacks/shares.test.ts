import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openServe, type Served } from '../support/serve.ts'
import { listening } from '../support/sockets.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openWorld } from '../support/world.ts'

// One process takes all it can get of a server; this one, which is another process, must be let in all the same.

const greeting = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
})

const follow = listening()
const following: [string, string] = [follow.body, JSON.stringify(follow.headers)]

/** Says `full` on its own output once it has taken all it could, and holds on to it until it is ended. */
const greed: Record<string, string> = {
  sessions: `
    for (let i = 0; i < 120; i++) await ask('POST', '/mcp', greeting)
    full()`,
  streams: `
    await Promise.all(Array.from({ length: 64 }, () => ask('GET', '/sse')))
    full()`,
  connections: `
    const net = require('node:net')
    let open = 0
    const more = () => {
      const socket = net.connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.once('connect', () => ++open === 400 && full())
      socket.once('close', () => setTimeout(more, 1))
    }
    for (let i = 0; i < 400; i++) more()`,
  followers: `
    await Promise.all(Array.from({ length: 64 }, () => ask('POST', '/mcp', following, followingHeaders)))
    full()`,
  bodies: `
    const net = require('node:net')
    const piece = Buffer.alloc(1 << 20, 32)
    const most = 32 << 20
    const head = 'POST /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:' + port + '\\r\\nAuthorization: Bearer ' + token +
      '\\r\\nContent-Type: application/json\\r\\nContent-Length: ' + most + '\\r\\n\\r\\n'
    let sent = 0
    for (let i = 0; i < 4; i++) {
      const socket = net.connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.resume()
      socket.write(head)
      for (let j = 0; j < 31; j++) socket.write(piece)
      socket.write(piece.subarray(1), () => ++sent === 4 && full())
    }`,
  requests: `
    const net = require('node:net')
    const one = 'GET /healthz HTTP/1.1\\r\\nHost: 127.0.0.1:' + port + '\\r\\n\\r\\n'
    let refused = false
    const flood = () => {
      const socket = net.connect(port, '127.0.0.1', () => socket.write(one.repeat(8)))
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        const text = bytes.toString('latin1')
        if (!refused && text.includes('HTTP/1.1 429')) { refused = true; full() }
        socket.write(one.repeat(text.split('HTTP/1.1 ').length - 1))
      })
      socket.once('close', () => setTimeout(flood, 1))
    }
    for (let i = 0; i < 8; i++) flood()`,
}

/** A process of its own that is greedy in one way. */
async function openGreedy(kind: string, served: Served): Promise<Disposable> {
  const code = `
    const http = require('node:http')
    const [port, token, greeting, following, followingHeaders] = process.argv.slice(1)
    const full = () => process.stdout.write('full\\n')
    const headers = {
      Authorization: 'Bearer ' + token, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    }
    const ask = (method, path, body, more = '{}') => new Promise((resolve) => {
      const asked = http.request({ host: '127.0.0.1', port, method, path, headers: { ...headers, ...JSON.parse(more) } }, (answer) => {
        answer.resume()
        if (path === '/sse' || body === following) answer.once('data', resolve)
        else answer.once('end', resolve)
      })
      asked.on('error', resolve)
      asked.end(body)
    })
    ;(async () => {${greed[kind]}})()`
  const child = spawn(process.execPath, ['-e', code, String(served.port), served.token, greeting, ...following], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface(child.stdout), 'line')
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/** The status of one request on a connection of its own; 0 where the connection was dropped. */
async function status(served: Served, method: string, path: string, body?: string, more = '{}'): Promise<number> {
  const asked = request(`${served.url}${path}`, {
    method,
    agent: false,
    headers: {
      Authorization: `Bearer ${served.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(JSON.parse(more) as Record<string, string>),
    },
  })
  asked.end(body)
  try {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    // A refusal within the protocol is one, too.
    if (more !== '{}' && !answer.headers['content-type']?.startsWith('text/event-stream')) return 503
    return answer.statusCode ?? 0
  } catch {
    return 0
  } finally {
    asked.destroy()
  }
}

const ways: [string, string, string, string?, string?][] = [
  ['followers', 'POST', '/mcp', ...following],
  ['sessions', 'POST', '/mcp', greeting],
  ['streams', 'GET', '/sse'],
  ['connections', 'GET', '/healthz'],
  ['requests', 'GET', '/healthz'],
]

interface House {
  served: Served
  [Symbol.asyncDispose](): Promise<void>
}

async function openHouse(): Promise<House> {
  const world = await openWorld()
  const served = await openServe(world.project, { args: ['--requests-per-second', '400'] })
  return {
    served,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** One server for all who are greedy, each of whom is gone before the next; one for each in a soak. */
let house: House | undefined
beforeAll(async () => {
  if (!isSoak) house = await openHouse()
})
afterAll(() => house?.[Symbol.asyncDispose]())
const entered = async (): Promise<House> =>
  house ? { served: house.served, [Symbol.asyncDispose]: () => Promise.resolve() } : openHouse()

async function isLetIn(served: Served, ask: [method: string, path: string, body?: string, more?: string]): Promise<void> {
  const heard: number[] = []
  for (let times = 0; times < sweep(10, 5); times++) heard.push(await status(served, ...ask))
  expect(heard).toEqual(heard.map(() => 200))
}

test.for(ways)('one process takes all %s, and another is let in', async ([kind, ...ask]) => {
  await using at = await entered()
  using _ = await openGreedy(kind, at.served)
  await isLetIn(at.served, ask)
})

test('one process takes all bodies: another is let in, may send more than a little, and the person their form', async () => {
  await using at = await entered()
  const { served } = at
  using _ = await openGreedy('bodies', served)
  await isLetIn(served, ['POST', '/mcp', greeting])
  // Read whole, and judged: so much is no greeting.
  expect(await status(served, 'POST', '/mcp', greeting + ' '.repeat(1 << 20))).toBe(413)
  const form = JSON.stringify({ 'Content-Type': 'application/x-www-form-urlencoded', Origin: served.url })
  const asked = request(`${served.url}/sign-in`, {
    method: 'POST',
    agent: false,
    headers: JSON.parse(form) as Record<string, string>,
  })
  asked.end('key=x')
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  asked.destroy()
  expect(answer.statusCode).toBeLessThan(500)
})
