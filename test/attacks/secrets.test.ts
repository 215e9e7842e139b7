import { errorBodyOf, errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deniedSecrets, markedSecrets } from '../../src/text/secret-files.ts'
import { soon, stagesLeft, withShell } from '../support/stage.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

/** What no answer of any tool may hold. */
const canary = 'CANARY-7c1f'

/** The names of issue 9, row 4, and spellings of them. */
const secrets = [
  '.env',
  '.env.local',
  '.env.production.local',
  '.ENV.Local',
  'prod.env',
  '.envrc',
  '.env-prod',
  '.env~',
  '.npmrc.bak',
  '.npmrc',
  '.netrc',
  '.pypirc',
  '.git-credentials',
  'server.pem',
  'Server.KEY',
  'id_rsa',
  'id_dsa.bak',
  'id_ecdsa_work',
  'id_ed25519',
  '.aws/credentials',
  '.ssh/config',
  '.kube/config',
  '.docker/config.json',
  'vault.kdbx',
  'my-service-account-dev.json',
]
const deep = secrets.map((path) => `game/deep/${path}`)
const below = secrets.map((path) => `node_modules/pkg/lib/${path}`)
/** Near them, and nobody's business. */
const harmless = [
  '.env.example',
  '.env.local.sample',
  'a/.env.template',
  'id_rsa.pub',
  'docker/config.json',
  'config.json',
  'environment.ts',
  'keys.ts',
  'game/scene/monkey.txt',
  'kube/config',
  'aws/x.txt',
]
/** By what it holds, whatever its name is. */
const account = JSON.stringify({
  type: 'service_account',
  project_id: 'x',
  private_key: `-----BEGIN PRIVATE KEY-----\n${canary}\n`,
})

let world: World
beforeAll(async () => {
  const all = Object.fromEntries([...secrets, ...deep, ...below, ...harmless].map((path) => [path, `${canary}\n`]))
  world = await openWorld({ files: { ...all, 'game/data.json': account }, flags: withShell })
})
afterAll(() => world[Symbol.asyncDispose]())

const said = (value: unknown): string => JSON.stringify(value)

describe('tools', () => {
  test('read, write, replace and list none of them', async () => {
    for (const path of [...secrets, ...deep, ...below]) await outOfReach(path)
  })

  const outOfReach = async (path: string): Promise<void> => {
    const folder = path.split('/').slice(0, -1).join('/') || '.'
    for (const [tool, input] of [
      ['read_file', { path }],
      ['search_files', { path, regex: 'CANARY' }],
      ['replace_in_file', { path, find: canary, replace: 'x', dryRun: true }],
      ['replace_in_file', { path, find: canary, replace: 'x' }],
      ['write_to_file', { path, content: 'x', dryRun: true }],
      ['write_to_file', { path, content: 'x', dryRun: false }],
    ] as const) {
      const fault = await world.fault(tool, input)
      expect(fault.code, `${tool} ${path}`).toBe('E_DENY_PATH')
      expect(said(errorBodyOf(fault))).not.toContain(canary)
    }
    expect(said(await world.call('list_files', { path: folder }).catch((fault: Error) => fault.message))).not.toContain(
      `"${path.split('/').at(-1)}"`,
    )
  }

  test('a refusal says what it is, and how a person lets it through', async () => {
    const { message, hint } = await world.fault('read_file', { path: 'game/deep/.npmrc' })
    expect(message).toContain('package registry')
    expect(hint).toContain('handrail grants allow secret game/deep/.npmrc')
  })

  test('nothing of them is found by a search of everything; what only looks like one is', async () => {
    const { matches } = await world.call<{ matches: { path: string }[] }>('search_files', {
      path: '.',
      regex: canary,
      maxMatches: 500,
    })
    expect(matches.map(({ path }) => path).sort()).toEqual([...harmless].sort())
    for (const path of harmless) await world.call('read_file', { path })
  })

  test('a service account is known by what it holds', async () => {
    for (const [tool, input] of [
      ['read_file', { path: 'game/data.json' }],
      ['search_files', { path: 'game/data.json', regex: 'PRIVATE' }],
      ['replace_in_file', { path: 'game/data.json', find: 'x', replace: 'y', dryRun: true }],
    ] as const)
      expect((await world.fault(tool, input)).code, tool).toBe('E_DENY_PATH')
  })
})

describe('programs', () => {
  test('find nothing in any of them, also below node_modules', async () => {
    const { stdout } = await world.call<{ stdout: string }>('shell', {
      command: `grep -rl ${canary} . | sort; for f in ${[...secrets, ...below].map((path) => `'${path}'`).join(' ')}; do cat "$f"; done 2>/dev/null`,
    })
    expect(stdout.trim().split('\n')).toEqual([...harmless, 'game/data.json'].map((path) => `./${path}`).sort())
  })

  test('see what was put below node_modules a moment ago neither', async () => {
    for (let round = 0; round < 5; round++) {
      world.write(`node_modules/pkg/new${round}/.npmrc`, canary)
      world.write(`node_modules/pkg/lib/.env.round${round}`, canary)
      const { stdout } = await world.call<{ stdout: string }>('shell', {
        command: `cat node_modules/pkg/new*/.npmrc node_modules/pkg/lib/.env.round*`,
      })
      expect(stdout).not.toContain('CANARY')
    }
  })

  test('read .git/config without the credentials in it', async () => {
    world.write(
      '.git/config',
      [
        '[remote "origin"]',
        `\turl = https://user:${canary}@example.com/a/b.git`,
        '\tfetch = +refs/heads/*:refs/remotes/origin/*',
        `[remote "tok"]\n\turl = https://${canary}@example.com/a.git`,
        '[remote "ssh"]\n\turl = ssh://git@example.com/a.git',
        `[http "https://example.com/"]\n\textraheader = \\\n AUTHORIZATION: basic ${canary}`,
        `[url "https://x:${canary}@example.com/"]\n\tinsteadOf = https://example.com/`,
        `[sendemail]\n\tsmtpPass = ${canary}`,
        '',
      ].join('\n'),
    )
    world.write('.git/modules/sub/config', `[remote "origin"]\n\turl = https://u:${canary}@example.com/s.git\n`)
    world.write('.git/credentials', `https://u:${canary}@example.com\n`)
    const look = async (): Promise<string> =>
      (await world.call<{ stdout: string }>('shell', { command: 'cat .git/config .git/modules/sub/config .git/credentials' }))
        .stdout
    const seen = await look()
    expect(seen).not.toContain(canary)
    expect(seen).toContain('example.com/a/b.git')
    expect(seen).toContain('fetch = +refs/heads/*')
    expect(seen).toContain('ssh://git@example.com/a.git')
    // Changed in place, which no folder shows.
    writeFileSync(world.path('.git/config'), `[remote "new"]\n\turl = https://u:${canary}@other.example/c.git\n`)
    const anew = await look()
    expect(anew).not.toContain(canary)
    expect(anew).toContain('other.example/c.git')
  })

  test.each([
    ['made', (at: string) => writeFileSync(at, canary)],
    ['moved there', (at: string) => (writeFileSync(`${at}.example`, canary), renameSync(`${at}.example`, at))],
  ])('what is %s while one runs is not told, and nothing it changed is taken over', async (_, come) => {
    const word = `late-${Math.random().toString(36).slice(2)}`
    const path = `game/late/.env.${word}`
    world.write('game/late/x.txt', '')
    const running = world.fault(
      'shell',
      {
        command: `: ${word}; echo > game/up.txt; until ls -a game/late | grep -q ${word}$; do sleep 0.02; done; cat ${path}; echo x > game/taken.txt`,
      },
      { approvalWaitMs: 0 },
    )
    // It runs once it has written something; what comes from then on is late.
    expect(await soon(() => stagesLeft(world.base).some((stage) => existsSync(join(stage, 'upper/game/up.txt'))))).toBe(true)
    come(world.path(path))
    const fault = await running
    expect(said(errorBodyOf(fault))).not.toContain(canary)
    expect(fault.message).toContain(path)
    expect(fault.message).toContain('withheld')
    expect(existsSync(world.path('game/taken.txt'))).toBe(false)
    expect(world.runtime.approvals.list('pending')).toEqual([])
  })

  test('leave no secret of their own making in the project', async () => {
    const command = 'echo A=1 > game/.env.made; echo k > game/made.pem; echo x > game/made.txt'
    const answer = await world.call<{ changes: { path: string }[]; not_applied: string }>('shell', { command })
    expect(answer.changes.map(({ path }) => path)).toEqual(['game/made.txt'])
    expect(answer.not_applied).toContain('game/.env.made')
    expect(existsSync(world.path('game/.env.made')) || existsSync(world.path('game/made.pem'))).toBe(false)
  })
})

describe('a person', () => {
  const session = 'sess_grants'
  const cli = (...args: string[]) => runInside(world.project, ['grants', ...args])

  test('lets one through for a session: there and nowhere else, until it is taken back', async () => {
    world.runtime.openSession({ id: session, surface: 'mcp-stdio', client: 'test/1' })
    const read = (path: string, who = session) => world.call<{ content: string }>('read_file', { path }, { session: who })
    await expect(read('.npmrc')).rejects.toThrow('registry')
    const given = await cli('allow', 'secret', '.npmrc', '--session', session, '--json')
    expect(given.code, given.err).toBe(0)
    const { id } = JSON.parse(given.out) as { id: string }
    expect((await read('.npmrc')).content).toContain(canary)
    // Another session, another file, another act, another way in.
    await expect(read('.npmrc', 'sess_other')).rejects.toThrow('registry')
    await expect(read('.netrc')).rejects.toThrow('not allowed')
    await expect(read('game/deep/.npmrc')).rejects.toThrow('not allowed')
    expect((await world.fault('write_to_file', { path: '.npmrc', content: 'x', dryRun: false }, { session })).code).toBe(
      'E_DENY_PATH',
    )
    const found = await world.call<{ matches: { path: string }[] }>(
      'search_files',
      { path: '.', regex: canary, maxMatches: 500 },
      { session },
    )
    expect(found.matches.map(({ path }) => path)).not.toContain('.npmrc')
    expect((await cli('list')).out).toContain('.npmrc')
    expect((await cli('revoke', id)).code).toBe(0)
    await expect(read('.npmrc')).rejects.toThrow('registry')
    const events = world.runtime.audit.last(200).map(({ event, details }) => `${event} ${said(details)}`)
    for (const event of ['grant.given', 'grant.used', 'grant.revoked'])
      expect(
        events.some((line) => line.startsWith(event) && line.includes('.npmrc')),
        event,
      ).toBe(true)
    expect(said(events)).not.toContain(canary)
  })

  test('in the only session there is, or one that is named; not for ever; nothing that is no secret, and never what is Handrail’s own', async () => {
    const whose = ['--session', session]
    const given = JSON.parse((await cli('allow', 'secret', '.aws/credentials', '--for', '1h', '--json', ...whose)).out) as {
      session: string
      expiresAt: number
    }
    expect(given.session).toBe(session)
    expect(given.expiresAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
    expect(
      (await world.call<{ content: string }>('read_file', { path: '.aws/credentials' }, { session: given.session })).content,
    ).toContain(canary)
    for (const path of [
      'game/scene/monkey.txt',
      '.handrail/token',
      'handrail.config.json',
      '.git/config',
      '../.env',
      '/etc/passwd',
    ])
      expect((await cli('allow', 'secret', path, ...whose)).code, path).not.toBe(0)
  })
})

test('the table: each row has an example that it covers; what is marked is not denied', async () => {
  for (const { files, says } of [...deniedSecrets, ...markedSecrets]) {
    expect(files.length).toBeGreaterThan(0)
    expect(says).not.toBe('')
  }
  for (const path of [
    'secrets.yaml',
    'appsettings.Development.json',
    'terraform.tfstate',
    'wp-config.php',
    'database.yml',
    'game.sql',
  ]) {
    world.write(path, 'x\n')
    await world.call('read_file', { path })
  }
  expect(existsSync(join(world.project, 'secrets.yaml'))).toBe(true)
})

test('what a link that is called like a secret leads to is one for tools too, from when it is there until it is gone', async () => {
  const files = {
    'config.txt': canary,
    'keys/one.txt': canary,
    'docker/config.json': canary,
    'docker/free.txt': 'free',
    'a/c.txt': canary,
  }
  await using world = await openWorld({ files: { ...files, 'in.txt': canary, '.ssh/own': 'x', 'free.txt': 'free' } })
  const reads = async (path: string): Promise<string> =>
    world.call<{ content: string }>('read_file', { path }).then(
      ({ content }) => content,
      (fault: Fault) => `${errorCodeOf(fault)} ${String(fault.hint).replace(/.*: handrail/, 'handrail')}`,
    )
  /** What the system has to say of files is heard between two turns. */
  const heard = async (): Promise<void> => {
    await turn()
    await turn()
  }
  const refused = (path: string): string => `E_DENY_PATH handrail grants allow secret ${path} --session ID`
  expect(await reads('config.txt')).toBe(canary)
  symlinkSync('config.txt', world.path('.env'))
  symlinkSync('keys', world.path('.aws'))
  symlinkSync('docker', world.path('.docker'))
  mkdirSync(world.path('s'))
  symlinkSync('../a/b.txt', world.path('s/.npmrc'))
  symlinkSync('c.txt', world.path('a/b.txt'))
  symlinkSync('.', world.path('.kube'))
  // Not called like one, in a folder of them.
  symlinkSync('../in.txt', world.path('.ssh/work'))
  await heard()
  for (const path of ['in.txt', 'config.txt', 'keys/one.txt', 'docker/config.json', 'a/c.txt'])
    expect(await reads(path)).toBe(refused(path))
  for (const path of ['free.txt', 'docker/free.txt']) expect(await reads(path)).toBe('free')
  const all = JSON.stringify([
    await world.call('list_files', { path: '.', globs: ['**'] }),
    await world.call('search_files', { path: '.', regex: 'CANARY' }),
  ])
  expect(all).toContain('docker/free.txt')
  for (const hidden of [canary, 'config.txt', 'one.txt', 'config.json', 'c.txt']) expect(all).not.toContain(`"${hidden}`)
  expect((await world.fault('write_to_file', { path: 'config.txt', content: 'x', dryRun: true })).code).toBe('E_DENY_PATH')
  rmSync(world.path('.env'))
  await heard()
  expect(await reads('config.txt')).toBe(canary)
})
