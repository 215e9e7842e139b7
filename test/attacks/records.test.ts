import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { errorCodeOf, errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { lapseNow } from '../support/approve.ts'
import { openInside, runInside } from '../support/inside.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'
import { approve, auditText, codeOf, newCanary, noDiff, pending, state, unseen, write } from '../support/records.ts'

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
    code = errorCodeOf(thrown as Fault)
    reply = JSON.stringify(errorBodyOf(thrown as Fault))
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
  const { code, err } = await runInside(world.project, ['snapshots', '--json'])
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
      const { err } = await runInside(world.project, [
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
  const { code, err } = await runInside(world.project, ['snapshots', '--json'])
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
    flags: noDiff,
  })
  await codeOf(write(world, 'package.json', 'x\n'))
  await codeOf(write(world, 'Makefile', 'x\n'))
  const [second, first] = pending(world)
  approve(world, first)
  for (const id of [first, second]) lapseNow(world, id ?? '')
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
  const { out, code } = await runInside(world.project, ['approvals', 'show', pending(world)[0] as string])
  expect(code).toBe(0)
  return out
}

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
  await using peer = await openInside(world.project)
  const { tools } = await peer.client.listTools()
  expect(tools.filter((tool) => /undo|approv|decide|config|setting/i.test(tool.name))).toEqual([])
  await expect(peer.client.callTool({ name: 'undo', arguments: { last: true, dryRun: false } })).rejects.toThrow()
  const { code, err } = await runInside(world.project, ['call', 'undo', '{"last":true,"dryRun":false}', '--json'])
  expect([code, (JSON.parse(err) as { error: { code: string } }).error.code]).toEqual([1, 'E_UNSUPPORTED'])
  expect(world.read('a.txt')).toBe('two\n')
})

test('G08 an agent cannot answer its own question: no tool reaches it, over stdio it waits until a person does', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: noDiff })
  await using peer = await openInside(world.project, { args: ['--write-requires-diff', 'false', '--approval-wait-ms', '0'] })
  const input = { path: 'package.json', content: '{"x":1}\n', dryRun: false }
  const first = await peer.call('write_to_file', input)
  expect(first.error?.code).toBe('E_POLICY_VIOLATION')
  const id = first.error?.details?.['approvalId'] as string
  for (const extra of [{ approvalId: id }, { approved: true }, { approval: { approve: true } }])
    expect((await peer.call('write_to_file', { ...input, ...extra })).error?.code).toBe('E_BAD_ARGS')
  expect((await peer.call('write_to_file', input)).error?.details?.['approvalId']).toBe(id)
  expect(world.read('package.json')).toBe('{}\n')
  expect((await runInside(world.project, ['approvals', 'approve', id])).code).toBe(0)
  expect((await peer.call('write_to_file', input))['applied']).toBe(true)
})
