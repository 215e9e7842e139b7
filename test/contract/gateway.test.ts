import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { openGateway, turn, type Gateway } from '../support/gateway.ts'
import { proves } from '../support/proof.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'

// Seed 001, sentence by sentence, over real HTTP.

let gateway: Gateway

beforeAll(async () => {
  gateway = await openGateway({
    files: { 'docs/contracts.md': '# 契约\n', 'apps/gateway/keep.txt': '', 'bin.dat': Buffer.from([0, 255, 254]) },
    config: (base: string) => ({ roots: [`shelf=${base}/shelf`, `attic=${base}/attic`], gateway: { gatewayRoots: ['shelf'] } }),
    beside: { 'shelf/a.txt': 'on the shelf\n', 'attic/a.txt': 'in the attic\n' },
  })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const codeOf = async (name: string, input?: unknown): Promise<[number, string | undefined]> => {
  const { status, body } = await gateway.tool(name, input)
  return [status, body.error?.code]
}

proves('gateway.tools', 'each of the four is there, and no other', async () => {
  const { body } = await gateway.tool('list_files', { path: '.' })
  expect(body.error?.details?.['tools']).toEqual(['read_file', 'create_file', 'update_file', 'shell'])
})

proves('gateway.request', 'the example of the guide, as it stands there, and spread over the top level', async () => {
  const tool = { name: 'read_file', input: { path: 'docs/contracts.md' } }
  const { biz_params: _, ...rest } = turn(tool)
  for (const body of [turn(tool), { ...rest, tool }]) {
    const response = await gateway.send('/agent/process', { body })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ reply: '# 契约\n', tool_result: { ok: true, content: '# 契约\n' } })
  }
  for (const name of ['session_id', 'user_id', 'channel'])
    for (const value of [undefined, '', 7]) {
      const response = await gateway.send('/agent/process', { body: turn(tool, { [name]: value }) })
      expect([name, value, response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
        name,
        value,
        400,
        'invalid_request',
      ])
    }
})

proves('gateway.tool-name', 'no tool of ours by another name, and none that only a language has', async () => {
  for (const name of ['write_to_file', 'undo', 'constructor', '__proto__', 'toString', 'read_file2'])
    expect([name, ...(await codeOf(name, { path: 'docs/contracts.md' }))]).toEqual([name, 404, 'tool_not_found'])
  expect((await gateway.tool(' Read_File ', { path: 'docs/contracts.md' })).status).toBe(200)
  for (const tool of ['read_file', [], 7, { input: {} }, { name: null }, { name: 7 }, { name: '  ' }]) {
    const response = await gateway.send('/agent/process', { body: turn(tool) })
    expect([tool, response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      tool,
      400,
      'invalid_tool_input',
    ])
  }
})

proves('gateway.tool-input', 'an object; none is an empty one', async () => {
  for (const input of [[], 'docs', 7, true])
    expect([input, ...(await codeOf('read_file', input))]).toEqual([input, 400, 'invalid_tool_input'])
  expect(await codeOf('read_file', null)).toEqual([400, 'invalid_tool_input'])
})

proves('gateway.read', 'the shape of the guide; a large file is cut at a character, with its true size', async () => {
  const { body } = await gateway.tool('read_file', { path: 'docs/contracts.md' })
  expect(body.tool_result).toEqual({
    ok: true,
    path: 'docs/contracts.md',
    size: 9,
    truncated: false,
    content: '# 契约\n',
    text: '# 契约\n',
  })
  gateway.world.write('large.txt', `xx${'海'.repeat(30_000)}`)
  const large = (await gateway.tool('read_file', { path: 'large.txt' })).body.tool_result
  expect(large).toMatchObject({ ok: true, size: 90_002, truncated: true })
  // 65,536 bytes end in the middle of a character.
  expect(large?.['content']).toBe(`xx${'海'.repeat(21_844)}`)
  expect(large?.text).toBe(`xx${'海'.repeat(21_844)}\n[truncated: the file has 90002 bytes]`)
  expect((await gateway.tool('read_file', { path: 'large.txt', max_bytes: 100_000 })).body.tool_result).toMatchObject({
    truncated: false,
  })
})

proves('gateway.create', 'the shape of the guide, with folders where they are missing, and never over a file', async () => {
  const { status, body } = await gateway.tool('create_file', { path: 'new/deep/a.txt', content: '海\n' })
  expect([status, body.tool_result]).toEqual([
    200,
    {
      ok: true,
      path: 'new/deep/a.txt',
      size: 4,
      text: 'created new/deep/a.txt (4 bytes)',
      snapshot_id: expect.stringMatching(/^snap_/) as string,
    },
  ])
  expect(await codeOf('create_file', { path: 'new/deep/a.txt', content: 'other\n' })).toEqual([409, 'tool_conflict'])
  expect(gateway.world.read('new/deep/a.txt')).toBe('海\n')
  expect(await codeOf('create_file', { path: 'new/deep', content: 'a folder is in the way\n' })).toEqual([409, 'tool_conflict'])
})

proves('gateway.update', 'the shape of the guide, both modes, and only what is there', async () => {
  gateway.world.write('b.txt', 'one\n')
  expect((await gateway.tool('update_file', { path: 'b.txt', content: 'two\n' })).body.tool_result).toMatchObject({
    ok: true,
    path: 'b.txt',
    mode: 'overwrite',
    size: 4,
    text: 'updated b.txt with mode=overwrite',
  })
  expect(
    (await gateway.tool('update_file', { path: 'b.txt', content: 'three\n', mode: 'append' })).body.tool_result,
  ).toMatchObject({
    mode: 'append',
    size: 10,
    text: 'updated b.txt with mode=append',
  })
  expect(gateway.world.read('b.txt')).toBe('two\nthree\n')
  expect(await codeOf('update_file', { path: 'b.txt', content: '', mode: 'prepend' })).toEqual([400, 'invalid_tool_input'])
  expect(await codeOf('update_file', { path: 'none.txt', content: 'x' })).toEqual([404, 'tool_not_found'])
  expect(existsSync(gateway.world.path('none.txt'))).toBe(false)
})

proves('gateway.invalid-tool-input', 'missing, wrong and unknown fields; the kernel’s own fields among them', async () => {
  for (const [name, input] of [
    ['read_file', {}],
    ['read_file', { path: 7 }],
    ['read_file', { path: 'a', cut: false }],
    ['create_file', { path: 'x.txt' }],
    ['create_file', { path: 'x.txt', content: 'x', dryRun: true }],
    ['update_file', { path: 'b.txt', content: 'x', mustExist: false }],
    ['update_file', { path: 'b.txt', content: 'x', idempotencyKey: 'k' }],
    ['shell', { command: 'true', network: true }],
  ] as const)
    expect([name, input, ...(await codeOf(name, input))]).toEqual([name, input, 400, 'invalid_tool_input'])
  expect(existsSync(gateway.world.path('x.txt'))).toBe(false)
})

proves('gateway.forbidden-path', 'outside, or out of reach', async () => {
  for (const path of ['/etc/passwd', '../x', '.git/config', '.env', join(gateway.world.base, 'x')])
    expect([path, ...(await codeOf('read_file', { path }))]).toEqual([path, 403, 'tool_forbidden_path'])
})

proves('gateway.not-found', 'no such tool, no such file', async () => {
  expect(await codeOf('no_such', {})).toEqual([404, 'tool_not_found'])
  expect(await codeOf('read_file', { path: 'none.txt' })).toEqual([404, 'tool_not_found'])
})

proves('gateway.conflict', 'creating what is there', async () => {
  expect(await codeOf('create_file', { path: 'docs/contracts.md', content: '' })).toEqual([409, 'tool_conflict'])
})

proves('gateway.tool-error', 'what is no text', async () => {
  expect(await codeOf('read_file', { path: 'bin.dat' })).toEqual([500, 'tool_error'])
  expect(await codeOf('read_file', { path: 'docs' })).toEqual([500, 'tool_error'])
})

proves('gateway.disabled', 'shell is off unless somebody switched it on; so is what a person switches off', async () => {
  expect(await codeOf('shell', { command: 'pwd' })).toEqual([403, 'tool_disabled'])
  await using off = await openGateway({ files: { 'a.txt': '' }, flags: { 'disabled-tools': 'write_to_file' } })
  const { status, body } = await off.tool('update_file', { path: 'a.txt', content: 'x' })
  expect([status, body.error?.code, off.world.read('a.txt')]).toEqual([403, 'tool_disabled', ''])
})

proves('gateway.paths', 'a file of the project by both', async () => {
  for (const path of ['docs/contracts.md', './docs//contracts.md', gateway.world.path('docs/contracts.md')])
    expect((await gateway.tool('read_file', { path })).body.tool_result).toMatchObject({ ok: true, path, content: '# 契约\n' })
  const path = gateway.world.path('abs.txt')
  expect((await gateway.tool('create_file', { path, content: 'x' })).body.tool_result).toMatchObject({ ok: true, path })
  expect(gateway.world.read('abs.txt')).toBe('x')
})

proves('gateway.climbing', 'in every spelling, also where it would come back in', async () => {
  for (const path of [
    '../project/b.txt',
    'docs/../b.txt',
    `${gateway.world.project}/docs/../b.txt`,
    'docs/..',
    '%2e%2e/x',
    '．．/x',
  ])
    expect([path, ...(await codeOf('read_file', { path }))]).toEqual([path, 403, 'tool_forbidden_path'])
})

proves('gateway.roots', 'the project without a setting; further folders by name, with undo and log', async () => {
  const { world } = gateway
  const path = join(world.base, 'shelf', 'a.txt')
  expect((await gateway.tool('read_file', { path })).body.tool_result).toMatchObject({ content: 'on the shelf\n' })
  expect((await gateway.tool('update_file', { path, content: 'moved\n' })).body.tool_result).toMatchObject({ ok: true, path })
  const end = world.runtime.audit.last(1, ({ event, tool }) => event === 'call.end' && tool === 'write_to_file')[0]
  expect(end).toMatchObject({ surface: 'gateway', client: 'u1@console', outcome: 'ok' })
  const person = { surface: 'cli', client: 'person', session: 'sess_person', role: 'person' } as const
  await world.runtime.call('undo', { call: end?.call, dryRun: false }, person)
  expect(readFileSync(path, 'utf8')).toBe('on the shelf\n')
  // A root that the person named, but not for the gateway.
  expect(await codeOf('read_file', { path: join(world.base, 'attic', 'a.txt') })).toEqual([403, 'tool_forbidden_path'])
})

const listed = ['/bin', '/sbin', '/usr', '/lib', '/lib64', '/etc', '/proc', '/sys', '/dev', '/boot', '/run', '/var/run']

const acts = ['read_file', 'create_file', 'update_file']
const below = draws('acts on folders of the system')

/** In each of the three acts in a soak; else in one of them, each in its turn. */
async function isForbidden(path: string, at: number): Promise<void> {
  for (const name of isSoak ? acts : [acts[at % acts.length] as string])
    expect([path, name, ...(await codeOf(name, { path, ...(name !== 'read_file' && { content: 'x' }) }))]).toEqual([
      path,
      name,
      403,
      'tool_forbidden_path',
    ])
}

proves('gateway.system-folders', 'none of the twelve, neither itself nor anything in it', async () => {
  for (const [at, folder] of listed.entries())
    for (const [spelling, path] of [folder, `${folder}/`, `${folder}/x`].entries()) await isForbidden(path, at + spelling)
})

proves('gateway.links', 'a link to any of them, to a file in one, and a chain of links', async () => {
  const { world } = gateway
  mkdirSync(world.path('links'))
  listed.forEach((folder, at) => symlinkSync(folder, world.path(`links/${at}`)))
  symlinkSync('/etc/hostname', world.path('links/file'))
  symlinkSync('file', world.path('links/chain'))
  let turns = below(3)
  for (const path of [
    ...listed.flatMap((_, at) => [`links/${at}`, `links/${at}/hostname`]),
    ...['links/file', 'links/chain'].flatMap((path) => [path, path, path]),
  ])
    await isForbidden(path, turns++)
})
