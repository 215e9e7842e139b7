import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeEach, expect, test } from 'vitest'
import { openInside, runInside } from '../support/inside.ts'
import { cleanEnv, openStdio, openWorld, program } from '../support/world.ts'
import { approve, auditText, codeOf, newCanary, noDiff, pending, state, unseen, write } from '../support/records.ts'
import { drawsWords } from '../support/seed.ts'
import { sweep } from '../support/soak.ts'

const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'], { stdio: 'ignore' }).status === 0

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
    const { out, err } = await runInside(world.project, args)
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

let pick = drawsWords('records')
// Each test draws the same, whichever ran before it.
beforeEach(() => void (pick = drawsWords('records')))
const random = (length: number, letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'): string =>
  pick(length, letters)
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
  for (let lead = 370; lead <= 400; lead += sweep(1, 5)) {
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
  const { code, err } = await runInside(world.project, [
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
  await using peer = await openInside(world.project, { args: ['--approval-wait-ms', '0', '--write-requires-diff', 'false'] })
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
