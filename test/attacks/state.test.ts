import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import type { ErrorBody } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { coded, type Coded } from '../support/coded.ts'
import { openConnection } from '../../src/host/database.ts'
import type { StateView } from '../../src/contracts/state.ts'
import { sha256 } from '../../src/host/files.ts'
import type { Manifest } from '../../src/host/state-project.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { signInKey } from '../../src/surfaces/person-auth.ts'
import { treeOf } from '../support/stage.ts'
import { isSoak } from '../support/soak.ts'
import { oneUser } from '../support/ground.ts'
import { runInside } from '../support/inside.ts'
import { asUser, cleanEnv, openWorld, program, runToExit, stateOf, type CliEnd, type World } from '../support/world.ts'

const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite') as {
  DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void }
}

const isRoot = process.getuid?.() === 0
const nobody = 65_534
const canMount = spawnSync('unshare', ['-rm', 'true'], { stdio: 'ignore' }).status === 0
const confines = Boolean(process.env['HANDRAIL_TEST_CONFINES'])

interface Ground {
  base: string
  project: string
  cli(args: string[], env?: Record<string, string>): Promise<CliEnd>
  give(): void
  [Symbol.dispose](): void
}

function openGround(uid: number, files: Record<string, string> = { 'a.txt': 'one\n', 'package.json': '{}\n' }): Ground {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const project = join(base, 'project')
  mkdirSync(project)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(project, name), content)
  const give = (): void => own(base, uid)
  give()
  return {
    base,
    project,
    give,
    cli: (args, env = {}) =>
      runToExit(process.execPath, [program, ...args, '--project', project], {
        env: cleanEnv(base, env),
        cwd: base,
        ...asUser(uid),
      }),
    [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }),
  }
}

function own(path: string, uid: number): void {
  lchownSync(path, uid, uid)
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) own(join(path, name), uid)
}

/** The last line: what is waited for is said before. */
const errorOf = ({ err }: CliEnd): ErrorBody['error'] => (JSON.parse(err.trim().split('\n').at(-1) ?? '') as ErrorBody).error
const manifestOf = (world: World): Manifest => JSON.parse(readFileSync(world.state('manifest.json'), 'utf8')) as Manifest

/** All of the state, save what SQLite clears away some time after a connection is closed. */
function stored(world: World): Record<string, unknown> {
  // The driver ends a connection when its statements are collected, and then moves pages from one file to the other: done here, so that nothing is left to move.
  const store = openConnection(world.state('handrail.db'))
  store.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  store.close()
  return Object.fromEntries(Object.entries(treeOf(world.state(''))).filter(([name]) => !/-(wal|shm)$/.test(name)))
}

function faultOf(act: () => unknown): Coded {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof Fault) return coded(thrown)
    throw thrown
  }
  throw new Error('it did not fail')
}

/** What an older version would have taken for its own: approvals that were given, never run out, and a token everybody knows. */
const asks: Record<string, string[]> = {
  'a write that runs': ['call', 'write_to_file', JSON.stringify({ path: 'package.json', content: '{"x":1}\n', dryRun: false })],
  ...(confines &&
    isSoak && { 'the network': ['call', 'shell', JSON.stringify({ command: 'true', network: true }), '--enable-shell'] }),
}
const unasked = ['--wait', '0', '--write-requires-diff', 'false', '--json']

describe.each(oneUser)('a clone that brings its own state, for %s', (_, uid) => {
  test('nobody’s approval counts, no token opens a door, and nothing in it is read or changed', async () => {
    using ground = openGround(uid)
    for (const args of Object.values(asks)) {
      const { approvalId } = errorOf(await ground.cli([...args, ...unasked])).details as { approvalId: string }
      expect(await ground.cli(['approvals', 'approve', approvalId])).toMatchObject({ code: 0 })
    }
    // The layout in the state folder is that of older versions in the project.
    const planted = join(ground.project, '.handrail')
    renameSync(stateOf(ground.project), planted)
    rmSync(join(planted, 'manifest.json'))
    rmSync(join(ground.base, 'state'), { recursive: true })
    const db = new DatabaseSync(join(planted, 'handrail.db'))
    db.exec(`UPDATE approvals SET expires_at = ${Date.now() + 10 ** 12}`)
    db.close()
    writeFileSync(join(planted, 'person-token'), 'known-to-all\n')
    writeFileSync(join(planted, 'token'), 'known-to-all\n')
    ground.give()
    const before = treeOf(ground.project)

    for (const [what, args] of Object.entries(asks))
      expect([what, errorOf(await ground.cli([...args, ...unasked]))]).toMatchObject([what, { code: 'E_POLICY_VIOLATION' }])
    const { findings } = JSON.parse((await ground.cli(['doctor', '--json'])).out) as {
      findings: { what: string; says: string }[]
    }
    expect(findings.find(({ what }) => what === 'old state')?.says).toContain('ignored')
    expect((await ground.cli(['approvals', 'list', '--json'])).out).not.toContain('"approved"')

    const server = spawn(process.execPath, [program, 'serve', '--project', ground.project, '--port', '0', '--json'], {
      env: cleanEnv(ground.base),
      ...asUser(uid),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    try {
      const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
      const { url, tokenFile } = JSON.parse(line) as { url: string; tokenFile: string }
      expect(tokenFile.startsWith(ground.project)).toBe(false)
      const asAgent = { Authorization: 'Bearer known-to-all', 'Content-Type': 'application/json' }
      expect((await fetch(`${url}/mcp`, { method: 'POST', headers: asAgent, body: '{}' })).status).toBe(401)
      const signedIn = await fetch(`${url}/sign-in?key=${signInKey('known-to-all', '')}`, { redirect: 'manual' })
      expect(signedIn.headers.get('set-cookie')).toBe(null)
    } finally {
      server.kill()
      await once(server, 'close')
    }
    expect(treeOf(ground.project)).toEqual(before)
  })

  test('a project on a disk that cannot be written is read, checked and doctored, and nothing is left behind in it', async () => {
    using ground = openGround(uid, { 'a.txt': 'one\n', 'start.txt': ':Hello.;\n' })
    chmodSync(ground.project, 0o555)
    const before = treeOf(ground.project)
    expect((await ground.cli(['call', 'read_file', '{"path":"a.txt"}'])).out).toContain('one')
    expect((await ground.cli(['call', 'validate_script', '{"path":"start.txt"}'])).code).toBe(0)
    expect((await ground.cli(['doctor'])).code).toBe(0)
    expect(treeOf(ground.project)).toEqual(before)
    // The state itself must be writable, and the error says what to do.
    const locked = join(ground.base, 'locked')
    writeFileSync(locked, '')
    const { code, hint } = errorOf(await ground.cli(['sessions', '--json', '--state', join(locked, 'state')]))
    expect([code, hint]).toEqual(['E_IO', expect.stringMatching(/--state|Remove it/)])
    chmodSync(ground.project, 0o755)
  })
})

test.skipIf(!canMount)(
  `a project on a read-only mount is read (${canMount ? 'mounted' : 'SKIPPED: nobody may mount here'})`,
  () => {
    using ground = openGround(process.getuid?.() ?? 0)
    const script = 'mount --bind "$P" "$P" && mount -o remount,bind,ro "$P" && exec "$@"'
    const read = spawnSync(
      'unshare',
      [
        '-rm',
        'sh',
        '-c',
        script,
        'sh',
        process.execPath,
        program,
        'call',
        'read_file',
        '{"path":"a.txt"}',
        '--project',
        ground.project,
      ],
      { env: { ...cleanEnv(ground.base), P: ground.project }, encoding: 'utf8' },
    )
    expect([read.status, read.stderr]).toEqual([0, ''])
    expect(read.stdout).toContain('one')
  },
)

test('state that is a link, a file, or somebody else’s is refused, and nothing is written through it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a' } })
  await world.runtime.close()
  const [outside, base] = [join(world.base, 'outside'), join(world.base, 'state', 'handrail')]
  mkdirSync(outside)
  const open = (state: string): Coded =>
    faultOf(() => openRuntime({ project: world.project, state, environment: cleanEnv(world.base) }))
  symlinkSync(outside, join(world.base, 'link'))
  expect(open(join(world.base, 'link')).code).toBe('E_IO')
  writeFileSync(join(world.base, 'file'), '')
  expect(open(join(world.base, 'file')).code).toBe('E_IO')
  for (const at of [join(base, 'projects'), world.state('').replace(/\/$/, '')]) {
    renameSync(at, `${at}-kept`)
    symlinkSync(outside, at)
    expect([at, open(base).code]).toEqual([at, 'E_IO'])
    rmSync(at)
    renameSync(`${at}-kept`, at)
  }
  if (isRoot)
    for (const at of [base, join(base, 'projects'), world.state('').replace(/\/$/, '')]) {
      chownSync(at, nobody, nobody)
      expect([at, open(base)]).toMatchObject([at, { code: 'E_IO', message: expect.stringContaining('another user') as string }])
      chownSync(at, 0, 0)
    }
  expect(readdirSync(outside)).toEqual([])
  chmodSync(base, 0o777)
  await world.reopen()
  expect(statSync(base).mode & 0o777).toBe(0o700)
})

test('state and project never lie in each other, however either is named, and nothing is made on the way', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a', 'sub/b.txt': 'b' } })
  await world.runtime.close()
  symlinkSync(world.project, join(world.base, 'door'))
  const open = (project: string, state: string | undefined, environment = {}): Coded =>
    faultOf(() => openRuntime({ project, state, environment: { ...cleanEnv(world.base), ...environment } }))
  for (const state of [
    world.project,
    world.path('deep/er/state'),
    join(world.base, 'door', 'state'),
    '/proc/self/root' + world.path('x'),
  ])
    expect([state, open(world.project, state).code]).toEqual([state, 'E_BAD_ARGS'])
  expect(open(world.project, undefined, { HANDRAIL_STATE: world.path('state') }).code).toBe('E_BAD_ARGS')
  expect(open(world.project, undefined, { XDG_STATE_HOME: world.path('state') }).code).toBe('E_BAD_ARGS')
  expect(open(world.project, '').code).toBe('E_BAD_ARGS')
  mkdirSync(join(world.base, 'state', 'handrail', 'inside'))
  expect(open(join(world.base, 'state', 'handrail', 'inside'), undefined).code).toBe('E_BAD_ARGS')
  expect(Object.keys(treeOf(world.project))).toEqual(['a.txt', 'sub', 'sub/b.txt'])
  // Relative to wherever somebody happens to stand: ignored, as the specification of that variable says.
  await world.reopen({}, { XDG_STATE_HOME: 'state' })
  expect(world.runtime.state.base).toBe(join(world.base, '.local', 'state', 'handrail'))
})

test('another folder in the project’s place is refused and nothing is read or written, until a person says which it is', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  const { snapshotId } = await world.put('a.txt', 'b\n')
  await world.runtime.close()
  // Both at once, so that it cannot get the same number again.
  mkdirSync(`${world.project}-new`)
  renameSync(world.project, join(world.base, 'gone'))
  renameSync(`${world.project}-new`, world.project)
  rmSync(join(world.base, 'gone'), { recursive: true })
  const before = stored(world)
  const refused = await runInside(world.project, ['call', 'list_snapshots', '{}', '--json'])
  expect(errorOf(refused)).toMatchObject({
    code: 'E_CONFLICT',
    hint: expect.stringMatching(/state adopt.*state reset/) as string,
  })
  expect(await runInside(world.project, ['state', '--json'])).toMatchObject({
    code: 1,
    out: expect.stringContaining('another folder') as string,
  })
  expect((await runInside(world.project, ['state', 'adopt', '--json'])).code, 'nobody is there to ask').toBe(2)
  expect(stored(world)).toEqual(before)
  expect(await runInside(world.project, ['state', 'adopt', '--yes'])).toMatchObject({ code: 0 })
  await world.reopen()
  expect(world.runtime.snapshots(10, '').map((one) => one.id)).toContain(snapshotId)
  expect(world.runtime.audit.last(1)).toMatchObject([{ event: 'state.adopted' }])
  await world.runtime.close()
  const reset = JSON.parse((await runInside(world.project, ['state', 'reset', '--yes', '--json'])).out) as { aside: string }
  expect(existsSync(join(reset.aside, 'snapshots', `${snapshotId}.txt`))).toBe(true)
  await world.reopen()
  expect(world.runtime.snapshots(10, '')).toEqual([])
})

test('the manifest decides: another device is recorded, another birth, another project or no manifest is refused', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  await world.runtime.close()
  const real = manifestOf(world)
  const put = (manifest: unknown): void => writeFileSync(world.state('manifest.json'), JSON.stringify(manifest))
  put({ ...real, device: '1' })
  await world.reopen()
  expect(manifestOf(world)).toEqual(real)
  expect(world.runtime.audit.last(1)).toMatchObject([{ event: 'state.remounted', details: { from: '1', to: real.device } }])
  await world.runtime.close()
  for (const wrong of [
    { ...real, inode: '1' },
    { ...real, path: `${real.path}-other` },
    { ...real, version: 2 },
    { ...real, inode: Number(real.inode) },
    null,
    ...(real.bornAt === undefined ? [] : [{ ...real, bornAt: '1' }]),
  ]) {
    put(wrong)
    const before = stored(world)
    expect([wrong, faultOf(() => openRuntime({ project: world.project, environment: cleanEnv(world.base) })).code]).toEqual([
      wrong,
      'E_CONFLICT',
    ])
    expect(stored(world)).toEqual(before)
  }
  rmSync(world.state('manifest.json'))
  expect(faultOf(() => openRuntime({ project: world.project, environment: cleanEnv(world.base) })).code).toBe('E_CONFLICT')
  put(real)
  await world.reopen()
})

test('two projects never share state; one that was moved is found again and taken over, one that still lives is not', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  const { snapshotId } = await world.put('a.txt', 'b\n')
  const token = world.runtime.token('person').token
  await world.runtime.close()
  const other = join(world.base, 'other', 'project')
  cpSync(world.project, other, { recursive: true })
  const environment = cleanEnv(world.base)
  const second = openRuntime({ project: other, environment })
  expect(second.snapshots(10, '')).toEqual([])
  expect(second.token('person').token).not.toBe(token)
  expect(second.state.folder).not.toBe(world.runtime.state.folder)
  await second.close()
  const cli = (project: string, ...args: string[]): Promise<CliEnd> =>
    runInside(project, ['state', ...args, '--json'], { env: cleanEnv(world.base) })
  expect(errorOf(await cli(other, 'adopt', '--from', world.project, '--yes')).code).toBe('E_CONFLICT')
  const moved = join(world.base, 'moved')
  renameSync(world.project, moved)
  expect(errorOf(await cli(other, 'adopt', '--from', world.project, '--yes')).code, 'it has its own').toBe('E_CONFLICT')
  const view = JSON.parse((await cli(moved)).out) as StateView
  expect(view).toMatchObject({ fits: 'none yet', movedFrom: world.project, project: { path: moved } })
  expect(view.others.map(({ path, gone }) => [path, gone]).sort()).toEqual([
    [other, false],
    [world.project, true],
  ])
  expect((await cli(moved, 'adopt', '--yes')).code).toBe(0)
  const third = openRuntime({ project: moved, environment })
  expect(third.snapshots(10, '').map((one) => one.id)).toContain(snapshotId)
  await third.close()
  // A second name of a file of ours is no way to it.
  linkSync(join(third.state.folder, 'manifest.json'), join(moved, 'mine.txt'))
  const read = await runInside(moved, ['call', 'read_file', '{"path":"mine.txt"}', '--json'], { env: cleanEnv(world.base) })
  expect(errorOf(read).code).toBe('E_DENY_PATH')
  renameSync(moved, world.project)
  await world.reopen()
})

test('from a .handrail of an older version come the kept states that hold up and the log for reading, and nothing else', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  await world.put('a.txt', 'b\n')
  const token = world.runtime.token('person').token
  await world.runtime.close()
  const old = world.path('.handrail')
  renameSync(world.state('').replace(/\/$/, ''), old)
  rmSync(join(old, 'manifest.json'))
  // An older version kept no head apart.
  rmSync(join(world.base, 'state', 'handrail', 'heads'), { recursive: true })
  const [good, meta] = readdirSync(join(old, 'snapshots'))
    .filter((name) => name.endsWith('.meta.json'))
    .map((name) => [
      name.slice(0, -'.meta.json'.length),
      JSON.parse(readFileSync(join(old, 'snapshots', name), 'utf8')) as Record<string, unknown>,
    ])[0] as [string, Record<string, unknown>]
  expect(good).toBe(meta['id'])
  let count = 0
  const plant = (change: Record<string, unknown>, content: string | null = 'evil\n'): string => {
    const id = `snap_20250101T000000_${String(++count).padStart(8, '0')}`
    const described = { ...meta, id, sha256: sha256(Buffer.from(content ?? '')), ...change }
    writeFileSync(join(old, 'snapshots', `${id}.meta.json`), JSON.stringify(described))
    if (content !== null) writeFileSync(join(old, 'snapshots', `${id}.txt`), content)
    return id
  }
  for (const path of ['../out.txt', '/etc/passwd', '.git/hooks/x', 'a/../b', '.handrail/token', 'handrail.config.json', '', 7])
    plant({ path })
  plant({ sha256: '0'.repeat(64) })
  plant({ timestamp: Date.now() + 10 ** 9 })
  plant({ timestamp: 'now' })
  plant({ mode: 0o4755 })
  plant({ form: 'device' })
  plant({ id: good })
  plant({ sha256: sha256(readFileSync('/etc/passwd')) }, null)
  symlinkSync('/etc/passwd', join(old, 'snapshots', `snap_20250101T000000_${String(count).padStart(8, '0')}.txt`))
  writeFileSync(join(old, 'snapshots', 'x.meta.json'), '{}')
  const fine = plant({ path: 'fine.txt', call: 'call_x', session: 'sess_test', kind: 'write', undoneBy: null })
  const before = treeOf(old)

  expect((await runInside(world.project, ['state', 'import'])).code, 'nobody is there to ask').toBe(2)
  expect(existsSync(world.state(''))).toBe(false)
  const said = JSON.parse((await runInside(world.project, ['state', 'import', '--yes', '--json'])).out) as Record<string, unknown>
  expect(said).toMatchObject({ refused: count, reasons: expect.any(Array) as unknown[] })
  expect(treeOf(old)).toEqual(before)
  await world.reopen()
  const kept = world.runtime.snapshots(100, '')
  expect(kept).toHaveLength(3)
  expect(kept.find((one) => one.id === fine)).toMatchObject({ kind: 'baseline', call: null, session: null })
  expect(await world.call('restore_snapshot', { snapshotId: fine })).toMatchObject({ content: 'evil\n' })
  expect(world.runtime.token('person').token).not.toBe(token)
  expect(world.runtime.sessions().map((one) => one.id)).not.toContain('sess_test')
  expect(world.runtime.audit.verify().whole).toBe(true)
  expect(readFileSync(String(said['auditFile']))).toEqual(readFileSync(join(old, 'audit.jsonl')))
  expect(await runInside(world.project, ['undo', '--last', '--yes'])).toMatchObject({ code: 1 })
})

test('a home or a folder of the system is no project at the command line, unless a flag names the danger; no setting does', async () => {
  using ground = openGround(process.getuid?.() ?? 0)
  const look = async (project: string, ...more: string[]): Promise<string> => {
    const end = await runInside(project, ['sessions', '--json', ...more], { env: cleanEnv(ground.base) })
    return end.code === 0 ? 'fine' : errorOf(end).message
  }
  writeFileSync(join(ground.base, 'handrail.config.json'), '{"allowHomeAsProject": true}')
  expect(await look(ground.base)).toContain('a home folder')
  expect(await look('/etc')).toContain('a folder of the system')
  expect(await look('/', '--allow-system-folder-as-project', '--allow-home-as-project')).toContain('the root')
  rmSync(join(ground.base, 'handrail.config.json'))
  // The state may not lie in it, so the person must say where it goes.
  expect(await look(ground.base, '--allow-home-as-project')).toContain('it lies in the project')
  const elsewhere = mkdtempSync(join(tmpdir(), 'handrail-test-'))
  try {
    expect(await look(ground.base, '--allow-home-as-project', '--state', join(elsewhere, 'state'))).toBe('fine')
  } finally {
    rmSync(elsewhere, { recursive: true })
  }
})

test.skipIf(!canMount)(
  `a second name by a bind mount is the same folder (${canMount ? 'mounted' : 'SKIPPED: nobody may mount here'})`,
  () => {
    using ground = openGround(process.getuid?.() ?? 0)
    const at = join(ground.base, 'bound', 'here')
    mkdirSync(at, { recursive: true })
    const open = (bound: string, project: string, env: Record<string, string> = {}): string =>
      spawnSync(
        'unshare',
        [
          '-rm',
          'sh',
          '-c',
          'mount --bind "$A" "$B" && exec "$@"',
          'sh',
          process.execPath,
          program,
          'sessions',
          '--project',
          project,
        ],
        { env: { ...cleanEnv(ground.base, env), A: bound, B: at }, encoding: 'utf8' },
      ).stderr
    expect(open(ground.base, at)).toContain('a home folder')
    expect(open('/etc', at)).toContain('a folder of the system')
    expect(open(ground.project, ground.project, { HANDRAIL_STATE: join(at, 'state') })).toContain('it lies in the project')
    expect(existsSync(join(ground.project, 'state'))).toBe(false)
  },
)

test('a browser that the project brings is not started, though npm puts it first on the PATH', async () => {
  const names = ['chromium-headless-shell', 'chromium', 'google-chrome']
  const trap = '#!/bin/sh\ntouch "$0.ran"\n'
  await using world = await openWorld({
    files: Object.fromEntries(names.map((name) => [`node_modules/.bin/${name}`, trap])),
    environment: (base) => ({ PATH: `${base}/door/node_modules/.bin:${base}/project/node_modules/.bin:node_modules/.bin:.` }),
  })
  symlinkSync(world.project, join(world.base, 'door'))
  for (const name of names) chmodSync(world.path(`node_modules/.bin/${name}`), 0o755)
  const { says } = await world.runtime.capabilities.browser()
  expect(says).not.toContain('node_modules')
  expect(readdirSync(world.path('node_modules/.bin')).sort()).toEqual(names.toSorted())
})

test('the person’s own settings are out of reach where they lie in the project, there already or not', async () => {
  await using world = await openWorld({
    files: { 'dot/x': '' },
    flags: { 'write-requires-diff': 'false' },
    environment: (base) => ({ XDG_CONFIG_HOME: join(base, 'config') }),
  })
  symlinkSync(world.path('dot'), join(world.base, 'config'))
  const loosen = { path: 'dot/handrail/config.json', content: '{"enableShell": true}', dryRun: false }
  for (const _ of ['missing', 'there']) {
    await world.reopen()
    expect((await world.fault('write_to_file', loosen)).code).toBe('E_DENY_PATH')
    world.write('dot/handrail/config.json', '{}')
  }
})
