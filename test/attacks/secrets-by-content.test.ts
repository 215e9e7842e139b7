import { errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { expect, test } from 'vitest'
import { longestJudged, secretIn } from '../../src/text/secret-content.ts'
import { agreed } from '../support/approve.ts'
import { withShell } from '../support/stage.ts'
import { openInside, runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

/** Secrets that no name tells: what is kept of them is judged like what stands in the project. */
const canary = 'CANARY-51fe'
const key = `-----BEGIN PRIVATE KEY-----\n${canary}\n-----END PRIVATE KEY-----\n`
const account = JSON.stringify({ type: 'service_account', project_id: 'x', private_key: key }, null, 2)
const secrets: Record<string, string> = {
  'game/data.json': account,
  'game/data.json.bak': account,
  'deploy/robot': `\n  ${account}`,
  'deploy/many.txt': `[${account}]`,
  'deploy/nested.conf': `{"firebase": ${account}}`,
  'deploy/with-mark': `\uFEFF${account}`,
  'deploy/user.json': JSON.stringify({ type: 'authorized_user', client_secret: canary, refresh_token: canary }),
  'deploy/work': key,
  'deploy/work2': `-----BEGIN OPENSSH PRIVATE KEY-----\r\n${canary}\r\n`,
  'deploy/putty.txt': `PuTTY-User-Key-File-3: ssh-ed25519\n${canary}\n`,
  'deploy/age.txt': `# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1${canary}\n`,
}
const harmless: Record<string, string> = {
  'package.json': '{"name":"x","type":"module"}',
  'docs/accounts.md': `# Service accounts\n\n\`\`\`json\n${account}\n\`\`\`\n`,
  'docs/badges.md': `[![badge](x)](y)\n\n${account}`,
  'docs/keys.md': `A key begins with\n-----BEGIN PRIVATE KEY-----\n`,
  'docs/public.txt': '-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----\n',
  'docs/cert.txt': '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n',
  'game/types.json': '{"accounts":[{"type":"service_account","email":"a@b.example"}]}',
}
const [granted, other] = ['sess_granted', 'sess_other']
const said = (value: unknown): string => JSON.stringify(value)

async function lettingRead(world: World, path: string): Promise<void> {
  world.runtime.openSession({ id: granted, surface: 'mcp-stdio', client: 'test/1' })
  const given = await runInside(world.project, ['grants', 'allow', 'secret', path, '--session', granted])
  expect(given.code, given.err).toBe(0)
}

test('they are told by what they hold, and nothing else is', () => {
  for (const [path, content] of Object.entries(secrets)) expect(secretIn(Buffer.from(content)), path).toBeTypeOf('string')
  for (const [path, content] of Object.entries(harmless)) expect(secretIn(Buffer.from(content)), path).toBeUndefined()
  expect(longestJudged).toBeGreaterThan(16_000)
})

test('no tool reads them under any name; a person can let each through for one session', async () => {
  await using world = await openWorld({ files: { ...secrets, ...harmless } })
  for (const path of Object.keys(harmless)) await world.call('read_file', { path })
  for (const path of Object.keys(secrets)) {
    for (const [tool, input] of [
      ['read_file', { path }],
      ['search_files', { path, regex: 'CANARY' }],
      ['replace_in_file', { path, find: 'x', replace: 'y', dryRun: true }],
      ['write_to_file', { path, content: 'x', dryRun: true }],
    ] as const) {
      const fault = await world.fault(tool, input)
      expect(fault.code, `${tool} ${path}`).toBe('E_DENY_PATH')
      expect(fault.hint).toContain('handrail grants allow secret')
    }
    await lettingRead(world, path)
    expect(said(await world.call('read_file', { path }, { session: granted })), path).toContain(canary)
    expect((await world.fault('read_file', { path }, { session: other })).code).toBe('E_DENY_PATH')
  }
  const { matches } = await world.call<{ matches: { path: string }[] }>('search_files', { path: '.', regex: canary })
  expect(matches.map(({ path }) => path).sort()).toEqual(['docs/accounts.md', 'docs/badges.md'])
  for (const path of Object.keys(harmless))
    expect((await runInside(world.project, ['grants', 'allow', 'secret', path])).code, path).not.toBe(0)
})

test('who was let read one does not write it, whatever its name is', async () => {
  await using world = await openWorld({ files: secrets, config: { policies: { writeRequiresDiff: false } } })
  for (const path of ['game/data.json', 'deploy/work']) {
    await lettingRead(world, path)
    for (const [tool, input] of [
      ['write_to_file', { path, content: '{}', dryRun: false }],
      ['write_to_file', { path, content: '{}', dryRun: false, mode: 'append' }],
      ['write_to_file', { path: `./${path}`, content: '{}', dryRun: false, idempotencyKey: 'k1' }],
      ['replace_in_file', { path, find: 'CANARY', replace: 'x' }],
    ] as const) {
      const fault = await world.fault(tool, input, { session: granted })
      expect(fault.code, tool).toBe('E_DENY_PATH')
      expect(fault.message).toContain('for reading')
    }
    expect(world.read(path)).toBe(secrets[path])
  }
  expect(await world.call('list_snapshots', {})).toEqual({ snapshots: [] })
})

test('a kept state of one is opened by nobody: not as a snapshot, not as a resource', async () => {
  await using world = await openWorld({ files: { 'game/data.json': 'plain\n', 'game/notes.txt': 'plain\n' } })
  // Kept while it was none by its name and none of ours to judge: what was written is what is kept.
  const ids: string[] = []
  for (const path of ['game/data.json', 'game/notes.txt'])
    for (const content of [account, key, 'plain again\n']) ids.push((await writeAnew(world, path, content)).snapshotId)
  await lettingRead(world, 'game/data.json').catch(() => undefined)
  const peer = await openInside(world.project)
  try {
    for (const [index, snapshotId] of ids.entries()) {
      const open = [granted, other].map((session) => world.call('restore_snapshot', { snapshotId }, { session }))
      const answers = await Promise.all([
        ...open.map((one) => one.catch((fault: Fault) => errorBodyOf(fault))),
        peer.call('restore_snapshot', { snapshotId }),
        peer.client.readResource({ uri: `handrail://snapshots/${snapshotId}` }).catch((fault: Error) => fault.message),
      ])
      if (index % 3 === 2) for (const answer of answers) expect(said(answer)).toContain('plain again')
      else
        for (const answer of answers) {
          expect(said(answer)).not.toContain(canary)
          expect(said(answer)).toContain('Path not allowed')
        }
    }
  } finally {
    await peer[Symbol.asyncDispose]()
  }
})

test('nor what a program put something else in the place of; a person brings it back all the same', async () => {
  await using world = await openWorld({ files: secrets, flags: withShell })
  const paths = ['game/data.json', 'deploy/work']
  const { answer } = await agreed(world, 'shell', { command: `echo '{}' > ${paths[0]}; rm ${paths[1]}` })
  expect(said(answer)).not.toContain(canary)
  const kept = world.runtime.snapshots(100, '').filter(({ kind }) => kind === 'baseline')
  expect(kept.map(({ path }) => path).sort()).toEqual([...paths].sort())
  for (const { id } of kept) {
    const fault = await world.fault('restore_snapshot', { snapshotId: id })
    expect(fault.code).toBe('E_DENY_PATH')
    expect(said(errorBodyOf(fault))).not.toContain(canary)
  }
  const undone = await runInside(world.project, ['undo', '--last', '--yes'])
  expect(undone.code, undone.err).toBe(0)
  for (const path of paths) expect(world.read(path)).toBe(secrets[path])
})

test('what is listed of kept states leaves out names that hold secrets', async () => {
  await using world = await openWorld({ files: { 'game/a.txt': 'x\n' }, config: { policies: { forbiddenDirs: [] } } })
  await world.put('game/a.txt', 'y\n')
  await world.put('later/b.txt', 'y\n')
  await world.reopen()
  world.settings({ policies: { forbiddenDirs: ['later'] } })
  await world.reopen()
  const { snapshots } = await world.call<{ snapshots: { path: string }[] }>('list_snapshots', {})
  expect([...new Set(snapshots.map(({ path }) => path))]).toEqual(['game/a.txt'])
})

/** A write as an agent makes it that knows the content already, over whatever stands there. */
async function writeAnew(world: World, path: string, content: string): Promise<{ snapshotId: string }> {
  world.write(path, `${path} as the person left it\n`)
  return world.put(path, content)
}
