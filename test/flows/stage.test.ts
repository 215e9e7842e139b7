// @stage
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, watch, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { Effect } from '../../src/contracts/stage.ts'
import { openInside, runInside } from '../support/inside.ts'
import { cleanEnv, openStdio, openWorld, program, type World } from '../support/world.ts'
import {
  agreed,
  approve,
  ask,
  endAllWith,
  noNamespaces,
  processesWith,
  soon,
  stagesLeft,
  stubborn,
  theStage,
  treeOf,
  shownFirst,
  withShell,
  type Standing,
} from '../support/stage.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'

/** Few, so that what is planted and what is done meet. */
const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 1, arbitrary: fc.constantFrom('.hid', 'x y', 'ü', '-n', '$x', "q'q") },
)
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
const content = fc.constantFrom('', 'one\n', 'two\nlines\n', 'no end', '\u0000\u0001\u0002', '汉字\n')
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o700, 0o444, 0o555, 0o777)
const target = fc.constantFrom('a', 'b', 'a/b', '../a', './c', '/no-such-place/x', '../../no-such-place/x')

const entry = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('file' as const), path, content, mode }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('folder' as const), path, mode: fc.constantFrom(0o755, 0o700, 0o775) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('link' as const), path, target }) },
)

type Entry = typeof entry extends fc.Arbitrary<infer One> ? One : never

const quoted = (word: string): string => `'./${word.replaceAll("'", "'\\''")}'`
const octal = (content: string): string =>
  [...Buffer.from(content)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** What a person could type, each tried whatever became of those before. */
const operation = fc.oneof(
  fc.tuple(path, content).map(([at, text]) => `printf '${octal(text)}' > ${quoted(at)}`),
  fc.tuple(path, content).map(([at, text]) => `printf '${octal(text)}' >> ${quoted(at)}`),
  path.map((at) => `rm ${quoted(at)}`),
  path.map((at) => `rm -r ${quoted(at)}`),
  path.map((at) => `mkdir -p ${quoted(at)}`),
  path.map((at) => `rmdir ${quoted(at)}`),
  fc.tuple(path, path).map(([from, to]) => `mv ${quoted(from)} ${quoted(to)}`),
  fc.tuple(path, path).map(([from, to]) => `mv -T ${quoted(from)} ${quoted(to)}`),
  // What becomes of a folder that is copied into itself depends on the order in which its names are read.
  fc
    .tuple(path, path)
    .filter(([from, to]) => !`${to}/`.startsWith(`${from}/`))
    .map(([from, to]) => `cp -a ${quoted(from)} ${quoted(to)}`),
  fc.tuple(path, path).map(([from, to]) => `ln ${quoted(from)} ${quoted(to)}`),
  fc.tuple(target, path).map(([to, at]) => `ln -s '${to}' ${quoted(at)}`),
  fc.tuple(target, path).map(([to, at]) => `ln -sfn '${to}' ${quoted(at)}`),
  // A folder nobody may enter cannot be moved on an overlay, where moving is copying.
  fc
    .tuple(path, mode)
    .map(([at, bits]) => `${bits & 0o100 ? '' : `[ -d ${quoted(at)} ] || `}chmod ${bits.toString(8)} ${quoted(at)}`),
  fc.tuple(path, content).map(([at, text]) => `rm -rf ${quoted(at)}; printf '${octal(text)}' > ${quoted(at)}`),
  path.map((at) => `rm -rf ${quoted(at)}; mkdir -p ${quoted(at)}`),
  fc
    .tuple(path, name)
    .map(([at, inside]) => `rm -rf ${quoted(at)}; mkdir -p ${quoted(at)}; echo n > ${quoted(`${at}/${inside}`)}`),
  fc.constant('rm -rf ./*'),
  path.map((at) => `touch ${quoted(at)}`),
  path.map((at) => `cp ${quoted(at)} ./copy && mv ./copy ${quoted(at)}`),
)

function plant(folder: string, entries: readonly Entry[]): void {
  for (const one of entries) {
    const at = join(folder, one.path)
    try {
      if (one.kind === 'folder') mkdirSync(at, { recursive: true })
      else mkdirSync(dirname(at), { recursive: true })
      if (one.kind === 'file') writeFileSync(at, one.content, { flag: 'wx' })
      if (one.kind === 'link') symlinkSync(one.target, at)
      if (one.kind !== 'link') chmodSync(at, one.mode)
    } catch {
      // Two entries that cannot both stand: the first one does.
    }
  }
}

/** Takes away what a run left in the project, its copy, and stages of a run that failed, whatever their permissions are. */
function clear(world: World): void {
  const planted = readdirSync(world.project).map((found) => world.path(found))
  const all = [join(world.base, 'copy'), ...planted, ...stagesLeft(world.base)].filter((one) =>
    lstatSync(one, { throwIfNoEntry: false }),
  )
  execFileSync('/bin/sh', ['-c', 'for one; do [ -L "$one" ] || chmod -R u+rwX "$one"; rm -rf "$one"; done', 'clear', ...all])
}

/** One line for each thing that is different, in the words of an effect. */
function differenceOf(before: Record<string, Standing>, after: Record<string, Standing>): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...paths].flatMap((at) => lineOf(at, before[at], after[at])).sort()
}

function lineOf(at: string, before: Standing | undefined, after: Standing | undefined): string[] {
  const same = before !== undefined && after !== undefined && before.form === after.form && before.sha256 === after.sha256
  if (same && before.mode === after.mode) return []
  const kind = !before ? 'created' : !after ? 'deleted' : same ? 'mode' : 'modified'
  const side = (one: Standing | undefined): string =>
    one ? `${one.mode.toString(8)} ${one.bytes} ${one.sha256.slice(0, 12)} ${one.target ?? ''}` : 'nothing'
  return [`${kind} ${(after ?? before)?.form} ${at}: ${side(before)} → ${side(after)}`]
}

/** The same of effects; what was moved is two things. */
function linesOf(effects: readonly Effect[]): string[] {
  return effects
    .flatMap((effect) => {
      const side = (index: 0 | 1): string =>
        effect.modes[index] === null
          ? 'nothing'
          : `${effect.modes[index].toString(8)} ${effect.sizes[index]} ${effect.hashes[index]?.slice(0, 12)} ${effect.targets?.[index] ?? ''}`
      if (effect.kind !== 'renamed') return [`${effect.kind} ${effect.form} ${effect.path}: ${side(0)} → ${side(1)}`]
      return [`created file ${effect.path}: nothing → ${side(1)}`, `deleted file ${effect.from}: ${side(0)} → nothing`]
    })
    .sort()
}

/** On a stage root has no capabilities, so it has none where its program is run plainly for comparison. */
const powerless = process.getuid?.() === 0 ? ['/usr/bin/setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []

/** A tree, a copy of it, and a script that has been run on the copy as it is. */
function rehearse(world: World, entries: readonly Entry[], operations: readonly string[], by: readonly string[] = powerless) {
  const copy = join(world.base, 'copy')
  clear(world)
  plant(world.project, entries)
  cpSync(world.project, copy, { recursive: true, verbatimSymlinks: true })
  const command = operations.map((one) => `{ ${one}; } 2>/dev/null`).join('\n') + '\ntrue'
  const before = treeOf(world.project)
  for (const [at, { form, mode: bits }] of Object.entries(before).reverse()) if (form !== 'link') chmodSync(join(copy, at), bits)
  expect(treeOf(copy)).toEqual(before)
  execFileSync('/usr/bin/env', [...by, '/bin/sh', '-c', command], {
    cwd: copy,
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8' },
  })
  return { command, before, after: treeOf(copy) }
}

const runs = sweep(400, 5)

test('a stage shows exactly what plain running would do, committing does exactly that, undo takes back exactly that', async () => {
  await using world = await openWorld({ flags: shownFirst })
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 14 }),
      fc.array(operation, { minLength: 1, maxLength: 10 }),
      async (entries, operations) => {
        const { command, before, after } = rehearse(world, entries, operations)
        const expected = differenceOf(before, after)
        if (expected.length === 0) {
          expect(await world.call('shell', { command }, { approvalWaitMs: 0 })).toMatchObject({ changes: [] })
          return
        }
        const approval = await ask(world, { command })
        const { record } = theStage(world.base)
        expect(linesOf(record.ran?.effects ?? [])).toEqual(expected)
        expect(record.ran?.leftover).toEqual([])
        const effects = record.ran?.effects ?? []
        const shown = approval.card.changes.map(({ path }) => path)
        expect(effects.map(({ path }) => path).filter((path) => !shown.includes(path))).toEqual([])
        // What a new link gives another name is shown besides.
        if (!effects.some(({ form }) => form === 'link')) expect(shown.length).toBe(effects.length)
        expect(treeOf(world.project)).toEqual(before)
        approve(world, approval)
        await world.call('shell', { command }, { approvalWaitMs: 0 })
        expect(treeOf(world.project)).toEqual(after)
        expect(stagesLeft(world.base)).toEqual([])
        await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
        expect(treeOf(world.project)).toEqual(before)
      },
    ),
    { numRuns: runs },
  )
  clear(world)
}, 600_000)

test('where nothing confines, the same: what it did is said exactly, undo takes back exactly that', async () => {
  await using world = await openWorld({ flags: shownFirst })
  await world.reopen({ bubblewrap: noNamespaces(world.base) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 14 }),
      fc.array(
        // Second names are a matter of their own, below.
        operation.filter((one) => !one.startsWith("ln './")),
        { minLength: 1, maxLength: 10 },
      ),
      async (entries, operations) => {
        const { command, before, after } = rehearse(world, entries, operations, [])
        const approval = await ask(world, { command })
        expect(treeOf(world.project)).toEqual(before)
        approve(world, approval)
        const { changes } = await world.call<{ changes: { path: string; from?: string }[] }>(
          'shell',
          { command },
          { approvalWaitMs: 0 },
        )
        expect(treeOf(world.project)).toEqual(after)
        const told = changes.flatMap((change) => [change.path, ...(change.from === undefined ? [] : [change.from])])
        const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])]
        expect(told.sort()).toEqual(paths.filter((at) => lineOf(at, before[at], after[at]).length > 0).sort())
        expect(stagesLeft(world.base)).toEqual([])
        if (told.length === 0) return
        await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
        expect(treeOf(world.project)).toEqual(before)
      },
    ),
    { numRuns: Math.ceil(runs / 3) },
  )
  clear(world)
}, 600_000)

/** A project with everything that could get lost. */
function plantAll(world: World): void {
  world.write('game/scene/start.txt', 'hello\n')
  world.write('game/run.sh', '#!/bin/sh\n')
  world.write('picture.png', Buffer.from([0x89, 0x50, 0, 1, 2, 255]))
  world.write('empty.txt', '')
  world.write('kept/.hidden', 'hidden\n')
  mkdirSync(world.path('hollow/deep'), { recursive: true })
  symlinkSync('game/scene/start.txt', world.path('link'))
  symlinkSync('no/where', world.path('broken'))
  chmodSync(world.path('game/run.sh'), 0o755)
  chmodSync(world.path('game/scene/start.txt'), 0o640)
  chmodSync(world.path('hollow'), 0o700)
}

const wipe = 'rm -rf * && echo x > new.txt'

describe('a command that destroys everything', () => {
  test('over MCP: untouched, every deletion shown, approved in a terminal, committed, taken back byte for byte', async () => {
    await using world = await openWorld()
    plantAll(world)
    const before = treeOf(world.project)
    await using peer = await openStdio(world.project, { args: ['--enable-shell', '--approval-wait-ms', '0'] })
    const asked = await peer.call('shell', { command: wipe })
    const id = String(asked.error?.details?.['approvalId'])
    expect(asked.error?.code).toBe('E_POLICY_VIOLATION')
    expect(treeOf(world.project)).toEqual(before)
    const shown = await runInside(world.project, ['approvals', 'show', id])
    for (const path of Object.keys(before)) expect(shown.out).toContain(`${path}: deleted`)
    expect(shown.out).toContain('new.txt: created')
    expect(await runInside(world.project, ['approvals', 'approve', id])).toMatchObject({ code: 0 })
    expect(treeOf(world.project)).toEqual(before)
    expect(await peer.call('shell', { command: wipe })).toMatchObject({ ok: true, exit_code: 0, confined: true })
    expect(Object.keys(treeOf(world.project))).toEqual(['new.txt'])
    expect(world.read('new.txt')).toBe('x\n')
    expect(await runInside(world.project, ['undo', '--last', '--yes'])).toMatchObject({ code: 0 })
    expect(treeOf(world.project)).toEqual(before)
    expect(stagesLeft(world.base)).toEqual([])
    expect(await runInside(world.project, ['audit', 'verify'])).toMatchObject({ code: 0 })
  })

  test('over the command line, an undo and the undo of the undo', async () => {
    await using world = await openWorld()
    plantAll(world)
    const before = treeOf(world.project)
    const call = ['call', 'shell', JSON.stringify({ command: wipe }), '--enable-shell', '--wait', '0']
    const asked = await runInside(world.project, call)
    expect(asked.code).toBe(1)
    const [id = ''] = /appr_[0-9a-f]{32}/.exec(asked.err) ?? []
    await runInside(world.project, ['approvals', 'approve', id])
    expect(await runInside(world.project, call)).toMatchObject({ code: 0 })
    const after = treeOf(world.project)
    const undone = await runInside(world.project, ['undo', '--last', '--yes', '--json'])
    expect(treeOf(world.project)).toEqual(before)
    const { call: undo } = JSON.parse(undone.out) as { call: string }
    await runInside(world.project, ['undo', undo, '--yes'])
    expect(treeOf(world.project)).toEqual(after)
  })

  test('a person who says no: nothing changed, nothing kept', async () => {
    await using world = await openWorld()
    plantAll(world)
    const before = treeOf(world.project)
    await using peer = await openInside(world.project, { args: ['--enable-shell', '--approval-wait-ms', '0'] })
    const id = String((await peer.call('shell', { command: wipe })).error?.details?.['approvalId'])
    await runInside(world.project, ['approvals', 'deny', id, '--note', 'not like that'])
    expect((await peer.call('shell', { command: wipe })).error?.message).toContain('not like that')
    expect(treeOf(world.project)).toEqual(before)
    expect(stagesLeft(world.base)).toEqual([])
  })
})

test('large and small, text and not: a commit and its undo do not depend on what may be read', async () => {
  await using world = await openWorld({ flags: { ...shownFirst, 'max-read-bytes': '100000', 'batch-max-lines': '50' } })
  // More than may be read, and in a soak much more.
  const lines = sweep(100_000, 30_000)
  world.write('large.txt', 'line\n'.repeat(lines))
  world.write('large.bin', Buffer.alloc(300_000, 7))
  world.write('gone.txt', 'line\n'.repeat(lines))
  world.write('many.txt', 'line\n'.repeat(500))
  const before = treeOf(world.project)
  const command = `sed -i s/line/other/ large.txt; head -c 400000 /dev/zero > large.bin; rm gone.txt; sed -i s/line/other/ many.txt; seq ${lines} > new.txt`
  await agreed(world, { command })
  const after = treeOf(world.project)
  expect(differenceOf(before, after)).toHaveLength(5)
  expect(await runInside(world.project, ['undo', '--last', '--yes'])).toMatchObject({ code: 0 })
  expect(treeOf(world.project)).toEqual(before)
})

test('shell is offered only where a person switched it on: by flag, by environment, by config', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a' } })
  let hasRun = false
  const offered = async (options: Parameters<typeof openInside>[1]): Promise<boolean> => {
    await using peer = await openInside(world.project, options)
    const { tools } = await peer.client.listTools()
    const listed = tools.some((tool) => tool.name === 'shell')
    // Whoever is offered it can run something: tried once, and in a soak each time. Else what it is given is looked at, and that is enough.
    const isTried = listed && (isSoak || !hasRun)
    hasRun ||= listed
    const answer = await peer.call('shell', { command: listed && !isTried ? 'a\0b' : 'echo hi' })
    if (isTried) expect(answer['stdout']).toBe('hi\n')
    else expect(answer.error?.code).toBe(listed ? 'E_BAD_ARGS' : 'E_TOOL_DISABLED')
    return listed
  }
  expect(await offered({})).toBe(false)
  expect(await offered({ args: ['--mode', 'developer'] })).toBe(false)
  expect(await offered({ args: ['--enable-shell'] })).toBe(true)
  expect(await offered({ env: { HANDRAIL_ENABLE_SHELL: '1' } })).toBe(true)
  expect(await offered({ env: { HANDRAIL_ENABLE_SHELL: '0' } })).toBe(false)
  world.write('handrail.config.json', JSON.stringify({ enableShell: true }))
  expect(await offered({})).toBe(false)
  world.settings({ enableShell: true })
  expect(await offered({})).toBe(true)
})

const eventsOf = (world: World, event: AuditLine['event']): AuditLine[] =>
  [...world.runtime.audit.lines()].filter((line) => line.event === event)

/** The real program on its way through one call, to be killed. */
function startCall(world: World, input: Record<string, unknown>, more: string[] = []) {
  const args = [
    program,
    'call',
    'shell',
    JSON.stringify(input),
    '--project',
    world.project,
    '--enable-shell',
    '--wait',
    '0',
    ...more,
  ]
  const child = spawn(process.execPath, args, { env: cleanEnv(world.base), stdio: 'ignore' })
  const gone = once(child, 'close')
  return { kill: () => child.kill('SIGKILL'), gone, over: () => child.exitCode !== null || child.signalCode !== null }
}

let count = 0
const word = (): string => `handrail-killed-${process.pid}-${count++}`

describe('kill -9 of Handrail', () => {
  test('while a program runs on its stage: the project as before, no process, no stage, and the log says so', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    const before = treeOf(world.project)
    const mark = word()
    await using peer = await openStdio(world.project, { args: ['--enable-shell'] })
    const call = peer.call('shell', { command: `rm a.txt; ${stubborn(mark)}`, timeout_seconds: 100 }).catch(() => 'died')
    expect(await soon(() => processesWith(mark).length >= 2)).toBe(true)
    process.kill(peer.pid, 'SIGKILL')
    expect(await call).toBe('died')
    expect(await soon(() => processesWith(mark).length === 0)).toBe(true)
    expect(treeOf(world.project)).toEqual(before)
    await world.reopen()
    expect(stagesLeft(world.base)).toEqual([])
    expect(eventsOf(world, 'recovered')).toMatchObject([{ tool: 'shell' }])
    expect(eventsOf(world, 'recovered')[0]?.call).toBe(eventsOf(world, 'call.start')[0]?.call)
    expect(treeOf(world.project)).toEqual(before)
  })

  test('at any moment of its start: nothing goes on without it', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    const marks: string[] = []
    for (let turn = 0; turn < 14; turn += sweep(1, 8)) {
      const mark = word()
      marks.push(mark)
      const started = startCall(world, { command: `while :; do sleep 1; : ${mark}; done`, timeout_seconds: 100 })
      // As soon as anything of it is to be seen, and a little later each time.
      expect(await soon(() => processesWith(mark).length > 1 || started.over())).toBe(true)
      await pause(turn * 2)
      started.kill()
      await started.gone
    }
    try {
      expect(await soon(() => marks.every((mark) => processesWith(mark).length === 0))).toBe(true)
    } finally {
      marks.forEach(endAllWith)
    }
    await world.reopen()
    expect(stagesLeft(world.base)).toEqual([])
    expect(world.read('a.txt')).toBe('one\n')
  })

  test('during a commit of many files, at some moment (soak: 500, at many moments): as before or all of it, and the log says which', async () => {
    await using world = await openWorld({ flags: withShell })
    const some = sweep(50, 7)
    for (let at = 0; at < 8 * some; at++) world.write(`d${at % 7}/f${at}`, `old ${at}\n`)
    const command = `for i in $(seq 0 ${4 * some - 1}); do echo new $i > d$((i % 7))/f$i; done
      for i in $(seq ${4 * some} ${7 * some - 1}); do rm d$((i % 7))/f$i; done
      mkdir made; for i in $(seq ${3 * some}); do echo made $i > made/$i; done`
    const session = 'cli-default'
    const outcomes: string[] = []
    // One of the three kinds of moments, another with every seed; in a soak, four of each.
    const kind = draws('moments of a commit')(3)
    const turns = isSoak ? Array.from({ length: 12 }, (_, turn) => turn) : [kind * 4]
    for (const turn of turns) {
      const before = treeOf(world.project)
      const approval = await ask(world, { command }, 'shell', { session })
      approve(world, approval)
      const seen = eventsOf(world, 'call.resumed').length
      const started = startCall(world, { command })
      const changed = firstChange(world, ['made', 'd0', 'd1'])
      // As soon as the first file moves, somewhere on the way there, and when the last one has.
      const moments = [
        () => changed.then(() => pause(turn)),
        () => pause(250 + turn * 25),
        () => soon(() => existsSync(world.path(`made/${2 * some - 1}`))).then(() => pause(turn * 6)),
      ]
      await Promise.race([moments[turn % 3]?.(), started.gone])
      started.kill()
      await started.gone
      // Whoever acts next puts right what was left.
      await world.reopen()
      await world.put('touched.txt', `turn ${turn}\n`)
      await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
      expect(existsSync(world.path('touched.txt'))).toBe(false)
      const now = treeOf(world.project)
      const done = existsSync(world.path('made'))
      if (done) expect(now['d0/f0']).not.toEqual(before['d0/f0'])
      else expect(now).toEqual(before)
      expect(Object.keys(now)).toHaveLength(done ? 7 + 5 * some + 3 * some + 1 : 7 + 8 * some)
      outcomes.push(done ? 'after' : 'before')
      const lines = [...world.runtime.audit.lines()]
      const start = eventsOf(world, 'call.resumed')
        .slice(seen)
        .find((line) => line.tool === 'shell')
      if (start) {
        const about = lines.filter((line) => line.seq > start.seq && (line.call === start.call || line.event === 'recovered'))
        const says = about.map((line) => `${line.event} ${line.outcome ?? ''} ${line.message ?? ''}`)
        // A start that nothing says to have landed is one that did nothing.
        expect(says.some((one) => /call\.(landed|end ok)|changes of its program had landed/.test(one))).toBe(done)
        // And one that used up a yes is said to have done nothing.
        const used = world.runtime.approvals.get(approval.id)?.state === 'used'
        if (used && !done) expect(says.join()).toMatch(/recovered/)
      } else expect(done).toBe(false)
      // Killed before the yes was used: it still stands, and so does its stage.
      const stands = world.runtime.approvals.get(approval.id)?.state === 'approved'
      expect(stagesLeft(world.base)).toHaveLength(stands ? 1 : 0)
      if (stands) await world.call('shell', { command }, { session, approvalWaitMs: 0 })
      if (done || stands) await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
      expect(treeOf(world.project)).toEqual(before)
    }
    expect(outcomes).toHaveLength(turns.length)
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
  })
})

/** The first sign of a change in the project. */
function firstChange(world: World, names: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const watchers = [world.project, ...names.map((one) => world.path(one)).filter((one) => existsSync(one))].map((folder) =>
      watch(folder),
    )
    for (const one of watchers)
      one.on('change', (_, name) => {
        if (String(name).startsWith('.handrail')) return
        for (const each of watchers) each.close()
        resolve()
      })
  })
}

describe('a system that lets nothing be confined', () => {
  test('a person is asked before anything runs, told so, and what it did can be taken back', async () => {
    await using world = await openWorld({ flags: shownFirst })
    plantAll(world)
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const before = treeOf(world.project)
    const proof = join(world.base, 'ran')
    const command = `echo ran > ${proof}; ${wipe}`
    const approval = await ask(world, { command })
    expect(existsSync(proof)).toBe(false)
    expect(treeOf(world.project)).toEqual(before)
    expect(approval.card.notes?.join('\n')).toMatch(/NOT CONFINED/)
    expect(approval.card.notes?.join('\n')).toContain(wipe)
    approve(world, approval)
    expect(await world.call('shell', { command }, { approvalWaitMs: 0 })).toMatchObject({ ok: true, confined: false })
    expect(existsSync(proof)).toBe(true)
    expect(Object.keys(treeOf(world.project))).toEqual(['new.txt'])
    await runInside(world.project, ['undo', '--last', '--yes'])
    expect(treeOf(world.project)).toEqual(before)
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('a command that only reads is asked about, too; a no means that it did not run', async () => {
    await using world = await openWorld({ flags: shownFirst })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const command = `echo ran > ${world.base}/ran`
    const approval = await ask(world, { command })
    world.runtime.approvals.decide(approval.id, { approve: false, by: 'test' })
    expect((await world.fault('shell', { command }, { approvalWaitMs: 0 })).details).toMatchObject({ declined: true })
    expect(existsSync(join(world.base, 'ran'))).toBe(false)
  })

  test('a second name for a file can be taken back, too', async () => {
    await using world = await openWorld({ flags: shownFirst, files: { 'a.txt': 'one\n', 'd/b.txt': 'two\n' } })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const before = treeOf(world.project)
    await agreed(world, { command: 'ln a.txt d/c.txt; echo more >> d/b.txt' })
    await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
    expect(treeOf(world.project)).toEqual(before)
  })

  test('an approval is for one run', async () => {
    await using world = await openWorld({ flags: shownFirst })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const command = `echo ran >> ${world.base}/ran`
    await agreed(world, { command })
    await ask(world, { command })
    expect(execFileSync('cat', [join(world.base, 'ran')]).toString()).toBe('ran\n')
  })

  test('the terminal that asks says that nothing confines it', async () => {
    await using world = await openWorld()
    const flags = ['--enable-shell', '--bubblewrap', noNamespaces(world.base), '--wait', '0']
    const { err } = await runInside(world.project, ['call', 'shell', '{"command":"id"}', ...flags])
    expect(err).toContain('NOT CONFINED')
  })

  test('refused where the settings say so', async () => {
    await using world = await openWorld({ flags: shownFirst })
    await world.reopen({ bubblewrap: noNamespaces(world.base), unconfined: 'refuse' })
    const fault = await world.fault('shell', { command: `echo ran > ${world.base}/ran` }, { approvalWaitMs: 0 })
    expect(fault.code).toBe('E_UNSUPPORTED')
    expect(world.runtime.approvals.list()).toEqual([])
    expect(existsSync(join(world.base, 'ran'))).toBe(false)
  })

  test('kill -9 of Handrail takes its program along, whatever that did to get away', async () => {
    await using world = await openWorld({ flags: shownFirst, files: { 'a.txt': 'one\n' } })
    const bubblewrap = noNamespaces(world.base)
    await world.reopen({ bubblewrap })
    const mark = word()
    const input = { command: `echo two > a.txt; ${stubborn(mark)}`, timeout_seconds: 100 }
    approve(world, await ask(world, input, 'shell', { session: 'cli-default' }))
    const started = startCall(world, input, ['--bubblewrap', bubblewrap])
    try {
      // The program that runs it, and two that ran away; whoever starts it has the mark in its words, too.
      expect(await soon(() => processesWith(mark).length >= 3 && world.read('a.txt') === 'two\n')).toBe(true)
      started.kill()
      await started.gone
      expect(await soon(() => processesWith(mark).length === 0)).toBe(true)
    } finally {
      endAllWith(mark)
    }
    await world.reopen({ bubblewrap })
    expect(eventsOf(world, 'recovered')).toMatchObject([{ tool: 'shell' }])
    // It was not confined, so what it did is real, and the log must not say otherwise.
    expect(world.read('a.txt')).toBe('two\n')
    expect(eventsOf(world, 'recovered')[0]?.message).not.toMatch(/as it was before/)
  })
})
