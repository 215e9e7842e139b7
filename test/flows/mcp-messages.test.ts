import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMcp, openServe, someWays, type Served } from '../support/serve.ts'
import { runInside, serveInside } from '../support/inside.ts'
import { say } from '../support/sockets.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'
import { names, openLine } from '../support/everywhere.ts'

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

  // Lines are read before anybody asks of what era they are.
  test.for(isSoak ? (['2025', '2026'] as const) : (['2025'] as const))(
    'are answered, and the next call works: stdio %s',
    async (era) => {
      await using line = await openLine(world.project, era)
      const works = async (id: number): Promise<void> =>
        expect(await line.ask(JSON.stringify(message(era === '2026', id, { path: 'a.txt' })), id)).toMatchObject({
          result: { structuredContent: { content: 'one\n' } },
        })
      await works(1)
      expect(
        await line.ask(
          Buffer.concat([
            Buffer.from('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"'),
            large,
            Buffer.from('"}}'),
          ]),
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
    },
  )

  /** One post to `/mcp` or `/messages`: its status and its JSON. In one piece: who begins a body after its head may lose an answer that is there by then. */
  async function post(
    path: string,
    headers: Record<string, string>,
    body: string | Buffer,
  ): Promise<{ status: number; body: unknown; session: string }> {
    const reply = await say(served, { path, headers, body })
    const data = /^data: (.*)$/m.exec(reply.body)?.[1] ?? reply.body
    const session = /^mcp-session-id: (\S+)/im.exec(reply.head)?.[1] ?? ''
    return { status: reply.status, body: data && JSON.parse(data), session }
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
  test.for(someWays)('--tools files, over %s', async (way) => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    const args = ['--tools', 'files']
    await using served = way.startsWith('stdio') ? undefined : await (isSoak ? openServe : serveInside)(world.project, { args })
    await using peer = await openMcp(way, world.project, served, { args })
    expect(await names(peer.client)).toEqual([
      'list_files',
      'read_file',
      'write_to_file',
      'replace_in_file',
      'replace_in_files',
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
    expect(await names(peer.client)).toEqual([
      'read_file',
      'get_runtime_info',
      'ask_followup_question',
      'attempt_completion',
      'present_plan',
    ])
    expect((await peer.call('list_files', { path: '.' })).error?.code).toBe('E_TOOL_DISABLED')
    expect((await peer.call('get_runtime_info', {}))['tools']).toEqual(await names(peer.client))
    const doctor = async (...args: string[]): Promise<number> => {
      const { findings } = JSON.parse((await runInside(world.project, ['doctor', '--json', ...args])).out) as {
        findings: { what: string; says: string }[]
      }
      return Number(/(\d+) bytes/.exec(findings.find(({ what }) => what === 'tool list')?.says ?? '')?.[1])
    }
    expect(await doctor('--tools', 'read_file,session')).toBeLessThan((await doctor()) / 1.5)
  })

  test('a name nobody knows is a clear error, whoever is started with it', async () => {
    await using world = await openWorld()
    for (const command of [['mcp'], ['serve', '--port', '0'], ['doctor'], ['call', 'read_file', '{}']]) {
      const { code, err, out } = await runInside(world.project, [...command, '--tools', 'read_file,no_such_thing'])
      expect([command[0], code === 0]).toEqual([command[0], false])
      expect([command[0], err + out]).toEqual([command[0], expect.stringContaining('no_such_thing')])
      expect([command[0], err + out]).toEqual([command[0], expect.stringMatching(/Toolsets: .*files.*session/)])
      expect(err + out).not.toMatch(/\n\s+at /)
    }
  })
})
