import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openRuntime } from '../../src/main.ts'
import { publishable } from '../../src/surfaces/mcp/dialect.ts'
import { openMcp, openServe, ways, type McpConnection, type Served, type Way } from '../support/serve.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'

// What a good server offers besides its tools: progress, cancelling, lists that change, resources, subscriptions, prompts, completion.

/** A project, one server on it, and the official client over every way at once. */
interface Everywhere {
  world: World
  served: Served
  peers: Map<Way, McpConnection>
  on(way: Way): McpConnection
  [Symbol.asyncDispose](): Promise<void>
}

async function openEverywhere(options: Parameters<typeof openWorld>[0], wanted: readonly Way[] = ways): Promise<Everywhere> {
  const world = await openWorld(options)
  const served = await openServe(world.project)
  const peers = new Map<Way, McpConnection>()
  await Promise.all(wanted.map(async (way) => peers.set(way, await openMcp(way, world.project, served))))
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
async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const late = Date.now() + 25_000
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > late) throw new Error(`${what} did not come`)
    await pause(20)
  }
}

const linesOf = (world: World, fits: (line: AuditLine) => boolean): AuditLine[] => [...world.runtime.audit.lines()].filter(fits)
const names = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map((tool) => tool.name)
const isModern = (way: Way): boolean => way.endsWith('2026')

describe('on one project, over every way', () => {
  let all: Everywhere
  beforeAll(async () => {
    all = await openEverywhere({
      files: { 'a.txt': 'one\n', 'deep/er/b.md': '# b\n', 'deep/c.txt': 'c\n', 'package.json': '{}\n' },
    })
    for (const folder of ['many', 'some']) mkdirSync(all.world.path(folder))
    for (let index = 0; index < 10_500; index++) writeFileSync(all.world.path(`many/${index}`), '')
    for (let index = 0; index < 1_600; index++) writeFileSync(all.world.path(`some/${index}`), 'needle\n')
  })
  afterAll(() => all[Symbol.asyncDispose]())

  test.for(ways)('progress goes up, step by step, where it was asked for: %s', async (way) => {
    const { client } = all.on(way)
    for (const [name, input] of [
      ['list_files', { path: 'many', globs: ['**'] }],
      ['search_files', { path: 'some', regex: '(?<=need)le', maxMatches: 5_000 }],
    ] as const) {
      const steps: { progress: number; message?: string }[] = []
      const result = await client.callTool({ name, arguments: input }, { onprogress: (step) => void steps.push(step as never) })
      expect(result.isError).toBeFalsy()
      expect([name, steps.length]).toEqual([name, expect.any(Number)])
      expect(steps.length, name).toBeGreaterThanOrEqual(2)
      const done = steps.map(({ progress }) => progress)
      expect(done).toEqual([...new Set(done)].sort((one, other) => one - other))
      for (const { message } of steps) expect(message).toMatch(/\d/)
    }
  })

  test.for(ways)('a call that is cancelled does nothing more and is written down as cancelled: %s', async (way) => {
    const { world } = all
    const { client, call } = all.on(way)
    const path = `cancel-${ways.indexOf(way)}/package.json`
    const input = { path, content: 'x\n', dryRun: false }
    expect(await call('write_to_file', { ...input, dryRun: true })).toMatchObject({ applied: false })
    const stop = new AbortController()
    const waiting = client.callTool({ name: 'write_to_file', arguments: input }, { signal: stop.signal })
    const asked = await until(
      () => world.runtime.approvals.list('pending').find(({ card }) => card.changes[0]?.path === path),
      'the question',
    )
    stop.abort()
    await expect(waiting).rejects.toThrow()
    await until(
      () =>
        linesOf(world, (line) => line.outcome === 'cancelled' && JSON.stringify(line.touches ?? '').includes(path)).length > 0,
      'its line in the log',
    )
    world.runtime.approvals.decide(asked.id, { approve: true, by: 'test' })
    expect(await call('read_file', { path })).toMatchObject({ error: { code: 'E_NOT_FOUND' } })
  })

  test('a call whose connection is dropped is cancelled, over HTTP with a session', async () => {
    const { world, served } = all
    const path = 'dropped/package.json'
    const headers: Record<string, string> = {
      Authorization: `Bearer ${served.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    }
    const post = (message: object, drop?: AbortSignal): Promise<{ session: string | undefined }> =>
      new Promise((resolve, reject) => {
        const sent = request(`${served.url}/mcp`, { method: 'POST', headers }, (response) => {
          response.on('error', () => undefined).resume()
          response.once('close', () => resolve({ session: response.headers['mcp-session-id'] as string | undefined }))
        })
        sent.on('error', reject)
        drop?.addEventListener('abort', () => sent.destroy())
        sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }))
      })
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'drops', version: '1' } }
    headers['Mcp-Session-Id'] = (await post({ id: 0, method: 'initialize', params: hello })).session ?? ''
    const write = (id: number, dryRun: boolean): object => ({
      id,
      method: 'tools/call',
      params: { name: 'write_to_file', arguments: { path, content: 'x\n', dryRun } },
    })
    await post(write(1, true))
    const drop = new AbortController()
    const waiting = post(write(2, false), drop.signal).catch(() => undefined)
    const asked = await until(
      () => world.runtime.approvals.list('pending').find(({ card }) => card.changes[0]?.path === path),
      'the question',
    )
    drop.abort()
    await waiting
    await until(
      () => linesOf(world, ({ outcome, client }) => outcome === 'cancelled' && client === 'drops/1').length > 0,
      'its line in the log',
    )
    world.runtime.approvals.decide(asked.id, { approve: true, by: 'test' })
    await post({ id: 3, method: 'tools/call', params: { name: 'read_file', arguments: { path: 'a.txt' } } })
    await until(
      () => linesOf(world, ({ tool, client }) => tool === 'read_file' && client === 'drops/1').length > 0,
      'the next call',
    )
    expect(await all.on('stdio 2025').call('read_file', { path })).toMatchObject({ error: { code: 'E_NOT_FOUND' } })
  })

  test.for(ways)('the record and the snapshots can be read by address: %s', async (way) => {
    const { client, call } = all.on(way)
    const path = `kept-${ways.indexOf(way)}.txt`
    for (const dryRun of [true, false]) await call('write_to_file', { path, content: `kept 海 ${way}\n`, dryRun })
    const read = async (uri: string): Promise<{ uri: string; mimeType: string; text: string }> => {
      const { contents } = await client.readResource({ uri })
      expect(contents).toHaveLength(1)
      return contents[0] as { uri: string; mimeType: string; text: string }
    }
    const snapshots = await read('handrail://snapshots')
    expect(snapshots).toMatchObject({ uri: 'handrail://snapshots', mimeType: 'application/json' })
    const kept = (JSON.parse(snapshots.text) as { id: string; path: string }[]).find((one) => one.path === path)
    expect(await read(`handrail://snapshots/${kept?.id}`)).toMatchObject({ mimeType: 'text/plain', text: `kept 海 ${way}\n` })

    const lines = JSON.parse((await read('handrail://audit')).text) as AuditLine[]
    expect(lines.length).toBeLessThanOrEqual(50)
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => (lines[0]?.seq ?? 0) + index))
    const end = lines.findLast((line) => line.event === 'call.end' && line.snapshots?.includes(kept?.id ?? ''))
    expect(end).toMatchObject({ tool: 'write_to_file', outcome: 'ok' })
    expect(JSON.parse((await read(`handrail://audit/${end?.seq}`)).text)).toEqual(end)

    for (const uri of [
      'handrail://audit/0',
      'handrail://audit/99999999',
      'handrail://audit/x',
      'handrail://snapshots/snap_20260101T000000_00000000',
      'handrail://',
      'file:///etc/passwd',
      'handrail://snapshots/../../token',
    ])
      await expect(client.readResource({ uri }), uri).rejects.toMatchObject({ code: -32602 })
  })

  test.for(ways)('what can be filled in is suggested: %s', async (way) => {
    const { world } = all
    const { client, call } = all.on(way)
    const path = `fill-${ways.indexOf(way)}.txt`
    for (const dryRun of [true, false]) await call('write_to_file', { path, content: 'x\n', dryRun })
    const complete = async (
      ref: object,
      name: string,
      value: string,
    ): Promise<{ values: string[]; total: number; hasMore: boolean }> =>
      (await client.complete({ ref, argument: { name, value } } as never)).completion as never

    const line = { type: 'ref/resource', uri: 'handrail://audit/{seq}' }
    const lines = await complete(line, 'seq', '1')
    expect(lines.values.length).toBeGreaterThan(0)
    for (const value of lines.values) expect(value).toMatch(/^1\d*$/)
    expect(await complete(line, 'seq', 'x')).toMatchObject({ values: [], total: 0, hasMore: false })

    const [newest] = world.runtime.snapshots(1, path)
    const snapshot = { type: 'ref/resource', uri: 'handrail://snapshots/{id}' }
    expect((await complete(snapshot, 'id', newest?.id.slice(0, -2) ?? '')).values).toContain(newest?.id)
    expect((await complete(snapshot, 'id', 'snap_1999')).values).toEqual([])
    expect((await complete({ type: 'ref/resource', uri: 'handrail://nothing/{id}' }, 'id', '')).values).toEqual([])

    const prompt = { type: 'ref/prompt', name: 'careful_change' }
    expect((await complete(prompt, 'path', 'de')).values).toEqual(['deep'])
    expect((await complete(prompt, 'path', 'deep/')).values).toEqual(['deep/c.txt', 'deep/er'])
    expect((await complete(prompt, 'path', 'deep/er/')).values).toEqual(['deep/er/b.md'])
    for (const outside of ['../', '/etc/', '.git/', '.handrail/', 'none/'])
      expect([outside, (await complete(prompt, 'path', outside)).values]).toEqual([outside, []])
    expect((await complete(prompt, 'task', 'x')).values).toEqual([])
    const many = await complete(prompt, 'path', 'many/')
    expect([many.values.length, many.total, many.hasMore]).toEqual([100, 10_500, true])
  })

  test.for(ways)('prompts: %s', async (way) => {
    const { client } = all.on(way)
    const { messages } = await client.getPrompt({ name: 'careful_change', arguments: { path: 'a.txt', task: 'say two' } })
    const said = JSON.stringify(messages)
    for (const word of ['a.txt', 'say two', 'dryRun', 'snapshotId']) expect(said).toContain(word)
    expect(JSON.stringify((await client.getPrompt({ name: 'review_session' })).messages)).toContain('handrail://audit')
    await expect(client.getPrompt({ name: 'careful_change', arguments: { path: 'a.txt' } })).rejects.toThrow(/task/)
    await expect(client.getPrompt({ name: 'no_such_prompt' })).rejects.toMatchObject({ code: -32602 })
  })

  test.for(ways.filter((way) => !isModern(way)))('the level of logging can be set: %s', async (way) => {
    const { client } = all.on(way)
    for (const level of ['debug', 'emergency', 'info'] as const) expect(await client.setLoggingLevel(level)).toBeDefined()
    await expect(client.setLoggingLevel('loud' as never)).rejects.toThrow()
  })

  test.for(ways)('every tool is fit to be listed: %s', async (way) => {
    const { tools } = await all.on(way).client.listTools()
    expect(tools.length).toBeGreaterThanOrEqual(10)
    for (const tool of tools) {
      expect(tool).toMatchObject({
        name: expect.stringMatching(/^[a-z_]{3,40}$/) as string,
        title: expect.stringMatching(/\S/) as string,
        description: expect.stringMatching(/\S.{20}/) as string,
        inputSchema: { type: 'object' },
        outputSchema: { type: 'object' },
        annotations: {
          readOnlyHint: expect.any(Boolean) as boolean,
          destructiveHint: expect.any(Boolean) as boolean,
          idempotentHint: expect.any(Boolean) as boolean,
          openWorldHint: expect.any(Boolean) as boolean,
        },
        icons: [{ src: expect.stringMatching(/^data:image\/svg/) as string, mimeType: 'image/svg+xml' }],
      })
      for (const schema of [tool.inputSchema, tool.outputSchema])
        expect([tool.name, Object.keys(schema ?? {}).filter((key) => ['oneOf', 'anyOf', 'allOf', '$id'].includes(key))]).toEqual([
          tool.name,
          [],
        ])
    }
  })

  test.for(ways)('what changes files says so, and what only reads says that: %s', async (way) => {
    const { tools } = await all.on(way).client.listTools()
    const reads = new Map(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]))
    for (const name of ['write_to_file', 'replace_in_file']) expect([name, reads.get(name)]).toEqual([name, false])
    for (const name of ['read_file', 'list_files', 'search_files', 'list_snapshots', 'restore_snapshot'])
      expect([name, reads.get(name)]).toEqual([name, true])
  })

  test.for(ways)('a tool that is only read as a resource is neither listed nor called: %s', async (way) => {
    const { client } = all.on(way)
    expect(await names(client)).not.toContain('read_audit')
    await expect(client.callTool({ name: 'read_audit', arguments: { last: 1 } })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool') as string,
    })
  })

  test('doctor says how large the list of tools is for a model, to the byte', async () => {
    const { world, served } = all
    const { out } = await runCli(world.project, ['doctor', '--json'])
    const { findings } = JSON.parse(out) as { findings: { what: string; says: string }[] }
    const said = Number(/(\d+) bytes/.exec(findings.find(({ what }) => what === 'tool list')?.says ?? '')?.[1])
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'by-hand', version: '1' },
    }
    const response = await fetch(`${served.url}/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${served.token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/list',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }),
    })
    // Clients give a model these three and nothing else.
    const read = (tools: unknown[]): number =>
      Buffer.byteLength(
        JSON.stringify(
          (tools as Record<string, unknown>[]).map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        ),
      )
    const { result } = (await response.json()) as { result: { tools: unknown[] } }
    expect(said).toBeGreaterThan(1_000)
    expect(read(result.tools)).toBe(said)
    await using line = await openLine(world.project)
    const listed = await line.ask('{"jsonrpc":"2.0","id":9,"method":"tools/list"}', 9)
    expect(read((listed.result as { tools: unknown[] }).tools)).toBe(said)
  })

  test('a folder with a few texts is offered nothing for games, skills and agents, and can call all of it', async () => {
    const { world } = all
    const hidden = [
      'list_project_resources',
      'validate_script',
      'preview_scene',
      'generate_character_profile',
      'scene_graph',
      'project_report',
      'python_run',
      'script_run',
      'agent_run',
    ]
    for (const way of ways) {
      const { client, call } = all.on(way)
      const listed = await names(client)
      expect([way, listed.filter((name) => hidden.includes(name))]).toEqual([way, []])
      const info = await call('get_runtime_info', {})
      expect(info['unlisted']).toMatchObject({ tools: hidden, says: expect.stringContaining('--tools') as string })
      expect(info['tools']).toEqual(expect.arrayContaining(hidden))
    }
    expect((await all.on('stdio 2025').call('validate_script', { content: 'end;\n' }))['valid']).toBe(true)
    const { out } = await runCli(world.project, ['doctor'])
    expect(out).toMatch(/not listed.*scene_graph.*--tools/)
    await using picked = await openMcp('stdio 2025', world.project, undefined, { args: ['--tools', 'webgal,agent_run'] })
    expect(await names(picked.client)).toEqual([...hidden.slice(0, 6), 'agent_run'])
  })

  test('the first scene makes a game of it, and everybody is told', async () => {
    await using own = await openEverywhere({ config: { policies: { writeRequiresDiff: false } } }, ['stdio 2025', 'http 2026'])
    const followers: Follower[] = []
    for (const [way, peer] of own.peers) followers.push(await follow(way, peer))
    await own.on('http 2026').call('write_to_file', { path: 'game/scene/start.txt', content: 'end;\n', dryRun: false })
    await until(() => followers.every(({ tools }) => tools > 0), 'the news')
    for (const [way, { client }] of own.peers) {
      expect([way, await names(client)]).toEqual([way, expect.arrayContaining(['validate_script', 'preview_scene'])])
      expect([way, await names(client)]).toEqual([way, expect.not.arrayContaining(['agent_run'])])
    }
    for (const follower of followers) await follower.stop()
  })
})

test('a schema is published without what would make clients drop its tool, and otherwise as it is', () => {
  const nested = { oneOf: [{ type: 'string' }, { type: 'number' }] }
  const rest = {
    type: 'object',
    properties: { a: nested },
    required: ['a'],
    if: { required: ['b'] },
    not: { required: ['c'] },
    $defs: { x: { allOf: [nested] } },
    additionalProperties: false,
  }
  const schema = { ...rest, oneOf: [nested], anyOf: [nested], allOf: [nested] }
  const kept = structuredClone(schema)
  expect(publishable(schema)).toEqual(rest)
  expect(schema, 'the contract itself stays whole').toEqual(kept)
  expect(publishable({})).toEqual({})
})

interface Line {
  /** Sends a line and waits for the message with this id. */
  ask(line: string | Buffer, id: unknown): Promise<Record<string, unknown>>
  [Symbol.asyncDispose](): Promise<void>
}

/** The real program over stdio, spoken to in raw lines, after it was greeted. */
async function openLine(project: string, era: '2025' | '2026' = '2025'): Promise<Line> {
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

describe('messages nobody can read', () => {
  let world: World
  let served: Served
  beforeAll(async () => {
    world = await openWorld({ files: { 'a.txt': 'one\n' } })
    served = await openServe(world.project)
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    await world[Symbol.asyncDispose]()
  })

  const large = Buffer.alloc(33 << 20, 'x')
  const message = (modern: boolean, id: number, input: object): Record<string, unknown> => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: {
      name: 'read_file',
      arguments: input,
      ...(modern && {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': { name: 'by-hand', version: '1' },
        },
      }),
    },
  })

  test.for(['2025', '2026'] as const)('are answered, and the next call works: stdio %s', async (era) => {
    await using line = await openLine(world.project, era)
    const works = async (id: number): Promise<void> =>
      expect(await line.ask(JSON.stringify(message(era === '2026', id, { path: 'a.txt' })), id)).toMatchObject({
        result: { structuredContent: { content: 'one\n' } },
      })
    await works(1)
    expect(
      await line.ask(
        Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"'), large, Buffer.from('"}}')]),
        2,
      ),
    ).toMatchObject({ error: { code: -32600 } })
    await works(3)
    for (const bad of ['{', 'hello', '{"jsonrpc":"2.0","id":4', '[1', '\u0000'])
      expect(await line.ask(bad, null)).toMatchObject({ error: { code: -32700 } })
    await works(5)
    for (const bad of ['5', '[]', '{"jsonrpc":"1.0","method":"x"}'])
      expect(await line.ask(bad, null)).toMatchObject({ error: { code: -32600 } })
    await works(6)
  })

  /** One post to `/mcp` or `/messages`: its status and its JSON. */
  async function post(path: string, headers: Record<string, string>, body: string | Buffer): ReturnType<typeof postOnce> {
    for (let times = 1; ; times++)
      try {
        return await postOnce(path, headers, body)
      } catch (fault) {
        // Whoever still sends when the answer is there may lose it with the connection.
        if (times === 5 || !['EPIPE', 'ECONNRESET'].includes((fault as NodeJS.ErrnoException).code ?? '')) throw fault
      }
  }

  function postOnce(
    path: string,
    headers: Record<string, string>,
    body: string | Buffer,
  ): Promise<{ status: number; body: unknown; session: string }> {
    return new Promise((resolve, reject) => {
      const all = {
        Authorization: `Bearer ${served.token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      }
      const sent = request(served.url + path, { method: 'POST', headers: all, agent: false }, (response) => {
        const session = String(response.headers['mcp-session-id'] ?? '')
        text(response).then((answer) => {
          const data = /^data: (.*)$/m.exec(answer)?.[1] ?? answer
          resolve({ status: response.statusCode ?? 0, body: data && JSON.parse(data), session })
        }, reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  test.for(['http 2025', 'http 2026'] as const)('are answered, and the next call works: %s', async (way) => {
    const modern = way === 'http 2026'
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'by-hand', version: '1' } }
    const opening = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello })
    const headers: Record<string, string> = modern
      ? { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'read_file' }
      : { 'Mcp-Session-Id': (await post('/mcp', {}, opening)).session }
    const works = async (): Promise<void> =>
      expect(await post('/mcp', headers, JSON.stringify(message(modern, 1, { path: 'a.txt' })))).toMatchObject({
        status: 200,
        body: { result: { structuredContent: { content: 'one\n' } } },
      })
    await works()
    expect(await post('/mcp', headers, large)).toMatchObject({
      status: 413,
      body: { jsonrpc: '2.0', id: null, error: { code: -32600 } },
    })
    await works()
    for (const bad of ['{', 'hello', '', '\u0000'])
      expect(await post('/mcp', headers, bad)).toMatchObject({ status: 400, body: { id: null, error: { code: -32700 } } })
    await works()
    for (const bad of ['5', 'null', '"x"', '[]', '{"jsonrpc":"1.0","id":1,"method":"x"}'])
      expect([bad, await post('/mcp', headers, bad)]).toMatchObject([
        bad,
        { status: 400, body: { error: { code: expect.any(Number) as number } } },
      ])
    await works()
  })

  test('are answered, and the next call works: sse', async () => {
    await using peer = await openMcp('sse', world.project, served)
    const endpoint = String((peer.client.transport as unknown as { _endpoint: URL })._endpoint)
    const path = endpoint.slice(served.url.length)
    expect(path).toMatch(/^\/messages\?sessionId=/)
    const works = async (): Promise<void> =>
      expect(await peer.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'one\n' })
    for (const [bad, status] of [
      [large, 413],
      ['{', 400],
      ['hello', 400],
      ['', 400],
      ['5', 400],
      ['[]', 400],
      ['{"jsonrpc":"1.0","id":1,"method":"x"}', 400],
    ] as const) {
      expect(await post(path, {}, bad as string)).toMatchObject({ status, body: { error: expect.anything() as unknown } })
      await works()
    }
  })

  test('what is no message is said to be none, not to be unreadable: the code is the same over every way', async () => {
    await using line = await openLine(world.project)
    const codes: Record<string, unknown> = { stdio: (await line.ask('5', null))['error'] }
    codes['http'] = ((await post('/mcp', {}, '5')).body as Record<string, unknown>)['error']
    expect(codes).toMatchObject({ stdio: { code: -32600 }, http: { code: -32600 } })
  })
})

describe('a smaller list', () => {
  test.for(ways)('--tools files, over %s', async (way) => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    const args = ['--tools', 'files']
    await using served = way.startsWith('stdio') ? undefined : await openServe(world.project, { args })
    await using peer = await openMcp(way, world.project, served, { args })
    expect(await names(peer.client)).toEqual([
      'list_files',
      'read_file',
      'write_to_file',
      'replace_in_file',
      'search_files',
      'list_snapshots',
      'restore_snapshot',
    ])
    expect(await peer.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'one\n' })
    for (const [tool, input] of [
      ['get_runtime_info', {}],
      ['ask_followup_question', { question: 'x' }],
      ['attempt_completion', { result: 'x' }],
    ] as const)
      expect([tool, (await peer.call(tool, input)).error?.code]).toEqual([tool, 'E_TOOL_DISABLED'])
    await expect(peer.client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow(/Unknown tool/)
    const { resources } = await peer.client.listResources()
    expect(
      resources.map(({ uri }) => uri),
      'what a switched-off tool reads is not offered',
    ).toEqual(['handrail://snapshots'])
    await expect(peer.client.readResource({ uri: 'handrail://audit' })).rejects.toMatchObject({ code: -32602 })
  })

  test('--tools with a tool and a toolset', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    await using peer = await openMcp('stdio 2025', world.project, undefined, { args: ['--tools', 'read_file,session'] })
    expect(await names(peer.client)).toEqual(['read_file', 'get_runtime_info', 'ask_followup_question', 'attempt_completion'])
    expect((await peer.call('list_files', { path: '.' })).error?.code).toBe('E_TOOL_DISABLED')
    expect((await peer.call('get_runtime_info', {}))['tools']).toEqual(await names(peer.client))
    const doctor = async (...args: string[]): Promise<number> => {
      const { findings } = JSON.parse((await runCli(world.project, ['doctor', '--json', ...args])).out) as {
        findings: { what: string; says: string }[]
      }
      return Number(/(\d+) bytes/.exec(findings.find(({ what }) => what === 'tool list')?.says ?? '')?.[1])
    }
    expect(await doctor('--tools', 'read_file,session')).toBeLessThan((await doctor()) / 1.5)
  })

  test('a name nobody knows is a clear error, whoever is started with it', async () => {
    await using world = await openWorld()
    for (const command of [['mcp'], ['serve', '--port', '0'], ['doctor'], ['call', 'read_file', '{}']]) {
      const { code, err, out } = await runCli(world.project, [...command, '--tools', 'read_file,no_such_thing'])
      expect([command[0], code === 0]).toEqual([command[0], false])
      expect([command[0], err + out]).toEqual([command[0], expect.stringContaining('no_such_thing')])
      expect([command[0], err + out]).toEqual([command[0], expect.stringMatching(/Toolsets: .*files.*session/)])
      expect(err + out).not.toMatch(/\n\s+at /)
    }
  })
})

/** A client that keeps what it is told. */
interface Follower {
  tools: number
  updates: string[]
  stop(): Promise<void>
}

async function follow(way: Way, { client }: McpConnection, uris: string[] = []): Promise<Follower> {
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

test.for([
  ['that can be used', {}],
  ['that cannot', { tools: 'no_such_thing' }],
] as const)('settings taken up again and again leave nothing open behind them: %s', async ([, flags]) => {
  await using world = await openWorld()
  // A closed database gives back its files when its statements are collected, which is no matter of ours.
  const open = (): string[] =>
    readdirSync('/proc/self/fd')
      .map((fd) => linkOf(`/proc/self/fd/${fd}`))
      .filter((path) => path.startsWith(world.project) && !path.includes('handrail.db'))
  const takeUp = async (): Promise<void> => {
    try {
      await openRuntime({ project: world.project, environment: {}, flags }).close()
    } catch (fault) {
      expect((fault as Error).message).toContain('no_such_thing')
    }
  }
  const before = open().sort()
  for (let times = 0; times < 3; times++) await takeUp()
  expect(open().sort()).toEqual(before)
})

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

// Most of what follows is waiting, so it waits together.
describe.concurrent('settings that change while it runs', () => {
  test('the list of tools follows, everybody is told, and calls under way go on', async () => {
    await using all = await openEverywhere({
      files: { 'package.json': '{}\n' },
      config: { policies: { writeRequiresDiff: false } },
    })
    const { world, served } = all
    const stderr = new Map<string, () => string>([['http', served.stderr]])
    for (const way of ['stdio 2025', 'stdio 2026'] as const) {
      let said = ''
      const { transport } = all.on(way).client as unknown as { transport: { stderr: NodeJS.ReadableStream } }
      transport.stderr.on('data', (piece: Buffer) => (said += piece.toString()))
      stderr.set(way, () => said)
    }
    const followers = new Map<Way, Follower>()
    for (const [way, peer] of all.peers) followers.set(way, await follow(way, peer))
    const before = await names(all.on('stdio 2025').client)
    expect(before).toContain('search_files')
    const changes = (): AuditLine[] => linesOf(world, ({ event }) => event === 'settings.changed')
    const told = (times: number): Promise<boolean> =>
      until(() => [...followers.values()].every(({ tools }) => tools >= times), `notice ${times}`)
    const edit = (settings: object): void => world.write('handrail.config.json', JSON.stringify(settings))

    // Calls that wait for a person the whole time.
    const waiting = [...all.peers].map(([way, peer]) => ({
      path: `wait-${ways.indexOf(way)}/package.json`,
      done: peer.call('write_to_file', { path: `wait-${ways.indexOf(way)}/package.json`, content: `${way}\n`, dryRun: false }),
    }))
    await until(() => world.runtime.approvals.list('pending').length === ways.length, 'a question of each')

    edit({ disabledTools: ['search_files'] })
    await told(1)
    for (const [way, { client, call }] of all.peers) {
      expect([way, await names(client)]).toEqual([way, before.filter((name) => name !== 'search_files')])
      expect([way, (await call('search_files', { path: '.', regex: 'x' })).error?.code]).toEqual([way, 'E_TOOL_DISABLED'])
    }
    // One process serves HTTP, and each client over stdio has its own.
    expect(changes()).toHaveLength(3)
    for (const line of changes()) expect(line.details).toEqual({ settings: ['disabledTools'] })

    // Settings that cannot be used change nothing, and say so.
    for (const [broken, word] of [
      ['{ "disabledTools": ', 'handrail.config.json'],
      ['{"disabledTools":"all"}', 'disabledTools'],
      ['{"tools":["no_such_thing"]}', 'no_such_thing'],
    ] as const) {
      world.write('handrail.config.json', broken)
      for (const [who, said] of stderr)
        await until(
          () => said().includes('old ones stay in force') && said().split('old ones stay in force').at(-1)?.includes(word),
          `${who} to say what is wrong with ${broken}`,
        )
    }
    for (const [way, { client }] of all.peers)
      expect([way, await names(client)]).toEqual([way, before.filter((name) => name !== 'search_files')])
    expect(changes()).toHaveLength(3)

    edit({ tools: ['files'] })
    await told(2)
    for (const [way, { client }] of all.peers) {
      const listed = await names(client)
      expect([way, listed.includes('search_files'), listed.includes('get_runtime_info')]).toEqual([way, true, false])
    }
    expect(changes()).toHaveLength(6)
    for (const line of changes().slice(3))
      expect((line.details as { settings: string[] }).settings.sort()).toEqual(['disabledTools', 'tools'])

    // No file at all is as good as an empty one.
    rmSync(world.path('handrail.config.json'))
    await told(3)
    for (const [way, { client }] of all.peers) expect([way, await names(client)]).toEqual([way, before])

    for (const { path, done } of waiting) {
      const asked = world.runtime.approvals.list('pending').find(({ card }) => card.changes[0]?.path === path)
      world.runtime.approvals.decide(asked?.id ?? '', { approve: true, by: 'test' })
      expect([path, await done]).toMatchObject([path, { applied: true }])
    }
    expect(await runCli(world.project, ['audit', 'verify'])).toMatchObject({ code: 0 })
  })
})

describe.concurrent('subscriptions', () => {
  const uris = ['handrail://audit', 'handrail://snapshots']
  const write = (world: World, path: string): ReturnType<typeof runCli> =>
    runCli(world.project, [
      'call',
      'write_to_file',
      JSON.stringify({ path, content: `${path}\n`, dryRun: false }),
      '--write-requires-diff',
      'false',
    ])
  /** Longer than the server takes to look twice. */
  const quiet = 1_300
  /** Waits until nothing is added any more; fails where there is always more. */
  const rest = async (count: () => string): Promise<void> => {
    const counts = [count()]
    while (counts.length < 9 && counts.at(-1) !== counts.at(-2)) {
      await pause(quiet)
      counts.push(count())
    }
    expect(counts.at(-1), `updates only its own reading can have made: ${counts.join(', ')}`).toBe(counts.at(-2))
  }

  test('what another process writes is news, whoever reads it on every update comes to rest, and who unsubscribes hears no more', async () => {
    await using all = await openEverywhere({})
    const { world } = all
    const followers = new Map<Way, Follower>()
    const reads = new Map<Way, number>()
    for (const [way, peer] of all.peers) {
      followers.set(way, await follow(way, peer, uris))
      // The log is read again on every update of it.
      peer.client.setNotificationHandler('notifications/resources/updated', async ({ params: { uri } }) => {
        followers.get(way)?.updates.push(uri)
        if (uri !== 'handrail://audit') return
        reads.set(way, (reads.get(way) ?? 0) + 1)
        await peer.client.readResource({ uri })
      })
    }
    expect(await write(world, 'one.txt')).toMatchObject({ code: 0 })
    for (const [way, follower] of followers)
      await until(() => uris.every((uri) => follower.updates.includes(uri)), `news of both over ${way}`)
    await rest(() => [...followers].map(([way, { updates }]) => `${way} ${updates.length}`).join())
    for (const way of ways) expect([way, (reads.get(way) ?? 0) > 0]).toEqual([way, true])

    // The first of them stops listening; the last is the witness that there was news.
    const witness = followers.get('sse')
    for (const [way, follower] of followers) if (way !== 'sse') await follower.stop()
    for (const follower of followers.values()) follower.updates.splice(0)
    expect(await write(world, 'two.txt')).toMatchObject({ code: 0 })
    await until(() => uris.every((uri) => witness?.updates.includes(uri)), 'news for the witness')
    await pause(quiet)
    for (const [way, { updates }] of followers) if (way !== 'sse') expect([way, updates]).toEqual([way, []])
    for (const [way, peer] of all.peers)
      expect([way, (await peer.call('read_file', { path: 'two.txt' }))['content']]).toEqual([way, 'two.txt\n'])
  })

  test('only what was subscribed to is told', async () => {
    await using all = await openEverywhere({})
    const followers = new Map<Way, Follower>()
    for (const [way, peer] of all.peers) followers.set(way, await follow(way, peer, ['handrail://snapshots']))
    expect(await write(all.world, 'one.txt')).toMatchObject({ code: 0 })
    for (const [way, follower] of followers) await until(() => follower.updates.length > 0, `news over ${way}`)
    await pause(quiet)
    for (const [way, { updates }] of followers) expect([way, [...new Set(updates)]]).toEqual([way, ['handrail://snapshots']])
  })

  test('whoever reads all resources on every update comes to rest too', async () => {
    await using all = await openEverywhere({}, ['stdio 2025'])
    const { client } = all.on('stdio 2025')
    const follower = await follow('stdio 2025', all.on('stdio 2025'), uris)
    client.setNotificationHandler('notifications/resources/updated', async ({ params }) => {
      follower.updates.push(params.uri)
      for (const uri of uris) await client.readResource({ uri })
    })
    expect(await write(all.world, 'one.txt')).toMatchObject({ code: 0 })
    await until(() => uris.every((uri) => follower.updates.includes(uri)), 'news of both')
    await rest(() => String(follower.updates.length))
  })
})
