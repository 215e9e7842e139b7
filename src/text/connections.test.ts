import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { shareConnections } from './connections.ts'
import { chooseVictim } from './eviction.ts'

test('whoever hides has no more than one share, however many connections that is', async () => {
  await using ground = await openGround(5)
  for (let times = 0; times < 300; times++) ground.open()
  await ground.settled()
  expect(ground.honest.filter((one) => one.destroyed)).toEqual([])
})

test('nor more requests than one process', async () => {
  await using ground = await openGround(0)
  const taken: boolean[] = []
  for (let times = 0; times < 5; times++) {
    const coming = once(ground.server, 'connection') as Promise<[Socket]>
    ground.open()
    taken.push(await ground.connections.spare((await coming)[0]))
  }
  // One a second is its own.
  expect(taken.slice(0, 2)).toEqual([true, false])
})

test('of those who hide one gives way for whoever holds less', () => {
  const places = [
    { peer: 'process 1 1', usedAt: 1 },
    { peer: 'process 1 1', usedAt: 2 },
    ...[3, 4, 5].map((usedAt) => ({ peer: `connection ${usedAt}`, usedAt })),
  ]
  expect(chooseVictim(places, 'process 2 2')?.usedAt).toBe(3)
  expect(chooseVictim(places, 'connection 9')).toBeUndefined()
})

test('streams have places of their own, and of whoever holds most of them one goes for another', async () => {
  class FakeSocket {
    destroyed = false
    private heard: (() => void)[] = []
    readonly peer: string
    constructor(peer: string) {
      this.peer = peer
    }
    once(_: 'close', heard: () => void): void {
      this.heard.push(heard)
    }
    destroy(): void {
      this.destroyed = true
      for (const heard of this.heard.splice(0)) heard()
    }
  }
  let come: (socket: FakeSocket) => void = () => undefined
  const server = { maxConnections: 0, on: (_: 'connection', heard: (socket: FakeSocket) => void) => void (come = heard) }
  const connections = shareConnections<FakeSocket>(server, { of: async ({ peer }) => peer })
  const open = async (peer: string): Promise<[FakeSocket, boolean]> => {
    const socket = new FakeSocket(peer)
    come(socket)
    return [socket, await connections.stay(socket)]
  }
  const greedy: FakeSocket[] = []
  for (let count = 0; count < 1_024; count++) {
    const [socket, stays] = await open('process 1 1')
    expect(stays).toBe(true)
    greedy.push(socket)
  }
  expect((await open('process 1 1'))[1], 'one more of the same has no place').toBe(false)
  const [other, stays] = await open('process 2 2')
  expect(stays).toBe(true)
  expect(greedy.filter(({ destroyed }) => destroyed)).toEqual([greedy[0]])
  expect(other.destroyed).toBe(false)
  // None of them counts among the connections, of which there may be 256.
  const plain = Array.from({ length: 200 }, () => new FakeSocket('process 3 3'))
  for (const socket of plain) come(socket)
  expect(plain.some(({ destroyed }) => destroyed)).toBe(false)
  other.destroy()
  expect((await open('process 1 1'))[1], 'a place that is free is taken').toBe(true)
})

/** A real server; the first that come are of one process, of the others nobody can say whose they are. */
async function openGround(honestOnes: number) {
  const server = createServer()
  let asked = 0
  const known = new Map<Socket, string>()
  const peers = {
    async of(socket: Socket): Promise<string> {
      const word = known.get(socket) ?? (known.size < honestOnes ? 'process 1 1' : `connection ${++asked}`)
      known.set(socket, word)
      return word
    },
  }
  const connections = shareConnections<Socket>(server, peers, 20)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = new Set<Socket>()
  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1')
    clients.add(socket)
    socket.on('error', () => undefined).once('close', () => clients.delete(socket))
    return socket
  }
  const honest: Socket[] = []
  for (let times = 0; times < honestOnes; times++) {
    const coming = once(server, 'connection') as Promise<[Socket]>
    honest.push(open())
    await peers.of((await coming)[0])
  }
  return {
    server,
    connections,
    honest,
    open,
    async settled() {
      while (clients.size > 256) await new Promise((resolve) => setImmediate(resolve))
    },
    async [Symbol.asyncDispose]() {
      for (const socket of clients) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
