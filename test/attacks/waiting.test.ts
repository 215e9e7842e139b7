import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { approve, ask, endAllWith, noNamespaces, processesWith, soon, withShell } from '../support/stage.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'

// One client does all it can to keep the others waiting. What is asserted is who was answered before whom, never how fast.

const evil = `${'a'.repeat(40)}!\n`
/** Explodes in JavaScript, and ripgrep does not know it. */
const bomb = '(?=^(a+)+$)'
const greedy = { session: 'sess_greedy', client: 'greedy/1' }
const honest = { session: 'sess_honest', client: 'honest/1' }

/** Long programs of one client, each found by a word of its own, and how many of them have ended. */
function programs(world: World, count: number) {
  const word = `w${randomBytes(6).toString('hex')}`
  const stop = new AbortController()
  const ended: string[] = []
  const all = Array.from({ length: count }, (_, index) =>
    world
      .call('shell', { command: `sleep 300; : ${word} ${index}`, timeout_seconds: 120 }, { ...greedy, signal: stop.signal })
      .then(
        () => 'ended',
        () => 'ended',
      )
      .then((how) => ended.push(how)),
  )
  words.push(word)
  return {
    ended,
    /** At least so many run at this moment. */
    async up(least: number): Promise<void> {
      expect(await soon(() => processesWith(word).length >= least, 60_000), `${least} programs`).toBe(true)
    },
    running: () => processesWith(`${word} `).length,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('enough'))
      await Promise.all(all)
    },
  }
}

const words: string[] = []
afterEach(() => {
  for (const word of words.splice(0)) endAllWith(word)
})

test('beside long programs of one client every read, write and program of another is answered before any of them ends, and what the first itself reads', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: withShell })
  await using many = programs(world, 40)
  await many.up(12)
  expect(await world.call('read_file', { path: 'a.txt' }, honest)).toMatchObject({ content: 'a\n' })
  expect(await world.call('search_files', { path: '.', regex: 'a' }, honest)).toMatchObject({ matches: [{ path: 'a.txt' }] })
  await world.call('write_to_file', { path: 'b.txt', content: 'b\n', dryRun: true }, honest)
  await world.call('write_to_file', { path: 'b.txt', content: 'b\n', dryRun: false }, honest)
  expect(world.read('b.txt')).toBe('b\n')
  expect(many.ended).toEqual([])
  expect(await world.call('shell', { command: 'cat a.txt' }, honest)).toMatchObject({ stdout: 'a\n' })
  expect(await world.call('read_file', { path: 'a.txt' }, greedy)).toMatchObject({ content: 'a\n' })
  expect(many.ended).toEqual([])
})

test('a program that nothing confines has the project to itself: whoever would change it is told so before it ends', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: { ...withShell, 'write-requires-diff': 'false' } })
  await world.reopen({ bubblewrap: noNamespaces(world.base) })
  const word = `w${randomBytes(6).toString('hex')}`
  words.push(word)
  const input = { command: `sleep 300; : ${word}`, timeout_seconds: 120 }
  approve(world, await ask(world, input, 'shell', greedy))
  const stop = new AbortController()
  let ended = false
  const running = world
    .call('shell', input, { ...greedy, signal: stop.signal })
    .catch(() => undefined)
    .finally(() => (ended = true))
  expect(await soon(() => processesWith(word).length > 0, 60_000)).toBe(true)
  const fault = await world.fault('write_to_file', { path: 'a.txt', content: 'b\n', dryRun: false }, honest)
  expect(fault).toMatchObject({ code: 'E_CONFLICT', details: { tool: 'shell' } })
  expect(await world.call('read_file', { path: 'a.txt' }, honest)).toMatchObject({ content: 'a\n' })
  expect(ended).toBe(false)
  stop.abort(new Error('enough'))
  await running
})

describe('slow patterns of one client', () => {
  const slow = { 'search-timeout-ms': '30000', 'regex-timeout-ms': '30000' }

  test('searches and replacements of another are answered before any of them ends', async () => {
    const files = { 'evil.txt': evil, 'calm.txt': 'calm\n' }
    await using world = await openWorld({ files, flags: slow })
    const stop = new AbortController()
    const ended: unknown[] = []
    const bombs = Array.from({ length: 30 }, () =>
      world
        .call('search_files', { path: '.', regex: bomb }, { ...greedy, signal: stop.signal })
        .catch((fault: unknown) => fault)
        .then((how) => ended.push(how)),
    )
    const found = await world.call('search_files', { path: 'calm.txt', regex: '(?=ca)calm' }, honest)
    expect(found).toMatchObject({ matches: [{ path: 'calm.txt', line: 1 }] })
    const input = { path: 'calm.txt', find: 'c(.)lm', replace: 'k$1lm', flags: '' }
    expect(await world.call('replace_in_file', input, honest)).toEqual({ count: 1 })
    expect(await world.call('read_file', { path: 'calm.txt' }, honest)).toMatchObject({ content: 'kalm\n' })
    expect(ended).toEqual([])
    stop.abort(new Error('enough'))
    await Promise.all(bombs)
  })

  // What may be a script is drafted before anybody could be asked about it.
  const texts = [
    ['an ordinary file', evil],
    ['a file that may become a script', `#\n${evil}`],
  ] as const
  const holds = 'is thought about for long holds neither its file nor the project, in this process and in another'
  test.for(texts)(`a change of %s that ${holds}`, async ([, text]) => {
    const files = { 'evil.txt': text, 'calm.txt': 'calm\n' }
    await using world = await openWorld({ files, flags: { ...slow, 'write-requires-diff': 'false' } })
    await using other = await openStdio(world.project, { args: ['--write-requires-diff', 'false'] })
    const stop = new AbortController()
    const ended: unknown[] = []
    const thinking = world
      .call('replace_in_file', { path: 'evil.txt', find: bomb, replace: 'x', flags: 'm' }, { ...greedy, signal: stop.signal })
      .catch((fault: unknown) => fault)
      .then((how) => ended.push(how))
    await new Promise((resolve) => setImmediate(resolve))
    expect(await world.call('read_file', { path: 'evil.txt' }, honest)).toMatchObject({ content: text })
    await world.call('write_to_file', { path: 'calm.txt', content: 'one\n', dryRun: false }, honest)
    expect(await other.call('write_to_file', { path: 'calm.txt', content: 'two\n', dryRun: false })).toMatchObject({
      applied: true,
    })
    await world.call('write_to_file', { path: 'evil.txt', content: 'three\n', dryRun: false }, honest)
    expect(world.read('evil.txt')).toBe('three\n')
    expect(ended).toEqual([])
    stop.abort(new Error('enough'))
    await thinking
    expect(world.read('evil.txt')).toBe('three\n')
  })
})

test('a change that others overtook is thought out again on what stands there now: nothing of theirs is lost', async () => {
  await using world = await openWorld({ files: { 'list.txt': '' }, flags: { 'write-requires-diff': 'false' } })
  await using other = await openStdio(world.project, { args: ['--write-requires-diff', 'false'] })
  await world.call('write_to_file', { path: 'list.txt', content: 'end\n', dryRun: false })
  const names = Array.from({ length: 24 }, (_, index) => `n${index}`)
  await Promise.all(
    names.map((name, index) => {
      const input = { path: 'list.txt', find: 'end\n', replace: `${name}\nend\n` }
      if (index % 3 === 0) return other.call('replace_in_file', input)
      return world.call('replace_in_file', input, { session: `sess_${index % 5}` })
    }),
  )
  expect(world.read('list.txt').trim().split('\n').toSorted()).toEqual([...names, 'end'].toSorted())
})

test('the calls of one client that wait are bounded; it is told so, and another is let in', async () => {
  const flags = { ...withShell, 'max-queued': '20', 'max-concurrent': '1' }
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags })
  const stop = new AbortController()
  const doing = Array.from({ length: 200 }, () =>
    world
      .call('search_files', { path: '.', regex: 'a' }, { ...greedy, signal: stop.signal })
      .then(() => undefined)
      .catch((fault: Fault) => errorBodyOf(fault).error),
  )
  expect(await world.call('search_files', { path: '.', regex: 'a' }, honest)).toMatchObject({ matches: [{ path: 'a.txt' }] })
  const refused = (await Promise.all(doing)).filter((fault) => fault !== undefined)
  expect(refused.length).toBeGreaterThan(100)
  expect(refused[0]).toMatchObject({
    code: 'E_POLICY_VIOLATION',
    recoverable: true,
    details: { busy: true, waiting: 20 },
    hint: expect.stringContaining('maxQueued') as string,
  })
})
