import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Caller } from '../../src/contracts/call.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { AgentCaller } from '../../src/contracts/gate.ts'
import type { Profile } from '../../src/contracts/profile.ts'
import { openRootLocks } from '../../src/host/root-locks.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { dyingWhen, killedAt, moments } from '../support/killed-at.ts'
import { runInside } from '../support/inside.ts'
import { cleanEnv, openWorld, runCli, type World } from '../support/world.ts'

const agent: AgentCaller = { surface: 'mcp-http', client: 'other/1', session: 'sess_roots', role: 'agent' }
const person: Caller = { surface: 'cli', client: 'person', session: 'sess_person', role: 'person' }
const all: Profile = { roots: 'all', paths: 'absolute', dryRun: false }

/** A world with one further root, `docs`, beside the project. */
const openDocs = (files: Record<string, string> = { 'a.txt': 'one\n' }): Promise<World> =>
  openWorld({
    files: { 'a.txt': 'project\n' },
    beside: Object.fromEntries(Object.entries(files).map(([name, content]) => [join('docs', name), content])),
    config: (base: string) => ({ roots: [`docs=${base}/docs`] }),
    flags: { 'approval-wait-ms': '0' },
  })

const docs = (world: World, name = ''): string => join(world.base, 'docs', name)
const read = (world: World, name: string): string => readFileSync(docs(world, name), 'utf8')

/** The answer, or the reason it was refused for. */
const ask = (world: World, tool: string, input: object, profile = all): Promise<unknown> =>
  world.runtime
    .gateFor(profile)
    .call(tool, input, agent)
    .then(
      ({ output }) => output,
      (fault: unknown) => (fault instanceof Fault ? fault.reason : Promise.reject(fault)),
    )
const put = (world: World, path: string, content: string): Promise<unknown> =>
  ask(world, 'write_to_file', { path, content, dryRun: false })

test('a root is judged as a project is, and one that cannot be used is out of reach and said', async () => {
  await using world = await openWorld({
    files: { 'sub/a.txt': 'a\n' },
    beside: { 'docs/a.txt': 'a\n', 'docs/in/a.txt': 'a\n', 'other/b.txt': 'b\n' },
  })
  symlinkSync('docs', join(world.base, 'alias'))
  symlinkSync('/etc', join(world.base, 'innocent'))
  writeFileSync(join(world.base, 'file.txt'), '')
  const at = (name: string): string => join(world.base, name)
  const wrong: [string, RegExp][] = [
    ['/', /root of the file system/],
    ['/etc', /folder of the system/],
    [at('innocent'), /folder of the system/],
    [world.base, /home folder/],
    [world.project, /the project lie in each other/],
    [world.path('sub'), /the project lie in each other/],
    [at('state'), /Handrail keeps its own/],
    [at('nowhere'), /No such folder/],
    [at('file.txt'), /Not a folder/],
  ]
  for (const [path, why] of wrong) {
    await world.reopen({ roots: `docs=${path}` })
    expect([path, world.runtime.roots]).toEqual([
      path,
      [{ name: 'docs', path: expect.any(String), why: expect.stringMatching(why) }],
    ])
    expect([path, await ask(world, 'list_files', { path: '//docs' })]).toEqual([path, 'path-denied'])
    expect([path, await ask(world, 'list_files', { path })]).toEqual([
      path,
      path === world.path('sub') || path === world.project ? expect.anything() : 'path-denied',
    ])
  }
  for (const second of ['docs/in', 'docs', 'alias']) {
    await world.reopen({ roots: `docs=${at('docs')},more=${at(second)}` })
    expect(world.runtime.roots).toMatchObject([
      { path: at('docs') },
      { why: expect.stringMatching(/lie in each other/) as string },
    ])
  }
  await world.reopen({ roots: `docs=${at('docs')},docs=${at('other')}` })
  expect(world.runtime.roots).toMatchObject([{ path: at('docs') }, { why: 'two roots have this name' }])
  await world.reopen({ roots: `docs=${at('alias')}` })
  expect(world.runtime.roots, 'known by its real path').toEqual([{ name: 'docs', path: at('docs') }])
  expect(await ask(world, 'read_file', { path: at('docs/a.txt') })).toMatchObject({ content: 'a\n' })
})

test('no flag makes a folder of the system a root', async () => {
  await using world = await openWorld()
  const given = { project: world.project, environment: cleanEnv(world.base), allows: ['system', 'home'] as const }
  for (const path of ['/etc', '/usr/local/bin', '/var', '/']) {
    const runtime = openRuntime({ ...given, flags: { roots: `docs=${path}` } })
    expect([path, runtime.roots]).toMatchObject([path, [{ why: expect.stringMatching(/system/) as string }]])
    await runtime.close()
  }
})

test('a project cannot bring a root of its own before it is trusted', async () => {
  await using world = await openWorld({ beside: { 'docs/a.txt': 'a\n' } })
  world.write('handrail.config.json', JSON.stringify({ roots: [`docs=${docs(world)}`] }))
  await world.reopen()
  expect(world.runtime.roots).toEqual([])
  expect(world.runtime.projectSettings?.ignored).toMatchObject([
    { key: 'roots', says: expect.stringContaining('docs') as string },
  ])
})

test('a name stands for one folder as long as anything is kept under it', async () => {
  await using world = await openDocs()
  mkdirSync(join(world.base, 'other'))
  await put(world, docs(world, 'a.txt'), 'two\n')
  await world.reopen({ roots: `docs=${world.base}/other` })
  expect(world.runtime.roots).toMatchObject([{ why: expect.stringContaining(docs(world)) as string }])
  expect(await put(world, join(world.base, 'other/new.txt'), 'x\n')).toBe('path-denied')
  await world.reopen({ roots: '' }, { HANDRAIL_ROOTS: '' })
  const [state] = world.runtime.snapshots(1, '//docs/')
  await expect(world.runtime.call('undo', { snapshot: state?.id, dryRun: false }, person)).rejects.toMatchObject({
    reason: 'path-denied',
  })
  expect(read(world, 'a.txt')).toBe('two\n')
  await world.reopen()
  await world.runtime.call('undo', { snapshot: state?.id, dryRun: false }, person)
  expect(read(world, 'a.txt')).toBe('one\n')
})

test('roots come and go with the settings, without a new start', async () => {
  await using world = await openDocs()
  mkdirSync(join(world.base, 'more'))
  writeFileSync(join(world.base, 'more/b.txt'), 'more\n')
  const operator = openRuntime({ project: world.project, environment: cleanEnv(world.base), live: true })
  try {
    const gate = operator.gateFor(all)
    const look = (path: string): Promise<unknown> =>
      gate.call('read_file', { path }, agent).then(
        ({ output }) => (output as { content: string }).content,
        (fault: Fault) => fault.reason,
      )
    const now = async (): Promise<unknown[]> => [await look(docs(world, 'a.txt')), await look(join(world.base, 'more/b.txt'))]
    expect(await now()).toEqual(['one\n', 'path-denied'])
    const changed = new Promise<void>((resolve) => gate.onToolsChanged(resolve))
    world.settings({ disabledTools: ['search_files'], roots: [`more=${world.base}/more`] })
    await changed
    expect(await now()).toEqual(['path-denied', 'more\n'])
    expect(operator.roots).toEqual([{ name: 'more', path: join(world.base, 'more') }])
  } finally {
    await operator.close()
  }
})

test('a root that is moved away and replaced by a link while a server runs leads nowhere else', async () => {
  await using world = await openDocs()
  expect(await ask(world, 'read_file', { path: docs(world, 'a.txt') })).toMatchObject({ content: 'one\n' })
  renameSync(docs(world), join(world.base, 'moved'))
  mkdirSync(join(world.base, 'evil'))
  writeFileSync(join(world.base, 'evil/a.txt'), 'evil\n')
  symlinkSync('evil', docs(world))
  expect(await ask(world, 'read_file', { path: docs(world, 'a.txt') })).toMatchObject({ content: 'one\n' })
  await put(world, docs(world, 'a.txt'), 'two\n')
  expect(readFileSync(join(world.base, 'moved/a.txt'), 'utf8')).toBe('two\n')
  expect(readFileSync(join(world.base, 'evil/a.txt'), 'utf8')).toBe('evil\n')
  await world.reopen()
  expect(world.runtime.roots, 'judged again').toMatchObject([{ why: expect.stringContaining('another name') as string }])
})

test('secrets and files that run are those of the root, by way of links too, and of links from one root into another', async () => {
  await using world = await openDocs({
    'plain.txt': 'KEY=1\n',
    'crossed.txt': 'KEY=2\n',
    'tasks/tasks.json': '{}\n',
    Makefile: 'all:\n',
  })
  symlinkSync('plain.txt', docs(world, '.env'))
  symlinkSync(docs(world, 'crossed.txt'), world.path('.env'))
  symlinkSync(docs(world, 'tasks'), world.path('.vscode'))
  for (const path of ['.env', 'plain.txt', 'crossed.txt'])
    expect([path, await ask(world, 'read_file', { path: docs(world, path) })]).toEqual([path, 'path-denied'])
  expect(await put(world, docs(world, 'tasks/tasks.json'), '{"a":1}\n')).toBe('needs-approval')
  const [waiting] = world.runtime.approvals.list('pending')
  const { card } = world.runtime.approvals.get(waiting?.id ?? '') ?? {}
  expect(card?.notes?.join('\n')).toContain('.vscode/tasks.json')
  expect(card?.notes, 'a person is told which folder it is').toContain(`//docs is ${docs(world)}.`)
  // Named by where they lie in their root.
  expect(await put(world, docs(world, '.odd'), 'x\n')).toBe('needs-approval')
  expect(await put(world, docs(world, 'sub/.odd'), 'x\n')).toMatchObject({ applied: true })
  for (const path of ['.git/hooks/pre-commit', '.handrail/x', 'handrail.config.json'])
    expect([path, await put(world, docs(world, path), 'x\n')]).toEqual([path, 'path-denied'])
})

test('a secret of a root is let through to one session by its own name, and by no other', async () => {
  await using world = await openDocs({ '.env': 'KEY=1\n' })
  world.write('docs/.env', 'KEY=2\n')
  const { grants, openSession } = world.runtime
  openSession({ id: agent.session, surface: 'mcp-http', client: 'other/1' })
  const give = async (subject: string): Promise<string> =>
    (await grants.give({ kind: 'secret', subject, session: agent.session, by: 'person' })).subject
  const [inRoot, inProject] = [docs(world, '.env'), 'docs/.env']
  const answers = async (): Promise<unknown[]> => [
    await ask(world, 'read_file', { path: inRoot }),
    await ask(world, 'read_file', { path: inProject }),
  ]
  expect(await give(inProject)).toBe('docs/.env')
  expect(await answers()).toEqual(['path-denied', expect.objectContaining({ content: 'KEY=2\n' })])
  for (const { id } of grants.list()) grants.revoke(id, 'person')
  expect(await give(inRoot)).toBe('//docs/.env')
  expect(await answers()).toEqual([expect.objectContaining({ content: 'KEY=1\n' }), 'path-denied'])
  expect(await put(world, inRoot, 'KEY=3\n')).toBe('path-denied')
})

test('search, lists and snapshots name their root; a program stays in the project', async () => {
  await using world = await openDocs({ 'a.txt': 'one\n', 'sub/b.txt': 'one\n' })
  await world.reopen({ 'enable-shell': 'true' })
  const matches = [{ path: '//docs/a.txt' }, { path: '//docs/sub/b.txt' }]
  expect(await ask(world, 'search_files', { path: docs(world), regex: 'one' })).toMatchObject({ matches })
  expect(await ask(world, 'search_files', { path: '//docs', regex: '(?=o)one' })).toMatchObject({ matches })
  expect(await ask(world, 'search_files', { path: '.', regex: 'one' })).toMatchObject({ matches: [] })
  expect(await ask(world, 'list_files', { path: '//docs', globs: ['**'] })).toEqual({ entries: ['a.txt', 'sub', 'sub/b.txt'] })
  expect(await ask(world, 'read_file', { path: '//docs' })).toBe('io')
  for (const cwd of ['//docs', docs(world, 'sub')]) expect(await ask(world, 'shell', { command: 'ls', cwd })).toBe('path-denied')
})

/** One session's writes in both roots, new files and new folders among them. */
async function writeBoth(world: World): Promise<void> {
  await put(world, 'a.txt', 'project changed\n')
  await put(world, docs(world, 'a.txt'), 'docs changed\n')
  await put(world, docs(world, 'new/b.txt'), 'docs made\n')
}
const both = (world: World): string[] => [
  world.read('a.txt'),
  read(world, 'a.txt'),
  existsSync(docs(world, 'new/b.txt')) ? read(world, 'new/b.txt') : 'nothing',
]

test(
  'kill -9 at every moment of one change over both roots: all of it or nothing, and nothing of ours left',
  { timeout: 600_000 },
  async () => {
    const before = ['project\n', 'one\n', 'nothing']
    const after = ['project changed\n', 'docs changed\n', 'docs made\n']
    const seen = new Set<string>()
    for (const moment of moments('both roots', 20)) {
      await using world = await openDocs()
      await writeBoth(world)
      expect(both(world)).toEqual(after)
      await world.runtime.close()
      const undo = ['undo', '--session', agent.session, '--yes']
      const { code } = await killedAt(world.base, world.project, undo, moment, 'INSERT INTO snapshots')
      await world.reopen()
      const now = both(world)
      expect([before, after], `moment ${moment}`).toContainEqual(now)
      seen.add(now[0] ?? '')
      expect(readdirSync(docs(world)).filter((name) => name.includes('handrail'))).toEqual([])
      expect(existsSync(docs(world, 'new'))).toBe(now[2] !== 'nothing')
      for (const path of ['a.txt', '//docs/a.txt'])
        expect(world.runtime.snapshots(1, path)[0]?.bytes, `moment ${moment}: the newest state of ${path}`).toBe(
          Buffer.byteLength(now[path === 'a.txt' ? 0 : 1] ?? ''),
        )
      expect(world.runtime.audit.verify().whole).toBe(true)
      if (code === 0) break
    }
    expect(seen, 'some kills came before it counted and some after').toEqual(new Set(['project\n', 'project changed\n']))
  },
)

test('a change that was killed in a root which is gone waits until the root is back; the project goes on', async () => {
  await using world = await openDocs()
  await writeBoth(world)
  await world.runtime.close()
  // Right after the first of two files has been moved back.
  const undo = ['undo', '--session', agent.session, '--yes']
  expect(await runCli(world.project, undo, { env: dyingWhen(world.base, 'after a.txt') })).not.toMatchObject({ code: 0 })
  expect(new Set(both(world).map((text) => text.includes('changed') || text.includes('made'))).size).toBe(2)
  renameSync(docs(world), join(world.base, 'away'))
  await world.reopen({ 'write-requires-diff': 'false' })
  expect(world.runtime.roots).toMatchObject([{ why: expect.stringContaining('No such folder') as string }])
  expect(await world.call('write_to_file', { path: 'other.txt', content: 'x\n', dryRun: false })).toMatchObject({
    applied: true,
  })
  await world.runtime.close()
  renameSync(join(world.base, 'away'), docs(world))
  await world.reopen({ roots: '' })
  expect(both(world), 'also where the settings no longer name it').toEqual(['project\n', 'one\n', 'nothing'])
})

test('projects that share a root do not interleave their commits in it', async () => {
  await using world = await openDocs({ 'log.txt': '' })
  const second = join(world.base, 'second')
  mkdirSync(second)
  const other = openRuntime({ project: second, environment: cleanEnv(world.base) })
  const itself = openRuntime({ project: docs(world), environment: cleanEnv(world.base) })
  try {
    const gates = [world.runtime.gateFor(all), other.gateFor(all), itself.gateFor(all)]
    const path = docs(world, 'log.txt')
    const append = async (gate: (typeof gates)[number], content: string): Promise<void> => {
      const input = { path, content, mode: 'append', dryRun: false }
      for (;;) {
        const done = await gate.call('write_to_file', input, agent).catch((fault: Fault) => fault.reason)
        if (done === 'conflict') continue
        expect(done).toMatchObject({ output: { applied: true } })
        return
      }
    }
    const lines = gates.flatMap((gate, which) => Array.from({ length: 12 }, (_, n) => append(gate, `${which}-${n}\n`)))
    await Promise.all(lines)
    expect(read(world, 'log.txt').trim().split('\n').sort()).toEqual(
      gates.flatMap((_, which) => Array.from({ length: 12 }, (__, n) => `${which}-${n}`)).sort(),
    )
    expect(readdirSync(docs(world))).toEqual(['log.txt'])
  } finally {
    await other.close()
    await itself.close()
  }
})

test('who commits in a root waits for whoever does so already, in whichever project; who does not goes on', async () => {
  await using world = await openDocs()
  await put(world, docs(world, 'a.txt'), 'two\n')
  const base = openStateFolder(join(world.base, 'state', 'handrail'))
  const locks = openRootLocks(base, '/nobody')
  const itself = openRuntime({ project: docs(world), environment: cleanEnv(world.base) })
  try {
    const waiting: Promise<unknown>[] = []
    await locks.hold([docs(world)], async () => {
      waiting.push(put(world, docs(world, 'a.txt'), 'three\n'))
      const input = { path: 'own.txt', content: 'x\n', dryRun: false }
      waiting.push(itself.gateFor(all).call('write_to_file', input, agent))
      // So many calls that each of the two would be over long since, if it did not wait.
      for (let n = 0; n < 300; n++) await ask(world, 'read_file', { path: 'a.txt' })
      expect(read(world, 'a.txt')).toBe('two\n')
      expect(existsSync(docs(world, 'own.txt')), 'where the root is a project itself as well').toBe(false)
    })
    await Promise.all(waiting)
    expect([read(world, 'a.txt'), read(world, 'own.txt')]).toEqual(['three\n', 'x\n'])
    await locks.hold([docs(world)], async () => {
      expect(await put(world, 'a.txt', 'project goes on\n')).toMatchObject({ applied: true })
    })
  } finally {
    await itself.close()
    locks.close()
    base.close()
  }
})

test('the command line shows what was done in a root, and which folder it is', async () => {
  await using world = await openDocs()
  await put(world, docs(world, 'a.txt'), 'two\n')
  await world.runtime.close()
  const which = `//docs is ${docs(world)}`
  for (const words of [['snapshots'], ['audit', 'show'], ['doctor'], ['undo', '--last', '--yes']]) {
    const { out } = await (words[0] === 'undo' ? runCli : runInside)(world.project, words)
    const flat = out.replace(/\s+/g, ' ')
    expect([words, flat.includes(which)]).toEqual([words, true])
    if (words[0] !== 'doctor') expect(flat).toContain('//docs/a.txt')
  }
  expect(read(world, 'a.txt')).toBe('one\n')
  await world.reopen()
})
