import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Client, Transport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { publishable } from '../../src/surfaces/mcp/dialect.ts'
import { openMcp, ways } from '../support/serve.ts'
import { runInside } from '../support/inside.ts'
import { isSoak } from '../support/soak.ts'
import {
  type Everywhere,
  follow,
  type Follower,
  isModern,
  linesOf,
  names,
  openEverywhere,
  openLine,
  until,
} from '../support/everywhere.ts'

interface Step {
  progress: number
  message?: string
}

/** What of a call's progress comes over the wire: the client itself no longer tells of a step that comes together with the answer. */
async function stepsOf<T>(client: Client, act: () => Promise<T>): Promise<{ steps: Step[]; result: T }> {
  const transport = client.transport as Transport
  const steps: Step[] = []
  const hear = transport.onmessage
  const onmessage: NonNullable<typeof hear> = (message, ...more) => {
    if ('method' in message && message.method === 'notifications/progress') steps.push(message.params as unknown as Step)
    hear?.(message, ...more)
  }
  Object.assign(transport, { onmessage })
  try {
    return { result: await act(), steps }
  } finally {
    Object.assign(transport, { onmessage: hear })
  }
}

describe('on one project, over every way', () => {
  let all: Everywhere
  beforeAll(async () => {
    all = await openEverywhere(
      {
        files: { 'a.txt': 'one\n', 'deep/er/b.md': '# b\n', 'deep/c.txt': 'c\n', 'package.json': '{}\n' },
      },
      ways,
      isSoak ? { real: true } : {},
    )
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
      const { steps, result } = await stepsOf(client, () =>
        client.callTool({ name, arguments: input }, { onprogress: () => undefined }),
      )
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
      () => linesOf(world, (line) => line.outcome === 'cancelled' && line.approval === asked.id).length > 0,
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
    const { out } = await runInside(world.project, ['doctor', '--json'])
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
      'replace_in_files',
      'present_plan',
      'list_project_resources',
      'validate_script',
      'preview_scene',
      'generate_character_profile',
      'scene_graph',
      'project_report',
      'convert_encoding',
      'rename_in_game',
      'play_routes',
      'save_filmstrip',
      'allow_sites',
      'visit_page',
      'search_page',
      'next_page',
      'compare_pages',
      'submit_form',
      'log_in',
      'use_login',
      'python_run',
      'script_run',
      'agent_run',
      'run_check',
      'anchor_index',
      'plan_autofill',
      'plan_transform',
      'apply_patch_plan',
      'trial_run',
      'write_artifacts',
      'pursue_goal',
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
    const { out } = await runInside(world.project, ['doctor'])
    expect(out).toMatch(/not listed.*scene_graph.*--tools/)
    await using picked = await openMcp('stdio 2025', world.project, undefined, { args: ['--tools', 'webgal,agent_run'] })
    expect(await names(picked.client)).toEqual([...hidden.slice(2, 12), 'agent_run'])
  })

  test('the first scene makes a game of it, and everybody is told', async () => {
    await using own = await openEverywhere({ config: { policies: { writeRequiresDiff: false } } }, ['stdio 2025', 'http 2026'], {
      inside: !isSoak,
    })
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
