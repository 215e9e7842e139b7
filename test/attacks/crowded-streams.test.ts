import { createHook } from 'node:async_hooks'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openPeers } from '../../src/host/peer.ts'
import { openWorld } from '../support/world.ts'

// Very many who follow the log from old lines, and what they cost everybody else. Counted is work, not time.

const sessions = 30
const each = 60

/** Lines of many sessions, some hundred kilobytes of them. */
async function openLong() {
  const world = await openWorld()
  const { audit } = world.runtime
  for (let line = 0; line < each; line++)
    for (let session = 0; session < sessions; session++)
      audit.note({ event: 'session.note', session: `sess_${session}`, message: `${line} ${'x'.repeat(300)}` })
  return { world, audit, until: audit.head().seq }
}

test('hundreds who follow the log from the same line are handed the same lines, taken apart once', async () => {
  const { world, audit, until } = await openLong()
  await using _ = world
  const followers = 900
  const lists = new Set<readonly AuditLine[]>()
  const lines = new Set<AuditLine>()
  let told = 0
  await new Promise<void>((resolve) => {
    let over = 0
    for (let one = 0; one < followers; one++)
      world.runtime.gate.events(`sess_${one % sessions}`, { from: 1 }, (heard, upTo) => {
        lists.add(heard)
        told += heard.length
        for (const line of heard) lines.add(line)
        if (upTo >= until && ++over === followers) resolve()
      })
  })
  expect(told).toBe(followers * each)
  // Each line was made of its bytes once, and not for each of the thirty who hear it.
  expect(lines.size).toBe(sessions * each)
  expect(lists.size).toBeLessThan(sessions * 30)
  expect(audit.head().seq).toBe(until)
})

test('those who begin at different lines come to stand at one place, and share what is read from there on', async () => {
  const { world, audit, until } = await openLong()
  await using _ = world
  const followers = 300
  const lists = new Map<readonly AuditLine[], number>()
  await new Promise<void>((resolve) => {
    let over = 0
    for (let one = 0; one < followers; one++)
      audit.subscribe({ from: 1 + Math.floor((one * until) / followers) }, (heard, upTo) => {
        lists.set(heard, (lists.get(heard) ?? 0) + 1)
        if (upTo >= until && ++over === followers) resolve()
      })
  })
  // The beginning of each is its own; the rest they hear together.
  expect(lists.size).toBeLessThan(2 * followers)
  expect(Math.max(...lists.values())).toBeGreaterThan(followers / 2)
})

test.skipIf(process.platform !== 'linux')(
  'who is at the other end of a connection is found with few waits for the system, however many connections its process holds',
  async () => {
    const taken: Socket[] = []
    const server = createServer((socket) => taken.push(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const held: Socket[] = []
    onTestFinished(() => {
      for (const socket of [...held, ...taken]) socket.destroy()
      server.close()
    })
    const open = async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1')
      held.push(socket)
      const [accepted] = await Promise.all([once(server, 'connection'), once(socket, 'connect')])
      return accepted[0] as Socket
    }
    const first = await open()
    for (let one = 0; one < 900; one++) await open()
    const last = await open()
    const peers = openPeers()
    // Each of them is waited for until the event loop comes round.
    let waits = 0
    const count = createHook({ init: (_, type) => void (/^(FSREQ|Immediate)/.test(type) && waits++) }).enable()
    const found = await peers.of(first)
    count.disable()
    expect(found).toMatch(new RegExp(`^process ${process.pid} `))
    expect(await peers.of(last)).toBe(found)
    expect(waits).toBeLessThan(400)
  },
)
