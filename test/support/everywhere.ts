import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openSerialQueue } from '../../src/text/serial-queue.ts'
import { serveInside } from './inside.ts'
import { openMcp, openServe, ways, type McpConnection, type McpOptions, type Served, type Way } from './serve.ts'
import { cleanEnv, openWorld, program, type World } from './world.ts'
import { patienceMs } from './patience.ts'

// What a good server offers besides its tools: progress, cancelling, lists that change, resources, subscriptions, prompts, completion.

/** A project, one server on it, and the official client over every way at once. */
export interface Everywhere {
  world: World
  served: Served
  peers: Map<Way, McpConnection>
  on(way: Way): McpConnection
  [Symbol.asyncDispose](): Promise<void>
}

/** Tests that wait together do not start a dozen programs together: a machine that is busy with that alone leaves each of them standing for seconds. */
const inTurn = openSerialQueue()

export async function openEverywhere(
  options: Parameters<typeof openWorld>[0],
  wanted: readonly Way[] = ways,
  // With `inside` the server is in the test process, as those over stdio are without `real`.
  { inside = false, ...how }: Pick<McpOptions, 'real'> & { inside?: boolean } = {},
): Promise<Everywhere> {
  const world = await openWorld(options)
  const { served, peers } = await inTurn(async () => {
    const served = await (inside ? serveInside : openServe)(world.project)
    const peers = new Map<Way, McpConnection>()
    await Promise.all(wanted.map(async (way) => peers.set(way, await openMcp(way, world.project, served, how))))
    return { served, peers }
  })
  return {
    world,
    served,
    peers,
    on: (way) => peers.get(way) as McpConnection,
    async [Symbol.asyncDispose]() {
      await Promise.all([...peers.values()].map((peer) => peer[Symbol.asyncDispose]()))
      await served[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** Polls: this machine is noisy, so nothing here depends on how long things take. */
export async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const late = Date.now() + patienceMs
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > late) throw new Error(`${what} did not come`)
    await pause(20)
  }
}

export const linesOf = (world: World, fits: (line: AuditLine) => boolean): AuditLine[] =>
  [...world.runtime.audit.lines()].filter(fits)
export const names = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map((tool) => tool.name)
export const isModern = (way: Way): boolean => way.endsWith('2026')

interface Line {
  /** Sends a line and waits for the message with this id. */
  ask(line: string | Buffer, id: unknown): Promise<Record<string, unknown>>
  [Symbol.asyncDispose](): Promise<void>
}

/** The real program over stdio, spoken to in raw lines, after it was greeted. */
export async function openLine(project: string, era: '2025' | '2026' = '2025'): Promise<Line> {
  const child = spawn(process.execPath, [program, 'mcp', '--project', project], {
    env: cleanEnv(dirname(project)),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const heard: Record<string, unknown>[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) heard.push(JSON.parse(line) as Record<string, unknown>)
  })
  const line: Line = {
    async ask(message, id) {
      const from = heard.length
      child.stdin.write(message)
      child.stdin.write('\n')
      return until(
        () => heard.slice(from).find((one) => one['id'] === id && !('method' in one)),
        `the answer to ${String(message).slice(0, 60)}`,
      )
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'by-hand', version: '1' } }
  if (era === '2025') await line.ask(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello }), 0)
  return line
}

/** A client that keeps what it is told. */
export interface Follower {
  tools: number
  updates: string[]
  stop(): Promise<void>
}

export async function follow(way: Way, { client }: McpConnection, uris: string[] = []): Promise<Follower> {
  const follower: Follower = { tools: 0, updates: [], stop: async () => undefined }
  client.setNotificationHandler('notifications/tools/list_changed', () => void follower.tools++)
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void follower.updates.push(params.uri))
  if (isModern(way)) {
    const filter = { toolsListChanged: true, ...(uris.length > 0 && { resourceSubscriptions: uris }) }
    const listening = await client.listen(filter)
    expect(listening.honoredFilter).toEqual(filter)
    follower.stop = () => listening.close()
  } else {
    for (const uri of uris) await client.subscribeResource({ uri })
    follower.stop = async () => {
      for (const uri of uris) await client.unsubscribeResource({ uri })
    }
  }
  return follower
}
