// @stage
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import { openInside, runInside, serveInside } from '../support/inside.ts'
import { openStdio, openWorld, repository, type World } from '../support/world.ts'

const servers = join(repository, 'test/support/mcp-servers')
const tool = (name: string, more: object = {}): object => ({ name, inputSchema: { type: 'object' }, ...more })
const plain = (wish: object, more: object = {}): object => ({
  command: 'node',
  args: [join(servers, 'plain.mjs')],
  env: { PLAIN: JSON.stringify(wish) },
  risks: { '*': 'R0' },
  ...more,
})
const modern = { command: 'node', args: [join(servers, 'modern.mjs')], risks: { '*': 'R0' } }
const open = (mounts: unknown, more: Parameters<typeof openWorld>[0] = {}): Promise<World> =>
  openWorld({ onDisk: true, config: typeof mounts === 'function' ? mounts : { mounts }, ...more })
const text = (output: unknown): string => ((output as { content: { text: string }[] }).content[0] ?? { text: '' }).text
const wired = (tools: readonly { name: string }[]): string[] =>
  tools.map(({ name }) => name).filter((name) => name.includes('__'))

/** A server over plain HTTP that knows the older revisions alone. */
async function httpServer(): Promise<{ url: string; headers: IncomingHttpHeaders[]; close: () => Promise<void> }> {
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      headers.push(request.headers)
      const { id, method, params } = JSON.parse(body || '{}') as {
        id?: number
        method?: string
        params?: Record<string, unknown>
      }
      const answer = (value: object): void => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...value }))
      }
      if (id === undefined) return response.writeHead(202).end()
      const serverInfo = { name: 'old', version: '1' }
      if (method === 'initialize')
        return answer({ result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
      if (method === 'tools/list') return answer({ result: { tools: [tool('echo')] } })
      if (method === 'tools/call')
        return answer({ result: { content: [{ type: 'text', text: `echo ${JSON.stringify(params?.['arguments'])}` }] } })
      return answer({ error: { code: -32601, message: 'Method not found' } })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

test('over HTTP, of the old revisions and of the new one: connected, signed in, called', async () => {
  const old = await httpServer()
  await using other = await openWorld({ files: { 'there.txt': 'from there\n' } })
  await using served = await serveInside(other.project)
  const risks = { '*': 'R0' }
  const mounts = {
    old: { url: old.url, headers: { Authorization: 'Bearer ${OLD_TOKEN}' }, risks },
    other: { url: `${served.url}/mcp`, headers: { Authorization: 'Bearer ${OTHER_TOKEN}' }, risks, tools: ['read_file'] },
    wrong: { url: `${served.url}/mcp`, headers: { Authorization: 'Bearer nobody' } },
  }
  await using world = await open(mounts, {
    environment: () => ({ OLD_TOKEN: 'sesame-1', OTHER_TOKEN: served.token }),
  })
  const heard = new Promise<string>((resolve) => {
    const stop = other.runtime.audit.subscribe({ events: (event) => event.startsWith('call.') }, (lines) => {
      const line = lines.find(({ tool: called }) => called === 'read_file')
      if (!line) return
      stop()
      resolve(line.client ?? '')
    })
  })
  await world.runtime.mounts.refresh()
  expect(text(await world.call('mcp.old.echo', { a: 1 }))).toBe('echo {"a":1}')
  expect(old.headers.every(({ authorization }) => authorization === 'Bearer sesame-1')).toBe(true)
  expect(JSON.stringify(await world.call('mcp.other.read_file', { path: 'there.txt' }))).toContain('from there')
  expect(world.runtime.mounts.list().find(({ server }) => server === 'wrong')?.fault).toContain('401')
  // It is the other project's log that has the call, with Handrail as the one who asked.
  expect(await heard).toMatch(/^handrail\//)
  await old.close()
  // Gone: that is said, and can be tried again.
  expect(errorBodyOf(await world.fault('mcp.old.echo', {}))).toMatchObject({
    error: { code: 'E_PREVIEW_FAIL', recoverable: true },
  })
})

test('a program that speaks the new revision alone is started again for it; neither it nor an old one can ask the person anything', async () => {
  await using world = await open({ new: modern, old: plain({ tools: [tool('ask')] }) })
  await world.runtime.mounts.refresh()
  expect(text(await world.call('mcp.new.echo', { n: 2 }))).toBe('echo {"n":2}')
  expect(errorBodyOf(await world.fault('mcp.new.ask', {}))).toMatchObject({
    error: { code: 'E_PREVIEW_FAIL', recoverable: true },
  })
  expect(text(await world.call('mcp.old.ask', {}))).toContain('Handrail lets no mounted server ask: elicitation/create')
  expect(text(await world.call('mcp.new.echo', { n: 3 }))).toBe('echo {"n":3}')
})

test('`handrail mcp --wrap` as a client starts it, and `serve --wrap`: the server’s tools and answers in its own shapes, in both eras; without it they are not there', async () => {
  await using world = await open({ p: plain({ tools: [tool('echo', { title: 'Echo' }), tool('screenshot')] }) })
  const both = ['p__echo', 'p__screenshot']
  {
    await using bare = await openInside(world.project)
    expect(wired((await bare.client.listTools()).tools)).toEqual([])
    for (const name of ['p__echo', 'mcp.p.echo'])
      await expect(bare.client.callTool({ name, arguments: {} })).rejects.toThrow('Unknown tool')
  }
  {
    await using peer = await openStdio(world.project, { args: ['--wrap'] })
    // Nobody has seen that server yet: on a busy machine it is told of a moment later.
    const changed = new Promise<void>((resolve) =>
      peer.client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
    )
    if (wired((await peer.client.listTools()).tools).length === 0) await changed
    expect(wired((await peer.client.listTools()).tools)).toEqual(both)
    expect(await peer.client.callTool({ name: 'p__echo', arguments: { a: 1 } })).toMatchObject({
      content: [{ type: 'text', text: 'echo {"a":1}' }],
    })
    await expect(peer.client.callTool({ name: 'mcp.p.echo', arguments: {} })).rejects.toThrow('Unknown tool')
  }
  await using served = await serveInside(world.project, { args: ['--wrap'] })
  for (const mode of ['legacy', 'auto'] as const) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const requestInit = { headers: { Authorization: `Bearer ${served.token}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { requestInit }))
    expect(wired((await client.listTools()).tools)).toEqual(both)
    expect(text(await client.callTool({ name: 'p__echo', arguments: { b: mode } }))).toBe(`echo {"b":"${mode}"}`)
    await client.close()
  }
})

test('a server that is silent at the greeting holds nobody up: the list comes without it, and is told to have changed once it has spoken', async () => {
  await using world = await open((base: string) => ({
    mounts: {
      silent: plain({ silent: 'greeting' }),
      slow: plain({ waitsIn: join(base, 'gate'), tools: [tool('echo')] }, { reads: [join(base, 'gate')] }),
    },
  }))
  mkdirSync(join(world.base, 'gate'))
  await using peer = await openInside(world.project, { args: ['--wrap'] })
  const changed = new Promise<void>((resolve) =>
    peer.client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
  )
  expect(wired((await peer.client.listTools()).tools)).toEqual([])
  writeFileSync(join(world.base, 'gate', 'now'), '')
  await changed
  expect(wired((await peer.client.listTools()).tools)).toEqual(['slow__echo'])
})

/** Whether a program with this word among its own runs anywhere. */
const runs = (word: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
    } catch {
      return false
    }
  })

test('what a server started goes with it, also what wanted to stay', async () => {
  const word = `6${process.pid}.5`
  {
    await using world = await open({ p: plain({ tools: [tool('echo')], grandchild: word }) })
    await world.runtime.mounts.refresh()
    expect(text(await world.call('mcp.p.echo', {}))).toBe('echo {}')
    expect(runs(word)).toBe(true)
  }
  while (runs(word)) await new Promise((resolve) => setTimeout(resolve, 20))
})

test('a grant leaves out the question of one tool, for one session, as it is defined now; nothing that acts on the screen, and no R3', async () => {
  const file = (base: string): string => join(base, 'tools', 'now.json')
  await using world = await openWorld({
    onDisk: true,
    beside: { 'tools/now.json': JSON.stringify([tool('send'), tool('other'), tool('screenshot')]) },
    config: (base: string) => ({
      mounts: { p: plain({ file: file(base) }, { risks: {}, reads: [join(base, 'tools')] }) },
    }),
  })
  await world.runtime.mounts.refresh()
  world.runtime.openSession({ id: 'sess_test', surface: 'mcp-stdio', client: 'test/1' })
  const asks = async (name: string, more: object = {}): Promise<string> =>
    (await world.fault(name, {}, { approvalWaitMs: 0, ...more })).code
  expect(await asks('mcp.p.send')).toBe('E_POLICY_VIOLATION')
  const allow = (...words: string[]) => runInside(world.project, ['grants', 'allow', 'tool', ...words])
  expect((await allow('mcp.p.screenshot', '--session', 'sess_test')).err).toContain('asked about each time')
  expect((await allow('write_to_file', '--session', 'sess_test')).code).not.toBe(0)
  expect((await allow('mcp.p.send', '--session', 'sess_test')).out).toContain('may call mcp.p.send')
  expect(text(await world.call('mcp.p.send', {}))).toBe('send {}')
  expect([await asks('mcp.p.other'), await asks('mcp.p.send', { session: 'sess_else' })]).toEqual([
    'E_POLICY_VIOLATION',
    'E_POLICY_VIOLATION',
  ])
  expect(await asks('mcp.p.send', { raisedRisk: 'R3' })).toBe('E_POLICY_VIOLATION')
  // Another definition is another tool, also once it was accepted.
  writeFileSync(file(world.base), JSON.stringify([tool('send', { description: 'to everybody' })]))
  await world.runtime.mounts.refresh()
  const [view] = world.runtime.mounts.list()
  const { foundDigest = '' } = view?.tools.find((one) => one.tool === 'send') ?? {}
  world.runtime.mounts.accept('p', [{ tool: 'send', digest: foundDigest }], 'me')
  expect(await asks('mcp.p.send')).toBe('E_POLICY_VIOLATION')
})

test('a plan that takes a picture of the screen has it among its evidence', async () => {
  await using world = await open({ p: plain({ tools: [tool('screenshot')] }) })
  await world.runtime.mounts.refresh()
  const origin = { surface: 'cli', client: 'test', session: 'plan-test' } as const
  world.runtime.openSession({ id: origin.session, surface: origin.surface, client: origin.client })
  const step = { step_id: 'look', tool_id: 'mcp.p.screenshot', description: '', params: {} }
  const plan = world.runtime.plans.save({ title: 'Look', source: 'person', steps: [step] })
  const stop = world.runtime.audit.subscribe({ events: (event) => event === 'approval.requested' }, (lines) => {
    for (const { approval = '' } of lines) world.runtime.approvals.decide(approval, { approve: true, by: 'me' })
  })
  const { run } = await world.runtime.plans.run(plan.plan_id, origin)
  expect((await (await world.runtime.runs()).wait(run.runId)).status).toBe('succeeded')
  stop()
  const { look } = await world.runtime.plans.results(run.runId)
  expect(look).toMatchObject({ ok: true })
  expect(look?.evidence_refs).toContainEqual(expect.stringMatching(/^screenshot:.*screen-1\.png$/))
})
