import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import { targetOf } from '../../src/host/mcp/target.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openMountedTools } from '../../src/stores/mounted-tools.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { signInWords } from '../../src/host/mcp/sign-in-words.ts'
import { runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

interface Asked {
  id?: number
  method?: string
  params?: { name?: string }
}

/** A server over HTTP that repeats whatever it is sent, in its answers and in its errors. */
async function repeating(tools: string[]): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body || '{}') as Asked
      const said = JSON.stringify({ ...request.headers, address: request.url })
      const answer = (value: object): void => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...value }))
      }
      if (id === undefined) return response.writeHead(202).end()
      const serverInfo = { name: 'repeating', version: '1' }
      if (method === 'initialize')
        return answer({ result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
      if (method === 'tools/list')
        return answer({ result: { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) } })
      if (method !== 'tools/call') return answer({ error: { code: -32601, message: 'Method not found' } })
      if (params?.name === 'ends' || params?.name === 'breaks') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\ndata: \n\n')
        return params.name === 'ends' ? response.end() : setImmediate(() => response.destroy())
      }
      if (params?.name === 'flood') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const news = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })
        return response.end(`data: ${news}\n\n`.repeat(10_000))
      }
      if (params?.name === 'status') return response.writeHead(500).end(said)
      if (params?.name === 'error') return answer({ error: { code: -32000, message: said } })
      const result = { content: [{ type: 'text', text: said }], structuredContent: { headers: { ...request.headers } } }
      return answer({ result: { ...result, ...(params?.name === 'wrong' && { isError: true }) } })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?key=in-the-address`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

test('what signs in at a mounted server comes back to no agent, however the server repeats it', async () => {
  const server = await repeating(['echo', 'wrong', 'error', 'status'])
  const headers = { Authorization: 'Bearer ${TRACKER}', 'X-Api-Key': 'sesame-of-the-header', 'X-Team': 'team-of-mine' }
  await using world = await openWorld({
    config: { mounts: { r: { url: server.url, headers, risks: { '*': 'R0' } } } },
    environment: () => ({ TRACKER: 'sesame-of-the-variable' }),
  })
  try {
    await world.runtime.mounts.refresh()
    const answers = [JSON.stringify(await world.call('mcp.r.echo', {}))]
    for (const name of ['wrong', 'error', 'status'])
      answers.push(JSON.stringify(errorBodyOf(await world.fault(`mcp.r.${name}`, {}))))
    for (const one of answers) {
      // It is the server's answer, without the words that are nobody's.
      expect(one).toContain('team-of-mine')
      expect(one).toContain('[secret]')
      expect(one).not.toMatch(/sesame|in-the-address/)
    }
  } finally {
    await server.close()
  }
})

test('a call whose answer ends, breaks off or is a flood before it is one ends with it: nobody waits until its time is over', async () => {
  const server = await repeating(['ends', 'breaks', 'flood', 'echo'])
  await using world = await openWorld({ config: { mounts: { r: { url: server.url, risks: { '*': 'R0' } } } } })
  try {
    await world.runtime.mounts.refresh()
    const said = async (name: string): Promise<string> => (await world.fault(`mcp.r.${name}`, {})).message
    expect(await said('ends')).toContain('it ended its answer without one')
    expect(await said('breaks')).toMatch(/broke off|ended its answer/)
    expect(await said('flood')).toContain('more than 2000 messages')
    expect(JSON.stringify(await world.call('mcp.r.echo', {}))).toContain('content')
  } finally {
    await server.close()
  }
})

test('of what a server is given only what signs in is kept back: a folder or a mode in its environment is in many honest answers', () => {
  const env = {
    ROOT: '/home/me/notes',
    NODE_ENV: 'production',
    API_KEY: 'key-of-eight',
    PIN_TOKEN: 'short',
    DB_PASSWORD: '${PW}',
  }
  expect(signInWords({ env }, { ...env, DB_PASSWORD: 'filled-in' })).toEqual(['key-of-eight', 'filled-in'])
})

test('an address with a password in it is refused before anybody is told of it', () => {
  const machine = { project: '/p', environment: {}, programs: undefined as never }
  for (const url of ['https://:hidden-word@example.org/mcp', 'https://me:hidden-word@example.org/mcp'])
    expect(() => targetOf('t', { url }, machine)).toThrow(/^The mount t has a name and password in its address/)
})

test('two tools whose names come out as one are both left out, and nobody’s project is closed by them', async () => {
  const mark = createHash('sha256').update('a.b').digest('hex').slice(0, 8)
  const server = await repeating(['a.b', `a_b_${mark}`, 'c'])
  await using world = await openWorld({ config: { mounts: { r: { url: server.url, risks: { '*': 'R0' } } } } })
  try {
    const [view] = await world.runtime.mounts.refresh()
    expect(view?.fault).toBeUndefined()
    expect(view?.tools.map(({ tool, wrong = '' }) => [tool, wrong.slice(0, 30)])).toEqual([
      ['a.b', 'another tool of this server wo'],
      [`a_b_${mark}`, 'another tool of this server wo'],
      ['c', ''],
    ])
    expect(JSON.stringify(await world.call('mcp.r.c', {}))).toContain('content')
    expect((await runInside(world.project, ['tools'])).code).toBe(0)
  } finally {
    await server.close()
  }
})

test('such a pair that was kept by a Handrail that did not look stands in nobody’s way either', async () => {
  const mark = createHash('sha256').update('a.b').digest('hex').slice(0, 8)
  await using world = await openWorld({ config: { mounts: { r: { url: 'http://127.0.0.1:1/mcp' } } } })
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  const definition = (name: string) => ({ name, inputSchema: { type: 'object' } })
  openMountedTools(db).saw(
    'r',
    ['a.b', `a_b_${mark}`, 'c'].map((name) => ({ definition: definition(name) })),
  )
  db.close()
  const { code, out } = await runInside(world.project, ['tools', '--json'])
  expect([code, [...out.matchAll(/mcp\.r\.\w+/g)].map(([name]) => name)]).toEqual([0, ['mcp.r.c']])
})
