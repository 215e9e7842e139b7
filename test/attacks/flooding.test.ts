import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openMcp, openServe, type Served } from '../support/serve.ts'
import { cleanEnv, openWorld, program, type World } from '../support/world.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { ceiling } from '../support/ceiling.ts'

// One client pipelines ten thousand calls and reads nothing. What it costs is bounded, and another client is answered meanwhile.

/** Answered with two megabytes (soak: six): the text, and the same as structured content. No socket takes the ten of one connection. */
const large = `${'x'.repeat(79)}\n`.repeat(sweep(37_500, 12_500))
const files = { 'a.txt': 'a0\n', 'large.txt': large }
/** Down how many connections, and how often down each of them. */
const connections = sweep(20, 6)
const most = sweep(10_000, connections * 3)

const peak = (pid: number): number => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
const cpu = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

/** Waits until it has nothing more to do: hardly any work for a while. */
async function rests(pid: number): Promise<void> {
  for (let used = cpu(pid), quiet = 0; quiet < 2;) {
    await pause(500)
    const now = cpu(pid)
    quiet = now - used < 10 ? quiet + 1 : 0
    used = now
  }
}

const toolCall = (id: number, path: string, more: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'read_file', arguments: { path }, ...more } })
const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'flood', version: '1' } },
})

describe('over stdio', () => {
  let world: World
  let child: ChildProcess
  beforeAll(async () => {
    world = await openWorld({ files })
    child = spawn(process.execPath, [program, 'mcp', '--project', world.project], {
      env: cleanEnv(dirname(world.project)),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.write(`${hello}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n`)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
  })
  afterAll(async () => {
    child.kill('SIGKILL')
    await world[Symbol.asyncDispose]()
  })

  test('what is not read is not made; whoever reads after all gets every answer, once', async () => {
    child.stdout?.pause()
    const ids = Array.from({ length: most }, (_, index) => index + 1)
    // The first ones are large, the others would do for patience.
    for (const id of ids) child.stdin?.write(`${toolCall(id, id <= sweep(100, 6) ? 'large.txt' : 'a.txt')}\n`)
    await rests(child.pid as number)
    ceiling('MB', peak(child.pid as number), 700)
    const found: number[] = []
    // Lines of megabytes: only where one begins is looked at.
    let begins = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      for (let from = 0; from < chunk.length;) {
        const end = chunk.indexOf(10, from)
        if (begins.length < 80) begins += chunk.toString('latin1', from, Math.min(end < 0 ? chunk.length : end, from + 80))
        if (end < 0) return
        found.push(Number(/"id":(\d+)/.exec(begins)?.[1]))
        begins = ''
        from = end + 1
      }
    })
    child.stdout?.resume()
    while (found.length < most) await once(child.stdout as NodeJS.ReadableStream, 'data')
    expect(found.toSorted((a, b) => a - b)).toEqual(ids)
  })
})

describe('over HTTP', () => {
  let world: World
  let served: Served
  beforeEach(async () => {
    world = await openWorld({ files })
    served = await openServe(world.project, { args: ['--requests-per-second', '100000'] })
  })
  afterEach(async () => {
    await served[Symbol.asyncDispose]()
    await world[Symbol.asyncDispose]()
  })

  const request = (method: string, path: string, body: string, headers: Record<string, string> = {}): string => {
    const all: Record<string, string> = {
      Host: `127.0.0.1:${served.port}`,
      Authorization: `Bearer ${served.token}`,
      Accept: 'application/json, text/event-stream',
      ...(body && { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
      ...headers,
    }
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    return `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`
  }
  const key = 'io.modelcontextprotocol/'
  const modern = (id: number, path: string): string => {
    const _meta = {
      [`${key}protocolVersion`]: '2026-07-28',
      [`${key}clientInfo`]: { name: `flood ${id % 50}`, version: '1' },
      [`${key}clientCapabilities`]: {},
    }
    return request('POST', '/mcp', toolCall(id, path, { _meta }), {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'read_file',
    })
  }
  /** A connection that says what it likes and never reads. */
  const deaf = (text = ''): Socket => {
    const socket = connect(served.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    if (text) socket.write(text)
    return socket
  }
  /** The first bytes that come on a connection, which is then read no more. */
  const heard = async (socket: Socket, pattern: RegExp): Promise<string> => {
    let text = ''
    socket.resume()
    for (;;) {
      const [, found] = pattern.exec(text) ?? []
      if (found !== undefined) {
        socket.pause()
        return found
      }
      const [piece] = (await once(socket, 'data')) as [Buffer]
      text += piece.toString('latin1')
    }
  }

  const floods: Record<string, () => Promise<Socket[]>> = {
    'in 2026, down many connections': async () =>
      Array.from({ length: connections }, () =>
        deaf(Array.from({ length: most / connections }, (_, id) => modern(id, 'large.txt')).join('')),
      ),
    'in 2025, in many sessions': async () => {
      const sockets: Socket[] = []
      for (let each = 0; each < connections; each++) {
        const socket = deaf(request('POST', '/mcp', hello))
        const session = await heard(socket, /^mcp-session-id: (\S+)/im)
        const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-06-18' }
        const asks = Array.from({ length: most / connections }, (_, id) =>
          request('POST', '/mcp', toolCall(id + 1, 'large.txt'), headers),
        )
        socket.write(asks.join(''))
        sockets.push(socket)
      }
      return sockets
    },
    'in 2024, on half as many streams': async () => {
      const sockets: Socket[] = []
      for (let each = 0; each < connections / 2; each++) {
        const stream = deaf(request('GET', '/sse', ''))
        const address = await heard(stream, /data: (\/messages\?sessionId=[0-9a-f-]+)/)
        const asks = Array.from({ length: (most / connections) * 2 }, (_, id) =>
          request('POST', address, toolCall(id, 'large.txt')),
        )
        sockets.push(stream, deaf(request('POST', address, hello) + asks.join('')))
      }
      return sockets
    },
    'by opening sessions and dropping them': async () => {
      const sockets: Socket[] = []
      for (let each = 0; each < sweep(100, 30); each++) {
        const socket = deaf(request('POST', '/mcp', hello).repeat(sweep(most / 100, 2)))
        sockets.push(socket)
        if (each % 10 === 9) for (const one of sockets.splice(0)) one.destroy()
        await pause(1)
      }
      return sockets
    },
  }

  // Of those of 2026 and of 2024 http-floods has some that never read, and an honest client beside them.
  test.each(Object.keys(floods).filter((name) => isSoak || !/^in (2026|2024)/.test(name)))(
    '%s: another client is answered before the flood is over, and memory is bounded',
    async (name) => {
      await using other = await openMcp('http 2026', world.project, served, { name: 'honest' })
      const sockets = await floods[name]?.()
      try {
        for (let times = 0; times < sweep(20, 5); times++)
          expect(await other.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'a0\n' })
        await rests(served.pid)
        expect(await other.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'a0\n' })
        ceiling('MB', peak(served.pid), 800)
      } finally {
        for (const socket of sockets ?? []) socket.destroy()
      }
    },
  )
})
