import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { MountTarget } from '../../src/host/mcp/connection.ts'
import { boundedFetch } from '../../src/host/mcp/http-fetch.ts'
import { LineTransport } from '../../src/host/mcp/line-transport.ts'
import { targetOf } from '../../src/host/mcp/target.ts'
import { openWorld } from '../support/world.ts'

const programs = { find: () => undefined } as unknown as Parameters<typeof targetOf>[2]['programs']

test('a link of the project shows a mounted server nothing that the person did not name', () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-mounts-')))
  try {
    const project = join(base, 'project')
    for (const folder of ['project/tools', 'private']) mkdirSync(join(base, folder), { recursive: true })
    for (const file of ['private/package.json', 'private/letters.txt', 'project/tools/own.js'])
      writeFileSync(join(base, file), '')
    symlinkSync(join(base, 'private'), join(project, 'data'))
    symlinkSync(join(base, 'private/letters.txt'), join(project, 'tools/server.js'))
    symlinkSync(join(project, 'tools'), join(base, 'alias'))
    const target = (mount: object) =>
      targetOf('p', { command: 'node', ...mount }, { project, environment: {}, programs }) as Extract<
        MountTarget,
        { program: object }
      >
    expect(target({ args: [join(project, 'tools/server.js')] }).program.parts).toEqual([])
    expect(target({ args: [join(project, 'data/letters.txt')] }).program.parts).toEqual([])
    expect(target({ args: [join(project, 'tools/own.js')] }).program.parts).toEqual([join(project, 'tools/own.js')])
    expect(target({ args: [join(base, 'private/letters.txt')] }).program.parts).toEqual([join(base, 'private')])
    expect(() => target({ reads: [join(project, 'data')] })).toThrow('a link out of the project')
    expect(() => target({ writes: [join(project, 'data')] })).toThrow('a link out of the project')
    // A program of the project is none, by whichever name.
    for (const command of [join(project, 'tools/own.js'), join(base, 'alias/own.js')])
      expect(() => target({ command })).toThrow('not installed')
  } finally {
    rmSync(base, { recursive: true })
  }
})

test('the program of a server that the project’s own settings mount is a file that runs', async () => {
  const mounts = { p: { command: 'node', args: ['tools/server.js'], reads: ['.'], network: true } }
  await using world = await openWorld({
    flags: { 'approval-wait-ms': '0', 'write-requires-diff': 'false' },
    files: { 'tools/server.js': '1\n', 'tools/other.js': '1\n' },
    projectConfig: { mounts },
  })
  const write = (path: string) => world.call('write_to_file', { path, content: '2\n', dryRun: false })
  await write('tools/other.js')
  await expect(write('tools/server.js')).rejects.toMatchObject({ reason: 'needs-approval' })
  expect(world.read('tools/server.js')).toBe('1\n')
})

/** A transport to a server that says what it is told to. */
async function talking() {
  let say = (_text: string): void => undefined
  let end = (_why: string): void => undefined
  const gone = new Promise<string>((resolve) => (end = resolve))
  const stdin = new PassThrough()
  stdin.resume()
  const heard: unknown[] = []
  const transport = new LineTransport((onOutput) => {
    say = (text) => onOutput(Buffer.from(text))
    return Promise.resolve({ stdin, gone, end: (why: string) => Promise.resolve(end(why)) })
  })
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no other way
  transport.onmessage = (message) => void heard.push(message)
  await transport.start()
  return {
    transport,
    heard,
    say: (text: string) => say(text),
    ask: (id: number) => transport.send({ jsonrpc: '2.0', id, method: 'x' }),
  }
}

test('answers that nobody asked for are not read, and whoever floods with them is ended', async () => {
  const { transport, heard, say, ask } = await talking()
  await ask(1)
  const answer = (id: number): string => `${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`
  say(answer(1) + answer(1) + answer(7))
  expect([heard.length, transport.why]).toEqual([1, undefined])
  await ask(2)
  await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  say(answer(2))
  expect(heard.length).toBe(1)
  say(answer(9).repeat(2_000))
  expect([heard.length, transport.why]).toEqual([1, expect.stringContaining('nobody asked for')])
})

test('what nobody asked for is bounded in bytes, and a message with too much in it is no silence', async () => {
  const first = await talking()
  const large = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(15_000_000) } })}\n`
  for (let at = 0; at < 3; at++) first.say(large)
  expect([first.heard.length, first.transport.why]).toEqual([2, expect.stringContaining('bytes')])
  const second = await talking()
  await second.ask(1)
  second.say(`{"jsonrpc":"2.0","id":1,"result":{"content":[${'{},'.repeat(100_001)}{}]}}\n`)
  expect([second.heard.length, second.transport.why]).toEqual([0, expect.stringContaining('more in it than is read')])
})

test('over HTTP too, an answer with more in it than is read is refused before it is parsed; many small events are not', async () => {
  const many = `{"a":[${'{},'.repeat(100_001)}{}]}`
  const deep = `${'['.repeat(300)}${']'.repeat(300)}`
  const text = `{"text":"${'[,\\"'.repeat(60_000)}"}`
  const answers: Record<string, { type: string; body: string }> = {
    '/many': { type: 'application/json', body: many },
    '/deep': { type: 'application/json; charset=utf-8', body: deep },
    '/event': { type: 'text/event-stream', body: `event: message\ndata: ${many}\n\n` },
    '/text': { type: 'application/json', body: text },
    // As many values together as one message must not have.
    '/events': { type: 'text/event-stream', body: `id: "\ndata: {"a":[${'1,'.repeat(60)}1]}\n\n`.repeat(1_900) },
    '/crlf': { type: 'text/event-stream', body: `id: "\r\ndata: {"a":[${'1,'.repeat(60)}1]}\r\n\r\n`.repeat(1_900) },
    // A line may end in this sign alone: what it left open is no text for the next.
    '/half': { type: 'text/event-stream', body: `data: "\r\rdata: ${many}\r\r` },
    '/flood': { type: 'text/event-stream', body: 'data: {"a":1}\n\n'.repeat(2_001) },
    '/flood-cr': { type: 'text/event-stream', body: 'data: {"a":1}\r\r'.repeat(2_001) },
  }
  const server = createServer(({ url }, response) => {
    const { type, body } = answers[url ?? ''] ?? { type: 'text/plain', body: '' }
    response.setHeader('content-type', type).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const ask = boundedFetch(origin)
    const read = async (path: string): Promise<number> =>
      (await (await ask(`${origin}${path}`, { method: 'POST' })).text()).length
    for (const path of ['/many', '/deep', '/event', '/half'])
      await expect(read(path), path).rejects.toThrow('more in it than is read')
    for (const path of ['/flood', '/flood-cr']) await expect(read(path), path).rejects.toThrow('more than 2000 messages')
    for (const path of ['/text', '/events', '/crlf']) expect(await read(path), path).toBe(answers[path]?.body.length)
  } finally {
    server.close()
  }
})
