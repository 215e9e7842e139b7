import { once } from 'node:events'
import { get } from 'node:http'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEgress, type Egress } from '../../src/host/browser/egress.ts'
import { openServerFront } from '../../src/host/stage/server-front.ts'

// Servers of pages and of programs, against whoever repeats what they answer: a throw in there would be the end of Handrail.

const answers = {
  'a status there is not': 'HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nhi',
  'words no header holds': 'HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nhi',
  'a trailer without pieces': 'HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 2\r\n\r\nhi',
  'another protocol': 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  'less than it said': 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi',
  'pieces that are none': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'a header that is none': 'HTTP/1.1 200 OK\r\nX Y: 1\r\n\r\n',
}
const good = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'

/** Answers what its path names, by number. */
let site: Server
let egress: Egress
let fronts: Server[]
const portOf = (server: Server): number => (server.address() as AddressInfo).port
const listening = async (server: Server): Promise<Server> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

beforeAll(async () => {
  site = await listening(
    createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (asked) => {
        const at = / \/(\d+)/.exec(asked.toString())?.[1]
        socket.end(Buffer.from(at === undefined ? good : (Object.values(answers)[Number(at)] as string), 'latin1'))
      })
    }),
  )
  egress = await openEgress({ mayReach: () => true })
  fronts = await Promise.all(
    [undefined, () => Promise.resolve()].map((caughtUp) => {
      const dial = () => connect({ port: portOf(site), host: '127.0.0.1', allowHalfOpen: true })
      const front = openServerFront(() => 'dev.localhost:1', dial, caughtUp)
      return listening(createServer({ allowHalfOpen: true }, (socket) => front.take(socket)))
    }),
  )
})
afterAll(async () => {
  await egress.close()
  for (const server of [site, ...fronts]) server.close()
})

/** The body, or that there was none. */
function ask(options: { port: number; path: string }): Promise<string> {
  return new Promise((resolve) => {
    const broke = (): void => resolve('broken off')
    get({ host: '127.0.0.1', agent: false, ...options }, (answer) => {
      let body = ''
      answer.on('data', (piece) => (body += String(piece))).on('end', () => resolve(body))
      answer.on('error', broke)
    }).on('error', broke)
  })
}

describe.each(Object.keys(answers).map((what, at) => [what, at] as const))('an answer of %s', (_, at) => {
  test('ends the connection, and nothing else', async () => {
    const base = `http://127.0.0.1:${portOf(site)}`
    expect(await ask({ port: egress.port, path: `${base}/${at}` })).toBe('broken off')
    for (const front of fronts) expect(await ask({ port: portOf(front), path: `/${at}` })).toBe('broken off')
    expect(await ask({ port: egress.port, path: `${base}/good` })).toBe('hi')
    for (const front of fronts) expect(await ask({ port: portOf(front), path: '/good' })).toBe('hi')
  })
})

test('somebody else on this machine asks the way out for a port there is not', async () => {
  const socket = connect(egress.port, '127.0.0.1', () => socket.write('CONNECT example.org:99999 HTTP/1.1\r\n\r\n'))
  const [said] = (await once(socket, 'data')) as [Buffer]
  expect(said.toString()).toMatch(/^HTTP\/1\.1 403 /)
  socket.destroy()
})
