import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import type { AuditVerdict } from '../../src/contracts/audit.ts'
import { ToolError } from '../../src/contracts/errors.ts'
import { cleanEnv, openStdio, openWorld, program, runCli, type World } from '../support/world.ts'

const noDiff = { 'write-requires-diff': 'false', 'approval-wait-ms': '0' }
const newCanary = (): string => `CANARY${randomBytes(12).toString('hex')}`
const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'], { stdio: 'ignore' }).status === 0

const state = (world: World, name: string): string => world.state(name)
/** The head of the log, kept apart from it. */
const apart = (world: World): string => {
  const folder = join(world.base, 'state', 'handrail', 'heads')
  return join(folder, readdirSync(folder)[0] ?? '')
}
const auditText = (world: World): string => {
  world.runtime.audit.verify()
  return readFileSync(state(world, 'audit.jsonl'), 'utf8')
}
const write = (
  world: World,
  path: string,
  content: string,
  more: Record<string, unknown> = {},
): Promise<{ snapshotId: string }> => world.call('write_to_file', { path, content, dryRun: false, ...more })
const codeOf = async (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => 'ok',
    (thrown: unknown) => {
      if (thrown instanceof ToolError) return thrown.code
      throw thrown
    },
  )

// N: snapshots and idempotency

test('N01 snapshot ids that climb, that are cut short, that come from another project', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await using other = await openWorld({ files: { 'a.txt': 'CANARY\n' }, flags: noDiff })
  const { snapshotId } = await write(world, 'a.txt', 'two\n')
  const { snapshotId: foreign } = await write(other, 'a.txt', 'CANARY two\n')
  writeFileSync(join(world.base, 'x.txt'), 'CANARY\n')
  writeFileSync(join(world.base, 'x.meta.json'), '{}')
  const bad = [
    '../../../x',
    '../../x',
    `../snapshots/${snapshotId}`,
    `${snapshotId}/../${snapshotId}`,
    `${snapshotId}\n`,
    ` ${snapshotId}`,
    `${snapshotId}.txt`,
    snapshotId.toUpperCase(),
    snapshotId.slice(0, -1),
    `${snapshotId}\0`,
    'snap_２０２５１１０１T093210_ab12cd34',
    '%',
    '',
  ]
  for (const id of bad) expect([id, await codeOf(world.call('restore_snapshot', { snapshotId: id }))]).toEqual([id, 'E_BAD_ARGS'])
  for (const id of [foreign, 'snap_20251101T093210_ab12cd34'])
    expect([id, await codeOf(world.call('restore_snapshot', { snapshotId: id }))]).toEqual([id, 'E_NOT_FOUND'])
  for (const id of [...bad.slice(0, 5), foreign])
    expect([id, await codeOf(world.call('undo', { snapshot: id, dryRun: false }, { role: 'person' }))]).toEqual([
      id,
      'E_NOT_FOUND',
    ])
  expect(world.read('a.txt')).toBe('two\n')
})

/** A kept state whose files are then tampered with. */
async function tampered(
  change: (world: World, id: string, outside: string) => void,
): Promise<{ code: string; listed: boolean; leaked: boolean }> {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  const outside = join(world.base, 'secret.txt')
  const canary = newCanary()
  writeFileSync(outside, `${canary}\n`)
  const { snapshotId } = await write(world, 'a.txt', 'two\n')
  change(world, snapshotId, outside)
  let code = 'ok'
  let reply = ''
  try {
    reply = JSON.stringify(await world.call('restore_snapshot', { snapshotId }))
  } catch (thrown) {
    code = (thrown as ToolError).code
    reply = JSON.stringify((thrown as ToolError).toBody())
  }
  const { snapshots } = await world.call<{ snapshots: { id: string }[] }>('list_snapshots', {})
  expect(readFileSync(outside, 'utf8')).toBe(`${canary}\n`)
  return { code, listed: snapshots.some((one) => one.id === snapshotId), leaked: reply.includes(canary) }
}

const editMeta = (world: World, id: string, change: Record<string, unknown>): void => {
  const file = state(world, `snapshots/${id}.meta.json`)
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...change }))
}

test('N02 a tampered description or content is noticed, never followed', async () => {
  expect(await tampered((world, id) => editMeta(world, id, { path: '../../secret.txt' }))).toMatchObject({
    code: 'E_PARSE_FAIL',
    leaked: false,
  })
  expect(await tampered((world, id) => editMeta(world, id, { path: 'other.txt' }))).toMatchObject({ code: 'E_PARSE_FAIL' })
  expect(await tampered((world, id) => editMeta(world, id, { sha256: '0'.repeat(64) }))).toMatchObject({ code: 'E_PARSE_FAIL' })
  expect(await tampered((world, id) => writeFileSync(state(world, `snapshots/${id}.meta.json`), '{"id":'))).toEqual({
    code: 'E_PARSE_FAIL',
    listed: false,
    leaked: false,
  })
  expect(await tampered((world, id) => writeFileSync(state(world, `snapshots/${id}.txt`), 'forged\n'))).toMatchObject({
    code: 'E_PARSE_FAIL',
  })
  expect(await tampered((world, id) => rmSync(state(world, `snapshots/${id}.txt`)))).toEqual({
    code: 'E_NOT_FOUND',
    listed: false,
    leaked: false,
  })
  expect(await tampered((world, id) => rmSync(state(world, `snapshots/${id}.meta.json`)))).toEqual({
    code: 'E_NOT_FOUND',
    listed: false,
    leaked: false,
  })
})

test('N02 a link in place of a kept content is not followed', async () => {
  const end = await tampered((world, id, outside) => {
    rmSync(state(world, `snapshots/${id}.txt`))
    symlinkSync(outside, state(world, `snapshots/${id}.txt`))
  })
  expect(end.leaked).toBe(false)
  // The contract calls a failing disk E_INTERNAL here.
  expect(end.code).toMatch(/^(E_INTERNAL|E_IO|E_PARSE_FAIL|E_NOT_FOUND)$/)
})

test('N02 with the index lost, a tampered path still leads nowhere', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  const outside = join(world.base, 'secret.txt')
  writeFileSync(outside, 'secret\n')
  const { snapshotId } = await write(world, 'a.txt', 'two\n')
  await world.runtime.close()
  for (const name of readdirSync(state(world, ''))) if (name.startsWith('handrail.db')) rmSync(state(world, name))
  editMeta(world, snapshotId, { path: '../secret.txt' })
  await world.reopen()
  expect(await codeOf(world.call('restore_snapshot', { snapshotId }))).toBe('E_DENY_PATH')
  expect(await codeOf(world.call('undo', { snapshot: snapshotId, dryRun: false }, { role: 'person' }))).toBe('E_DENY_PATH')
  expect(readFileSync(outside, 'utf8')).toBe('secret\n')
})

test('N03 the snapshots folder replaced by a link: refused at the start, not followed during the run', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  const outside = join(world.base, 'outside')
  mkdirSync(outside)
  const swap = (): void => {
    renameSync(state(world, 'snapshots'), state(world, 'snapshots-real'))
    symlinkSync(outside, state(world, 'snapshots'))
  }
  const swapBack = (): void => {
    rmSync(state(world, 'snapshots'))
    renameSync(state(world, 'snapshots-real'), state(world, 'snapshots'))
  }
  swap()
  expect(await codeOf(write(world, 'a.txt', 'two\n'))).toMatch(/^(ok|E_IO)$/)
  expect(readdirSync(outside)).toEqual([])
  swapBack()
  await world.runtime.close()
  swap()
  const { code, err } = await runCli(world.project, ['snapshots', '--json'])
  expect([code, (JSON.parse(err) as { error: { code: string } }).error.code]).toEqual([1, 'E_IO'])
  expect(readdirSync(outside)).toEqual([])
  swapBack()
  await world.reopen()
})

const ownFiles = ['handrail.db', 'handrail.db-wal', 'locks/project.db', 'locks/audit.db', 'audit.jsonl', 'audit.head', 'token']
for (const name of ownFiles)
  test(`N03 a link in place of ${name} in the state folder does not make Handrail write outside`, async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    await world.runtime.close()
    const manifest = readFileSync(state(world, 'manifest.json'))
    const outside = join(world.base, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'kept'), '')
    const run = async (): Promise<void> => {
      const { err } = await runCli(world.project, [
        'call',
        'write_to_file',
        '{"path":"a.txt","content":"two\\n","dryRun":true}',
        '--json',
      ])
      if (err) expect((JSON.parse(err) as { error: { code: string } }).error.code).toBe('E_IO')
    }
    for (const target of ['made', 'kept']) {
      rmSync(state(world, ''), { recursive: true })
      mkdirSync(dirname(state(world, name)), { recursive: true })
      writeFileSync(state(world, 'manifest.json'), manifest)
      symlinkSync(join(outside, target), state(world, name))
      await run()
      expect([target, readdirSync(outside)]).toEqual([target, ['kept']])
      expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('')
    }
    rmSync(state(world, ''), { recursive: true })
    await world.reopen()
  })

test('N03 the state folder itself a link: refused', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.runtime.close()
  const outside = join(world.base, 'outside')
  mkdirSync(outside)
  rmSync(state(world, ''), { recursive: true })
  symlinkSync(outside, dirname(state(world, 'x')))
  const { code, err } = await runCli(world.project, ['snapshots', '--json'])
  expect([code, (JSON.parse(err) as { error: { code: string } }).error.code]).toEqual([1, 'E_IO'])
  expect(readdirSync(outside)).toEqual([])
  rmSync(dirname(state(world, 'x')))
  await world.reopen()
})

test('N04 the same key with other content is E_CONFLICT, not a silent success', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  const first = await write(world, 'a.txt', 'two\n', { idempotencyKey: 'k' })
  expect(await write(world, 'a.txt', 'two\n', { idempotencyKey: 'k' })).toEqual(first)
  expect(await codeOf(write(world, 'a.txt', 'three\n', { idempotencyKey: 'k' }))).toBe('E_CONFLICT')
  expect(await codeOf(write(world, 'a.txt', 'two\n', { idempotencyKey: 'k', mode: 'append' }))).toBe('E_CONFLICT')
  expect(world.read('a.txt')).toBe('two\n')
})

test('N05 the same key for another file is E_CONFLICT, and the file is not made', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n', { idempotencyKey: 'k' })
  expect(await codeOf(write(world, 'b.txt', 'two\n', { idempotencyKey: 'k' }))).toBe('E_CONFLICT')
  expect(existsSync(world.path('b.txt'))).toBe(false)
  expect(await codeOf(write(world, 'b.txt', 'two\n', { idempotencyKey: 'K' }))).toBe('ok')
})

test('N06 a key of 1 MB is E_BAD_ARGS, and neither stored nor logged', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  for (const idempotencyKey of ['k'.repeat(1 << 20), 'k'.repeat(257), ''])
    expect(await codeOf(write(world, 'a.txt', 'two\n', { idempotencyKey }))).toBe('E_BAD_ARGS')
  expect(auditText(world).length).toBeLessThan(20_000)
  expect(world.read('a.txt')).toBe('one\n')
})

test('N07 a replay after a restart gives the same answer and writes nothing; after its time the key is free', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: { ...noDiff, 'idempotency-ttl-ms': '60000' } })
  const first = await write(world, 'a.txt', 'two\n', { idempotencyKey: 'k' })
  await world.reopen()
  world.write('a.txt', 'by hand\n')
  expect(await write(world, 'a.txt', 'two\n', { idempotencyKey: 'k' })).toEqual(first)
  expect(world.read('a.txt')).toBe('by hand\n')
  expect(await codeOf(write(world, 'a.txt', 'three\n', { idempotencyKey: 'k' }))).toBe('E_CONFLICT')
  expect(world.runtime.audit.last(10).filter((line) => line.outcome === 'replayed')).toHaveLength(1)
  await world.reopen({ 'idempotency-ttl-ms': '1000' })
  await pause(1_100)
  expect(await codeOf(write(world, 'a.txt', 'three\n', { idempotencyKey: 'k' }))).toBe('ok')
  expect(world.read('a.txt')).toBe('three\n')
})

test('N08 equal calls in flight, in one process and in two: one write, one answer', async () => {
  await using world = await openWorld({ files: { 'log.txt': '' }, flags: noDiff })
  await using peer = await openStdio(world.project, { args: ['--write-requires-diff', 'false'] })
  for (let round = 0; round < 10; round++) {
    const input = { path: 'log.txt', content: `${round}\n`, mode: 'append', dryRun: false, idempotencyKey: `key-${round}` }
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => world.call('write_to_file', input)),
      ...Array.from({ length: 5 }, () => peer.call('write_to_file', input)),
    ])
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  }
  expect(world.read('log.txt')).toBe(Array.from({ length: 10 }, (_, round) => `${round}\n`).join(''))
})

// G: approvals

const pending = (world: World): string[] => world.runtime.approvals.list('pending').map((approval) => approval.id)
const approve = (world: World, id: string | undefined, approve = true, note?: string): void =>
  void world.runtime.approvals.decide(id as string, { approve, by: 'test', ...(note !== undefined && { note }) })

test('G01 approve A, run B: an approval is for one exact call', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n', Makefile: 'all:\n' }, flags: noDiff })
  expect(await codeOf(write(world, 'package.json', '{"a":1}\n'))).toBe('E_POLICY_VIOLATION')
  approve(world, pending(world)[0])
  for (const [path, content, more] of [
    ['package.json', '{"b":1}\n', {}],
    ['Makefile', '{"a":1}\n', {}],
    ['package.json', '{"a":1}\n', { mode: 'append' }],
    ['package.json', '{"a":1}', {}],
    ['sub/package.json', '{"a":1}\n', {}],
  ] as const)
    expect([path, content, await codeOf(write(world, path, content, more))]).toEqual([path, content, 'E_POLICY_VIOLATION'])
  expect(await codeOf(world.call('replace_in_file', { path: 'package.json', find: '{}', replace: '{"a":1}' }))).toBe(
    'E_POLICY_VIOLATION',
  )
  expect(world.read('package.json')).toBe('{}\n')
  expect(await codeOf(write(world, 'package.json', '{"a":1}\n'))).toBe('ok')
})

test('G01 approve, then the file changes: E_CONFLICT, and the approval is void', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: noDiff })
  await codeOf(write(world, 'package.json', '{"a":1}\n'))
  const [id] = pending(world)
  approve(world, id)
  world.write('package.json', '{"changed":true}\n')
  expect(await codeOf(write(world, 'package.json', '{"a":1}\n'))).toBe('E_CONFLICT')
  world.write('package.json', '{}\n')
  expect(await codeOf(write(world, 'package.json', '{"a":1}\n'))).toBe('E_POLICY_VIOLATION')
  expect(world.runtime.approvals.get(id as string)?.state).toBe('void')
  expect(world.read('package.json')).toBe('{}\n')
})

test('G02 an approval counts once, also for ten equal calls at the same moment', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: noDiff })
  const ask = (): Promise<string> => codeOf(write(world, 'package.json', 'x\n', { mode: 'append' }))
  await ask()
  approve(world, pending(world)[0])
  const codes = await Promise.all(Array.from({ length: 10 }, ask))
  expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
  expect(world.read('package.json')).toBe('{}\nx\n')
  world.write('package.json', '{}\n')
  expect(await ask()).toBe('E_POLICY_VIOLATION')
  expect(world.read('package.json')).toBe('{}\n')
})

test('G02 a decision is final, and a no is a no: with its words, for the whole session, across a restart', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: noDiff })
  await codeOf(write(world, 'package.json', 'x\n'))
  const [id] = pending(world)
  approve(world, id, false, 'use the test script')
  expect(() => approve(world, id)).toThrow(/already denied/)
  await world.reopen()
  const fault = await world.fault('write_to_file', { path: 'package.json', content: 'x\n', dryRun: false })
  expect([fault.code, fault.message]).toEqual(['E_POLICY_VIOLATION', expect.stringContaining('use the test script')])
  expect(world.read('package.json')).toBe('{}\n')
})

test('G03 an expired question is a no, and an expired yes no longer counts', async () => {
  await using world = await openWorld({
    files: { 'package.json': '{}\n', Makefile: 'all:\n' },
    flags: { ...noDiff, 'approval-ttl-ms': '1000' },
  })
  await codeOf(write(world, 'package.json', 'x\n'))
  await codeOf(write(world, 'Makefile', 'x\n'))
  const [second, first] = pending(world)
  approve(world, first)
  await pause(1_200)
  expect(() => approve(world, second)).toThrow(/already expired/)
  expect(await codeOf(write(world, 'package.json', 'x\n'))).toBe('E_POLICY_VIOLATION')
  expect(await codeOf(write(world, 'Makefile', 'x\n'))).toBe('E_POLICY_VIOLATION')
  expect([world.read('package.json'), world.read('Makefile')]).toEqual(['{}\n', 'all:\n'])
})

test('G05 the policy cannot be edited through the tools, nor loosened by what they write', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'one\n' },
    config: { policies: { writeRequiresDiff: false } },
    projectConfig: { policies: { askFrom: 'R1' } },
    flags: { 'approval-wait-ms': '0' },
  })
  const kept = world.read('handrail.config.json')
  for (const path of [
    'handrail.config.json',
    './handrail.config.json',
    'HANDRAIL.CONFIG.JSON',
    'handrail.config.json.',
    '.handrail/handrail.db',
  ]) {
    expect([path, await codeOf(write(world, path, '{}'))]).toEqual([path, 'E_DENY_PATH'])
    expect([path, await codeOf(world.call('replace_in_file', { path, find: 'R1', replace: 'R2' }))]).toEqual([
      path,
      'E_DENY_PATH',
    ])
  }
  expect(await codeOf(write(world, 'a.txt', 'two\n'))).toBe('E_POLICY_VIOLATION')
  expect(await codeOf(write(world, 'sub/new.json', kept))).toBe('E_POLICY_VIOLATION')
  expect(world.read('handrail.config.json')).toBe(kept)
  expect(world.read('a.txt')).toBe('one\n')
})

/** What a person is shown of a change that waits. */
async function shown(before: string, after: string, client = 'test/1'): Promise<string> {
  await using world = await openWorld({ files: { Makefile: before }, flags: noDiff })
  await codeOf(world.call('write_to_file', { path: 'Makefile', content: after, dryRun: false }, { client }))
  const { out, code } = await runCli(world.project, ['approvals', 'show', pending(world)[0] as string])
  expect(code).toBe(0)
  return out
}

/** Characters a terminal obeys, or does not show, other than the end of a line and a tab. */
const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u

test('G07 what a change adds is shown, not obeyed: ANSI, overwriting, bidi, invisible characters', async () => {
  const tricks = {
    ansi: '\u001b[2K\u001b[1A',
    c1: '\u009b2K',
    overwrite: 'evil\rfine',
    backspace: 'evil\b\b\b\b',
    rlo: '\u202elive',
    isolate: '\u2066x\u2069',
    alm: '\u061c',
    zero: 'ev\u200bil',
    joiner: '\u2060',
    hyphen: 'ev\u00adil',
    tags: '\u{e0065}\u{e0076}',
    selector: 'a\ufe0f',
    filler: '\u3164',
    line: '\u2028',
  }
  const out = await shown(
    'all:\n',
    `all:\n${Object.entries(tricks)
      .map(([name, trick]) => `\t${name} ${trick} end`)
      .join('\n')}\n`,
  )
  for (const name of Object.keys(tricks)) expect(out).toContain(`${name} `)
  const passed = Object.entries(tricks).filter(([name]) =>
    unseen.test(out.split('\n').find((line) => line.includes(`${name} `)) ?? ''),
  )
  expect(passed.map(([name]) => name)).toEqual([])
})

test('G07 a very long line does not push a change out of sight', async () => {
  const out = await shown('all:\n', `all:\n\techo fine${' '.repeat(20_000)}; PAYLOAD\n`)
  expect(out).toContain('PAYLOAD')
})

test('G07 a change behind very many others is shown, or said to be there', async () => {
  const lines = (name: string, count: number): string => Array.from({ length: count }, (_, index) => `${name}${index}`).join('\n')
  for (const size of [99, 100, 101, 150, 400]) {
    const out = await shown(`${lines('old', size)}\nsame\nlast\n`, `${lines('new', size)}\nsame\nPAYLOAD\n`)
    expect([size, out.includes('PAYLOAD') || /\d+ more lines/.test(out)]).toEqual([size, true])
  }
})

test('G07 the name a client gives itself cannot forge lines of the card', async () => {
  const out = await shown('all:\n', 'all:\n\tPAYLOAD\n', 'nice/1\n\nMakefile\n+ harmless\u001b[8m')
  expect(out.split('\n').filter((line) => /^(\+ harmless|Makefile: modified)/.test(line))).toEqual([
    expect.stringMatching(/^Makefile: modified; [^+]*$/) as string,
  ])
  expect(out).not.toMatch(unseen)
})

test('G08 an agent cannot use what is for a person: undo, over any surface, and no argument makes it one', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  for (const input of [
    { last: true, dryRun: false },
    { last: true, dryRun: true },
    { last: true, dryRun: false, role: 'person' },
  ])
    expect(await codeOf(world.call('undo', input))).toBe('E_UNSUPPORTED')
  expect(world.runtime.tools.map((tool) => tool.name)).not.toContain('undo')
  await using peer = await openStdio(world.project)
  const { tools } = await peer.client.listTools()
  expect(tools.filter((tool) => /undo|approv|decide|config|setting/i.test(tool.name))).toEqual([])
  await expect(peer.client.callTool({ name: 'undo', arguments: { last: true, dryRun: false } })).rejects.toThrow()
  const { code, err } = await runCli(world.project, ['call', 'undo', '{"last":true,"dryRun":false}', '--json'])
  expect([code, (JSON.parse(err) as { error: { code: string } }).error.code]).toEqual([1, 'E_UNSUPPORTED'])
  expect(world.read('a.txt')).toBe('two\n')
})

test('G08 an agent cannot answer its own question: no tool reaches it, over stdio it waits until a person does', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: noDiff })
  await using peer = await openStdio(world.project, { args: ['--write-requires-diff', 'false', '--approval-wait-ms', '0'] })
  const input = { path: 'package.json', content: '{"x":1}\n', dryRun: false }
  const first = await peer.call('write_to_file', input)
  expect(first.error?.code).toBe('E_POLICY_VIOLATION')
  const id = first.error?.details?.['approvalId'] as string
  for (const extra of [{ approvalId: id }, { approved: true }, { approval: { approve: true } }])
    expect((await peer.call('write_to_file', { ...input, ...extra })).error?.code).toBe('E_BAD_ARGS')
  expect((await peer.call('write_to_file', input)).error?.details?.['approvalId']).toBe(id)
  expect(world.read('package.json')).toBe('{}\n')
  expect((await runCli(world.project, ['approvals', 'approve', id])).code).toBe(0)
  expect((await peer.call('write_to_file', input))['applied']).toBe(true)
})

// U: the log

/** A log of a dozen lines, closed; each way of tampering starts from the same bytes. */
async function openLog(): Promise<{ world: World; lines: string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  for (let round = 0; round < 4; round++) {
    await write(world, 'a.txt', `${round}\n`)
    await world.call('read_file', { path: 'a.txt' })
  }
  await world.runtime.close()
  const lines = readFileSync(state(world, 'audit.jsonl'), 'utf8').split('\n').slice(0, -1)
  expect(lines.length).toBeGreaterThanOrEqual(12)
  return {
    world,
    lines,
    async [Symbol.asyncDispose]() {
      writeFileSync(state(world, 'audit.jsonl'), whole(lines))
      await world.reopen()
      await world[Symbol.asyncDispose]()
    },
  }
}

const whole = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

/** What a forger writes who knows how the chain is made. */
function forge(line: string, change: Record<string, unknown>): string {
  const { hash: _, prev, ...rest } = JSON.parse(line) as Record<string, unknown>
  const body = JSON.stringify({ ...rest, prev, ...change })
  return `${body.slice(0, -1)},"hash":"${createHash('sha256').update(body).digest('hex')}"}`
}

const hashOf = (line: string): string => (JSON.parse(line) as { hash: string }).hash
const prevOf = (line: string): string => (JSON.parse(line) as { prev: string }).prev

/** Every way of tampering, with the line that must be named. */
function tamperings(lines: readonly string[]): Record<string, [text: string | Buffer, line: number]> {
  const count = lines.length
  const middle = 6
  const at = lines[middle - 1] as string
  const last = lines.at(-1) as string
  const flipped = Buffer.from(whole(lines))
  const place = Buffer.byteLength(whole(lines.slice(0, middle - 1))) + 40
  flipped[place] = (flipped[place] as number) ^ 1
  const next = forge(last, { seq: count + 1, prev: hashOf(last) })
  let prev = prevOf(at)
  const rechained = lines.slice(middle - 1).map((line, index) => {
    const forged = forge(line, { prev, ...(index === 0 && { client: 'somebody else' }) })
    prev = hashOf(forged)
    return forged
  })
  return {
    'one byte changed': [flipped, middle],
    'a value changed, the line hashed anew': [whole(lines.with(middle - 1, forge(at, { client: 'somebody else' }))), middle + 1],
    'a line removed': [whole(lines.toSpliced(middle - 1, 1)), middle],
    'the first line removed': [whole(lines.slice(1)), 1],
    'a line inserted': [whole(lines.toSpliced(middle - 1, 0, '{"seq":6,"event":"call.end"}')), middle],
    'a line repeated': [whole(lines.toSpliced(middle - 1, 0, lines[middle - 2] as string)), middle],
    'a line inserted that follows from the one before': [
      whole(lines.toSpliced(middle - 1, 0, forge(at, { prev: prevOf(at), client: 'x' }))),
      middle + 1,
    ],
    'two lines swapped': [whole(lines.with(middle - 1, lines[middle] as string).with(middle, at)), middle],
    'a correctly hashed line at the end': [whole([...lines, next]), count + 1],
    'rubbish at the end': [`${whole(lines)}rubbish\n`, count + 1],
    'an empty line at the end': [`${whole(lines)}\n`, count + 1],
    'half a line at the end': [`${whole(lines)}${last.slice(0, 30)}`, count + 1],
    'zero bytes at the end': [`${whole(lines)}\0\0\0\0`, count + 1],
    'the tail cut by one line': [whole(lines.slice(0, -1)), count],
    'the tail cut by three lines': [whole(lines.slice(0, -3)), count - 2],
    'the tail cut inside the last line': [whole(lines).slice(0, -20), count],
    'the tail cut by the last newline': [whole(lines).slice(0, -1), count],
    'the tail cut inside an earlier line': [whole(lines.slice(0, middle)) + (lines[middle] as string).slice(0, 50), middle + 1],
    'everything cut': ['', 1],
    'the last line replaced by a correctly hashed one': [
      whole([...lines.slice(0, -1), forge(last, { client: 'somebody else' })]),
      count,
    ],
    'everything from a line on hashed anew': [whole([...lines.slice(0, middle - 1), ...rechained]), count],
  }
}

test('U01 every way of tampering is found, and the right line is named', async () => {
  await using log = await openLog()
  const { world, lines } = log
  for (const [what, [text, line]] of Object.entries(tamperings(lines))) {
    writeFileSync(state(world, 'audit.jsonl'), text)
    await world.reopen()
    const verdict = world.runtime.audit.verify()
    await world.runtime.close()
    expect([what, verdict]).toMatchObject([what, { whole: false, line }])
  }
  writeFileSync(state(world, 'audit.jsonl'), whole(lines))
  await world.reopen()
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true, lines: lines.length })
})

test('U01 the command line names the line and ends with 1; a whole log ends with 0', async () => {
  await using log = await openLog()
  const { world, lines } = log
  expect(await runCli(world.project, ['audit', 'verify'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Log intact: \d+ entries/) as unknown,
  })
  const ways = tamperings(lines)
  for (const what of [
    'one byte changed',
    'a line removed',
    'a line inserted',
    'a correctly hashed line at the end',
    'the tail cut by one line',
    'the tail cut by three lines',
    'the tail cut inside the last line',
  ]) {
    const [text, line] = ways[what] as [string | Buffer, number]
    writeFileSync(state(world, 'audit.jsonl'), text)
    const { code, out } = await runCli(world.project, ['audit', 'verify'])
    expect([what, code, out.split(':')[0]]).toEqual([what, 1, `Broken at line ${line}`])
  }
  const { code, out } = await runCli(world.project, ['audit', 'verify', '--json'])
  expect([code, (JSON.parse(out) as AuditVerdict).whole]).toEqual([1, false])
})

test('U01 what is written after the tampering does not heal it: the same line is named', async () => {
  await using log = await openLog()
  const { world, lines } = log
  const ways = tamperings(lines)
  const head = readFileSync(state(world, 'audit.head'))
  const headApart = readFileSync(apart(world))
  for (const what of [
    'one byte changed',
    'a line removed',
    'a correctly hashed line at the end',
    'rubbish at the end',
    'half a line at the end',
    'the tail cut by one line',
    'the tail cut by three lines',
    'the tail cut inside the last line',
  ]) {
    const [text, line] = ways[what] as [string | Buffer, number]
    writeFileSync(state(world, 'audit.jsonl'), text)
    await world.reopen()
    await world.call('read_file', { path: 'a.txt' })
    await write(world, 'a.txt', `after ${what}\n`)
    const verdict = world.runtime.audit.verify()
    await world.runtime.close()
    writeFileSync(state(world, 'audit.head'), head)
    writeFileSync(apart(world), headApart)
    // A forged line that follows from the one before shows in the next one.
    const named = what === 'a correctly hashed line at the end' ? [line, line + 1] : [line]
    expect([what, verdict.whole]).toEqual([what, false])
    expect([what, named]).toEqual([what, expect.arrayContaining([(verdict as { line?: number }).line])])
  }
})

test('U01 any single flipped bit is found, in the line it is in', async () => {
  await using log = await openLog()
  const { world, lines } = log
  const good = Buffer.from(whole(lines))
  await world.reopen()
  for (let round = 0; round < 300; round++) {
    const place = Math.floor((round / 300) * good.length)
    const bad = Buffer.from(good)
    bad[place] = (bad[place] as number) ^ (1 << (round % 8))
    writeFileSync(state(world, 'audit.jsonl'), bad)
    const line = good.subarray(0, place).toString('latin1').split('\n').length
    expect([place, world.runtime.audit.verify()]).toMatchObject([place, { whole: false, line }])
  }
  writeFileSync(state(world, 'audit.jsonl'), good)
  await world.runtime.close()
})

test('U01 bytes that decode to the same text are still other bytes', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.call('search_files', { path: '.', regex: 'x\ufffdy' })
  await world.call('read_file', { path: 'a.txt' })
  const good = Buffer.from(auditText(world))
  const place = good.indexOf(Buffer.from('\ufffd'))
  writeFileSync(
    state(world, 'audit.jsonl'),
    Buffer.concat([good.subarray(0, place), Buffer.from([0xff]), good.subarray(place + 3)]),
  )
  expect(world.runtime.audit.verify()).toMatchObject({ whole: false, line: 1 })
  writeFileSync(state(world, 'audit.jsonl'), good)
})

test('U01 a missing or broken seal, or a missing log, is not taken for a fresh start', async () => {
  await using log = await openLog()
  const { world, lines } = log
  const head = readFileSync(state(world, 'audit.head'))
  const verify = async (): Promise<boolean> => {
    await world.reopen()
    const verdict = world.runtime.audit.verify()
    await world.runtime.close()
    return verdict.whole
  }
  rmSync(state(world, 'audit.head'))
  expect(await verify()).toBe(false)
  writeFileSync(state(world, 'audit.head'), 'rubbish')
  expect(await verify()).toBe(false)
  for (const rubbish of ['{}', 'null', '[]', '{"sealed":null,"intended":null}', '{"sealed":{"seq":"x"},"intended":{}}']) {
    writeFileSync(state(world, 'audit.head'), rubbish.padEnd(511) + '\n')
    expect([rubbish, await verify().catch((thrown: Error) => `threw ${thrown.message}`)]).toEqual([rubbish, false])
  }
  writeFileSync(state(world, 'audit.head'), head)
  rmSync(state(world, 'audit.jsonl'))
  expect(await verify()).toBe(false)
  writeFileSync(state(world, 'audit.jsonl'), whole(lines))
  expect(await verify()).toBe(true)
})

test('U01 four processes that write at once leave one whole chain', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await using first = await openStdio(world.project)
  await using second = await openStdio(world.project)
  await Promise.all([
    ...Array.from({ length: 100 }, () => first.call('read_file', { path: 'a.txt' })),
    ...Array.from({ length: 100 }, () => second.call('list_files', { path: '.' })),
    ...Array.from({ length: 20 }, (_, index) => write(world, `f${index}.txt`, 'x\n')),
    runCli(world.project, ['call', 'read_file', '{"path":"a.txt"}']),
  ])
  // Reads are written down within a few milliseconds; asking for more of each makes sure that they are.
  await first.call('write_to_file', { path: 'b.txt', content: '', dryRun: true })
  await second.call('write_to_file', { path: 'b.txt', content: '', dryRun: true })
  await first[Symbol.asyncDispose]()
  await second[Symbol.asyncDispose]()
  expect(world.runtime.audit.verify().whole).toBe(true)
  const seqs = auditText(world)
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { seq: number }).seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(seqs.length).toBeGreaterThanOrEqual(100 + 100 + 40 + 1)
})

/** What must not be believed of a log that was swapped, removed or put back: the act is refused, and who looks is told. */
const swaps: Record<string, (world: World, old: Record<string, Buffer>) => void> = {
  'another log renamed over it': (world) => {
    writeFileSync(state(world, 'other'), readFileSync(state(world, 'audit.jsonl')))
    renameSync(state(world, 'other'), state(world, 'audit.jsonl'))
  },
  'the log removed': (world) => rmSync(state(world, 'audit.jsonl')),
  'the log moved away': (world) => renameSync(state(world, 'audit.jsonl'), join(world.base, 'away.jsonl')),
  'a second name for the log': (world) => linkSync(state(world, 'audit.jsonl'), join(world.base, 'second.jsonl')),
  'a second name for the seal': (world) => linkSync(state(world, 'audit.head'), join(world.base, 'second.head')),
  'the seal removed': (world) => rmSync(state(world, 'audit.head')),
  'the head kept apart removed': (world) => rmSync(apart(world)),
  'a pipe in its place': (world) => {
    rmSync(state(world, 'audit.jsonl'))
    execFileSync('mkfifo', [state(world, 'audit.jsonl')])
  },
  'a link in its place': (world) => {
    renameSync(state(world, 'audit.jsonl'), join(world.base, 'linked.jsonl'))
    symlinkSync(join(world.base, 'linked.jsonl'), state(world, 'audit.jsonl'))
  },
  'log and seal of yesterday renamed over them': (world, old) => {
    for (const name of ['audit.jsonl', 'audit.head']) {
      writeFileSync(state(world, 'old'), old[name] as Buffer)
      renameSync(state(world, 'old'), state(world, name))
    }
  },
  'log and seal of yesterday written into them': (world, old) => {
    for (const name of ['audit.jsonl', 'audit.head']) writeFileSync(state(world, name), old[name] as Buffer)
  },
}

/** Where another process looks and renews, and the one that was running takes up the new log. */
const byCommand = ['the log removed', 'a second name for the log', 'log and seal of yesterday renamed over them']

for (const [what, swap] of Object.entries(swaps))
  test(`U08 under a running server, ${what}: the next act is refused, nothing is lost in silence, and renew goes on`, async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
    await write(world, 'a.txt', 'two\n')
    world.runtime.audit.verify()
    const old = Object.fromEntries(['audit.jsonl', 'audit.head'].map((name) => [name, readFileSync(state(world, name))]))
    await write(world, 'a.txt', 'three\n')
    world.runtime.audit.verify()
    swap(world, old)
    expect([what, await codeOf(write(world, 'a.txt', 'unseen\n'))]).toEqual([what, 'E_IO'])
    expect(world.read('a.txt')).toBe('three\n')
    expect([what, world.runtime.audit.verify()]).toMatchObject([what, { whole: false }])
    // A link is refused at the start of any process; the person removes it first.
    if (what === 'a link in its place') rmSync(state(world, 'audit.jsonl'))
    if (byCommand.includes(what)) {
      const looks = [['doctor'], ['audit', 'verify']].map((command) => runCli(world.project, command))
      expect([what, ...(await Promise.all(looks)).map(({ code }) => code)]).toEqual([what, 1, 1])
      // Nobody at the terminal, and nobody said yes.
      expect(await runCli(world.project, ['audit', 'renew'])).toMatchObject({ code: 2 })
      expect([what, await runCli(world.project, ['audit', 'renew', '--yes'])]).toMatchObject([what, { code: 0 }])
    } else world.runtime.audit.renew()
    // The server that was running takes up the new log.
    expect([what, await codeOf(write(world, 'a.txt', 'four\n'))]).toEqual([what, 'ok'])
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
    expect(world.runtime.audit.last(100)[0]).toMatchObject({ event: 'audit.renewed', seq: 1 })
  })

test('U08 the database, a lock or a folder of the state swapped under a running server: the next act is refused', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  for (const name of ['handrail.db', 'locks/audit.db', 'locks/project.db', 'locks', 'snapshots']) {
    renameSync(state(world, name), join(world.base, 'kept'))
    cpSync(join(world.base, 'kept'), state(world, name), { recursive: true })
    expect([name, await codeOf(write(world, 'a.txt', 'unseen\n'))]).toEqual([name, 'E_IO'])
    expect([name, world.read('a.txt')]).toEqual([name, 'two\n'])
    rmSync(state(world, name), { recursive: true })
    renameSync(join(world.base, 'kept'), state(world, name))
  }
  expect(await codeOf(write(world, 'a.txt', 'three\n'))).toBe('ok')
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
})

test('U08 a log that is put back to an older state while nobody runs is a break, with the database too, and nothing is added to it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  await world.runtime.close()
  cpSync(state(world, ''), join(world.base, 'yesterday'), { recursive: true })
  await world.reopen()
  await write(world, 'a.txt', 'three\n')
  await world.runtime.close()
  const broken = async (): Promise<void> => {
    const { code, out } = await runCli(world.project, ['audit', 'verify'])
    expect([code, out.slice(0, 14)]).toEqual([1, 'Broken at line'])
    await world.reopen()
    expect(await codeOf(write(world, 'a.txt', 'unseen\n'))).toBe('E_IO')
    // That it was refused could not be written down either, and whoever closes is told.
    await expect(world.runtime.close()).rejects.toThrow('audit log')
  }
  rmSync(state(world, ''), { recursive: true })
  cpSync(join(world.base, 'yesterday'), state(world, ''), { recursive: true })
  await broken()
  rmSync(state(world, ''), { recursive: true })
  await broken()
  await world.reopen()
  world.runtime.audit.renew()
  expect(await codeOf(write(world, 'a.txt', 'four\n'))).toBe('ok')
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
})

test('U08 an anchor proves later that nothing was taken away, also against who rewrites log, seal and head together', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  const anchors = join(world.base, 'anchors.jsonl')
  const cli = (...args: string[]): ReturnType<typeof runCli> => runCli(world.project, ['audit', ...args])
  expect(await cli('anchor', '--to', anchors)).toMatchObject({ code: 0 })
  await write(world, 'a.txt', 'three\n')
  expect(await cli('anchor', '--to', anchors)).toMatchObject({ code: 0 })
  const { hash, seq } = JSON.parse((await cli('anchor', '--json')).out) as { hash: string; seq: number }
  expect(seq).toBe(world.runtime.audit.head().seq)
  expect(await cli('verify', '--anchor', anchors)).toMatchObject({ code: 0 })
  expect(await cli('verify', '--anchor', hash)).toMatchObject({ code: 0 })
  expect(await cli('verify', '--anchor', 'f'.repeat(64))).toMatchObject({ code: 1 })
  await world.runtime.close()
  rmSync(state(world, ''), { recursive: true })
  rmSync(apart(world))
  await world.reopen()
  await write(world, 'a.txt', 'forged\n')
  expect(await cli('verify')).toMatchObject({ code: 0 })
  expect(await cli('verify', '--anchor', anchors)).toMatchObject({ code: 1 })
})

test('U02 newlines and control characters in logged values stay inside their JSON line', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  const evil = 'x\n{"seq":1,"event":"forged"}\r\n\u001b[2J\u009b\u2028'
  await codeOf(world.call('search_files', { path: '.', regex: evil }, { client: evil, session: evil }))
  await codeOf(world.call('read_file', { path: evil }, { client: evil }))
  await codeOf(world.call('read_file', { [evil]: evil, path: 'a.txt' }))
  await codeOf(write(world, 'a.txt', evil, { idempotencyKey: evil }))
  await codeOf(write(world, 'package.json', evil))
  approve(world, pending(world)[0], false, evil)
  const text = auditText(world)
  const lines = text.split('\n').slice(0, -1)
  for (const [index, line] of lines.entries()) expect((JSON.parse(line) as { seq: number }).seq).toBe(index + 1)
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
  expect(lines.filter((line) => line.startsWith('{"seq":1,"event":"forged"'))).toEqual([])
  expect(world.runtime.audit.verify().whole).toBe(true)
})

test('U02 what the command line prints of others’ words moves no cursor, hides nothing and forges no line', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  const evil = 'e\u001b[2Jv\u009b1Ai\u200bl\u202e\u061c\u{e0041}\r'
  const client = `${evil}\nFORGED`
  const path = 'x\u009b2J\u200b\u061c\u{e0041}/a\u0085b.txt'
  const session = 'sess_evil'
  world.runtime.openSession({ id: session, surface: 'mcp-stdio', client })
  await codeOf(world.call('ask_followup_question', { question: client }, { client, session }))
  await codeOf(world.call('search_files', { path: '.', regex: evil }, { client, session }))
  await codeOf(world.call('write_to_file', { path, content: `${client}\n`, dryRun: false }, { client, session }))
  await codeOf(
    world.call(
      'write_to_file',
      { path: `${path.split('/')[0]}/package.json`, content: `${evil}\n`, dryRun: false },
      { client, session },
    ),
  )
  const [id = ''] = pending(world)
  const printed: Record<string, string> = {}
  for (const args of [
    ['audit', 'show'],
    ['approvals', 'list'],
    ['approvals', 'show', id],
    ['sessions'],
    ['sessions', session],
    ['snapshots'],
    ['approvals', 'deny', id, '--note', client],
    ['approvals', 'show', id],
    ['undo', '--last', '--yes'],
    ['undo', '--last', '--yes'],
  ]) {
    const { out, err } = await runCli(world.project, args)
    const command = args.slice(0, 2).join(' ').replace(id, 'ID')
    printed[command] = (printed[command] ?? '') + out + err
  }
  const obeyed = Object.entries(printed).filter(([, text]) => unseen.test(text.replaceAll('\n', '')))
  expect(obeyed.map(([command]) => command)).toEqual([])
  const forged = Object.entries(printed).filter(([command, text]) => command !== `sessions ${session}` && /^FORGED/m.test(text))
  expect(forged.map(([command]) => command)).toEqual([])
})

test('U03 content never reaches the log: what is written, replaced, asked and said', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one two\n', 'package.json': '{}\n' }, flags: noDiff })
  const canary = newCanary()
  await codeOf(world.call('write_to_file', { path: 'a.txt', content: `${canary}\n`, dryRun: true }))
  await codeOf(write(world, 'a.txt', `${canary}\n`))
  await codeOf(write(world, 'package.json', `${canary}\n`))
  await codeOf(world.call('replace_in_file', { path: 'a.txt', find: canary, replace: `new ${canary}` }))
  await codeOf(world.call('replace_in_file', { path: 'a.txt', find: `${canary}|x`, replace: canary, flags: 'g' }))
  await codeOf(world.call('read_file', { path: 'a.txt' }))
  await codeOf(world.call('search_files', { path: '.', regex: 'CANARY' }))
  await codeOf(world.call('ask_followup_question', { question: canary }))
  await codeOf(world.call('attempt_completion', { result: canary }))
  await codeOf(world.call('undo', { last: true, dryRun: false }, { role: 'person' }))
  expect(auditText(world).split('\n').length).toBeGreaterThan(10)
  expect(auditText(world)).not.toContain(canary)
})

test('U03 content never reaches the log either where the call is refused: wrong type, wrong field, wrong pattern', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one two\n' }, flags: noDiff })
  const leaks: string[] = []
  for (const [what, tool, input] of [
    ['content in an array', 'write_to_file', (canary: string) => ({ path: 'a.txt', content: [canary], dryRun: true })],
    ['content in an object', 'write_to_file', (canary: string) => ({ path: 'a.txt', content: { text: canary }, dryRun: true })],
    ['content under another name', 'write_to_file', (canary: string) => ({ path: 'a.txt', contents: canary, dryRun: true })],
    ['content beside a wrong field', 'write_to_file', (canary: string) => ({ path: 5, content: canary, dryRun: 'no' })],
    ['arguments that are a text', 'write_to_file', (canary: string) => canary],
    ['arguments that are an array', 'write_to_file', (canary: string) => [{ content: canary }]],
    [
      'find that is no pattern',
      'replace_in_file',
      (canary: string) => ({ path: 'a.txt', find: `${canary}(`, replace: 'x', flags: 'g' }),
    ],
    ['replace of the wrong type', 'replace_in_file', (canary: string) => ({ path: 'a.txt', find: 'x', replace: [canary] })],
    ['a question of the wrong type', 'ask_followup_question', (canary: string) => ({ question: [canary] })],
    [
      'content of half a character',
      'write_to_file',
      (canary: string) => ({ path: 'a.txt', content: `${canary}\ud800`, dryRun: true }),
    ],
  ] as const) {
    const canary = newCanary()
    expect([what, await codeOf(world.call(tool, input(canary)))]).toEqual([
      what,
      expect.stringMatching(/^E_(BAD_ARGS|ENCODING)$/),
    ])
    if (auditText(world).includes(canary)) leaks.push(what)
  }
  expect(leaks).toEqual([])
})

const random = (length: number, letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'): string =>
  Array.from(randomBytes(length), (byte) => letters[byte % letters.length]).join('')
const keys = (): Record<string, string> => ({
  openai: `sk-proj-${random(40)}`,
  anthropic: `sk-ant-api03-${random(40)}`,
  stripe: `sk_live_${random(24)}`,
  github: `ghp_${random(36)}`,
  githubFine: `github_pat_${random(22)}_${random(59)}`,
  gitlab: `glpat-${random(20)}`,
  slack: `xoxb-${random(12, '0123456789')}-${random(24)}`,
  aws: `AKIA${random(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
  awsOfLetters: `AKIA${random(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')}`,
  google: `AIza${random(35)}`,
  npm: `npm_${random(36)}`,
  huggingface: `hf_${random(34)}`,
  jwt: `eyJ${random(20)}.eyJ${random(30)}.${random(43)}`,
  bearer: `Bearer ${random(40)}`,
  assigned: `password=${random(16)}`,
  apiKey: `api_key: "${random(32)}"`,
})

/** What of a key must not be found: any long enough piece of its random part. */
const tail = (key: string): string =>
  (key.match(/[A-Za-z0-9]+/g) ?? []).reduce((longest, part) => (part.length > longest.length ? part : longest), '').slice(-12)

test('U03 what looks like a key does not reach the log from a regex, a path, an idempotency key or a person’s note', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: noDiff })
  const leaks: string[] = []
  const look = (what: string, kind: string, key: string): void =>
    void (auditText(world).includes(tail(key)) && leaks.push(`${kind} in ${what}`))
  for (const [where, act] of Object.entries({
    'a regex': (key: string) => world.call('search_files', { path: '.', regex: `x ${key} y` }),
    'a path that is read': (key: string) => world.call('read_file', { path: `notes/${key}.txt` }),
    'a path that is written': (key: string) => write(world, `backup_${key}.txt`, 'x\n'),
    'a path that is refused': (key: string) => world.call('read_file', { path: `../${key}` }),
    'a glob': (key: string) => world.call('list_files', { path: '.', globs: [`*${key}*`] }),
    'an idempotency key': (key: string) => write(world, 'k.txt', `${random(5)}\n`, { idempotencyKey: key }),
    'a name of a field': (key: string) => world.call('read_file', { [key]: 1 }),
  }))
    for (const [kind, key] of Object.entries(keys())) {
      await codeOf(act(key))
      look(where, kind, key)
    }
  for (const [kind, key] of Object.entries(keys())) {
    await codeOf(write(world, 'package.json', `${kind}\n`))
    approve(world, pending(world)[0], false, `use ${key} instead`)
    look('a note', kind, key)
  }
  expect(leaks).toEqual([])
})

test('U03 a key at the place where a long value is cut does not show its beginning', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const leaks: number[] = []
  for (let lead = 370; lead <= 400; lead++) {
    const key = `sk-${random(40)}`
    await codeOf(world.call('search_files', { path: '.', regex: `${'x'.repeat(lead - 1)} ${key}` }))
    if (auditText(world).includes(key.slice(3, 11))) leaks.push(lead)
  }
  expect(leaks).toEqual([])
})

test.skipIf(!canMount)(
  `U05 the log cannot be written: the act is refused, nothing is changed, and reads do not go on unrecorded (${canMount ? 'mounted' : 'SKIPPED: this system lets nobody mount (unshare -rm)'})`,
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
    await write(world, 'b.txt', 'kept\n')
    await world.runtime.close()
    const transport = new StdioClientTransport({
      command: 'unshare',
      // Every write to /dev/full fails as on a full disk, and the rest of the disk is as it was.
      args: [
        '-rm',
        'sh',
        '-ec',
        'mount --bind /dev/full "$P/audit.jsonl"\nexec "$@"',
        'sh',
        process.execPath,
        program,
        'mcp',
        '--project',
        world.project,
        '--write-requires-diff',
        'false',
        '--approval-wait-ms',
        '0',
      ],
      env: { ...cleanEnv(world.base), P: world.state('') },
      stderr: 'ignore',
    })
    const client = new Client({ name: 'handrail-test', version: '1.0.0' })
    await client.connect(transport)
    try {
      const code = async (name: string, input: Record<string, unknown>): Promise<string> => {
        const result = await client.callTool({ name, arguments: input })
        return result.isError
          ? (JSON.parse((result.content as { text: string }[])[0]?.text ?? '') as { error: { code: string } }).error.code
          : 'ok'
      }
      expect(await code('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: false })).toBe('E_IO')
      expect(await code('write_to_file', { path: 'new/c.txt', content: 'two\n', dryRun: false })).toBe('E_IO')
      expect(await code('replace_in_file', { path: 'a.txt', find: 'one', replace: 'two' })).toBe('E_IO')
      expect(await code('write_to_file', { path: 'package.json', content: '{}\n', dryRun: false })).toBe('E_IO')
      await code('read_file', { path: 'a.txt' })
      await pause(100)
      expect(await code('read_file', { path: 'a.txt' })).toBe('E_IO')
    } finally {
      await client.close()
    }
    expect(world.read('a.txt')).toBe('one\n')
    expect(readdirSync(world.project).sort()).toEqual(['a.txt', 'b.txt'])
    await world.reopen()
    expect(world.runtime.approvals.list('approved')).toEqual([])
    expect(world.runtime.audit.verify().whole).toBe(true)
  },
)

test('U05 a log that cannot be opened: Handrail does not start', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.runtime.close()
  const kept = readFileSync(state(world, 'audit.jsonl'))
  rmSync(state(world, 'audit.jsonl'))
  mkdirSync(state(world, 'audit.jsonl'))
  const { code, err } = await runCli(world.project, [
    'call',
    'write_to_file',
    '{"path":"a.txt","content":"two\\n","dryRun":false}',
    '--write-requires-diff',
    'false',
    '--json',
  ])
  expect([code, (JSON.parse(err) as { error: { code: string } }).error.code]).toEqual([1, 'E_IO'])
  expect(world.read('a.txt')).toBe('one\n')
  rmSync(state(world, 'audit.jsonl'), { recursive: true })
  writeFileSync(state(world, 'audit.jsonl'), kept)
  await world.reopen()
})

test('U06 get_runtime_info shows no secret of the environment, the settings or the listener', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const { token } = world.runtime.token()
  const canary = newCanary()
  await using peer = await openStdio(world.project, { env: { OPENAI_API_KEY: canary, HANDRAIL_TOKEN: canary, SECRET: canary } })
  const info = await peer.call('get_runtime_info', {})
  const text = JSON.stringify([
    info,
    await peer.client.listTools(),
    peer.client.getInstructions(),
    peer.client.getServerVersion(),
  ])
  expect(info['projectRoot']).toBe(world.project)
  expect(text).not.toContain(canary)
  expect(text).not.toContain(token)
})

test('U07 no absolute path, no descriptor path, no stack and no errno text in any error over the wire', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n', 'sub/b.txt': 'two\n', 'bin.dat': Buffer.from([0, 1, 2]) } })
  mkdirSync(join(world.base, 'outside'))
  symlinkSync(join(world.base, 'outside'), world.path('door'))
  symlinkSync('/etc/passwd', world.path('link'))
  symlinkSync('loop', world.path('loop'))
  await using peer = await openStdio(world.project, { args: ['--approval-wait-ms', '0', '--write-requires-diff', 'false'] })
  const paths = [
    '.',
    'a.txt/x',
    'missing',
    'missing/deep/x',
    'door',
    'door/x',
    'link',
    'loop',
    'sub',
    'bin.dat',
    '../x',
    '/etc/passwd',
    '.git/x',
    '.handrail/x',
    'n'.repeat(255),
    `${'d/'.repeat(2_000)}x`,
    'a\0b',
    'package.json',
  ]
  const replies: unknown[] = []
  for (const path of paths)
    replies.push(
      await peer.call('read_file', { path }),
      await peer.call('list_files', { path }),
      await peer.call('search_files', { path, regex: '(' }),
      await peer.call('write_to_file', { path, content: 'x', dryRun: true }),
      await peer.call('write_to_file', {
        path: `${path}/y`,
        content: 'x',
        dryRun: false,
        ...(path.length > 300 && { dryRun: true }),
      }),
      await peer.call('replace_in_file', { path, find: '(', replace: '', flags: 'g' }),
      await peer.call('restore_snapshot', { snapshotId: path.slice(0, 50) }),
    )
  const errors = replies
    .filter((reply) => (reply as { error?: unknown }).error !== undefined)
    .map((reply) => JSON.stringify(reply))
  expect(errors.length).toBeGreaterThan(80)
  for (const error of errors) {
    expect(error).not.toContain(world.base)
    expect(error).not.toMatch(/\/proc\/|node:|\bat [\w.<>]+ \(|\.[cm]?[jt]s:\d|ENOENT: |no such file or directory|E_INTERNAL/)
    expect(error.replace('/etc/passwd', '')).not.toMatch(/\/(etc|usr|home|root|tmp|work)\//)
  }
})
