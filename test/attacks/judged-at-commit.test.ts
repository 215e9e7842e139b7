import { existsSync, mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { approve, ask, withShell } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

const flags = { ...withShell, 'approval-wait-ms': '0', 'write-requires-diff': 'false' }

/** What comes of calls that are sent together. */
const together = (world: World, calls: readonly [tool: string, input: Record<string, unknown>][]): Promise<string[]> =>
  Promise.all(
    calls.map(async ([tool, input]) => {
      try {
        await world.call(tool, { ...input, dryRun: false })
        return 'done'
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault
        return fault.details?.['approvalId'] === undefined ? errorCodeOf(fault) : 'asked'
      }
    }),
  )
const writing = (path: string, content = 'x\n'): [string, Record<string, unknown>] => ['write_to_file', { path, content }]
const replacing = (path: string, find: string, replace: string): [string, Record<string, unknown>] => [
  'replace_in_file',
  { path, find, replace },
]
const notesOfAll = (world: World): string =>
  world.runtime.approvals
    .list('pending')
    .flatMap(({ id }) => world.runtime.approvals.get(id)?.card.notes ?? [])
    .join('\n')

test('parts of a repository that are written together are judged together', async () => {
  await using world = await openWorld({ flags })
  const parts = ['d/HEAD', 'd/objects/x', 'd/refs/x', 'd/config']
  const came = await together(
    world,
    parts.map((path) => writing(path)),
  )
  expect(came.filter((one) => one === 'asked').length).toBeGreaterThan(0)
  expect(came.every((one) => one === 'asked' || one === 'done')).toBe(true)
  expect(parts.every((path) => existsSync(world.path(path)))).toBe(false)
  expect(notesOfAll(world)).toContain('makes its folder a git repository of its own')
})

test('the same from several sessions, with a dry run before, and in any order', async () => {
  await using world = await openWorld({ flags: { ...flags, 'write-requires-diff': 'true' } })
  for (const [index, order] of [
    ['HEAD', 'objects/x', 'refs/x'],
    ['refs/x', 'HEAD', 'objects/x'],
    ['HEAD', 'commondir'],
  ].entries()) {
    const paths = order.map((path) => `d${index}/${path}`)
    for (const path of paths) await world.call('write_to_file', { path, content: 'x\n', dryRun: true }, { session: path })
    const came = await Promise.allSettled(
      paths.map((path) => world.call('write_to_file', { path, content: 'x\n', dryRun: false }, { session: path })),
    )
    expect(came.map(({ status }) => status)).toContain('rejected')
    expect(paths.every((path) => existsSync(world.path(path)))).toBe(false)
  }
})

test('a script is not put together from two replacements', async () => {
  await using world = await openWorld({ flags })
  for (let round = 0; round < 5; round++) {
    const path = `t${round}.txt`
    world.write(path, 'QZ/bin/sh\n')
    const came = await together(world, [replacing(path, 'Q', '#'), replacing(path, 'Z', '!')])
    expect(came.sort()).toEqual(['asked', 'done'])
    expect(world.read(path).startsWith('#!')).toBe(false)
  }
})

test('a yes to that counts, and lets the same call through', async () => {
  await using world = await openWorld({ flags })
  world.write('t.txt', 'QZ/bin/sh\n')
  const calls = [replacing('t.txt', 'Q', '#'), replacing('t.txt', 'Z', '!')]
  const came = await together(world, calls)
  for (const question of world.runtime.approvals.list('pending')) approve(world, question)
  expect(await together(world, [calls[came.indexOf('asked')] ?? writing('none')])).toEqual(['done'])
  expect(world.read('t.txt')).toBe('#!/bin/sh\n')
})

test('a yes is a yes to what the card said: what else a file has become by then is asked anew', async () => {
  await using world = await openWorld({ flags: { ...flags, 'ask-from': 'R1' } })
  const head = { path: 'd/HEAD', content: 'x\n', dryRun: false }
  const question = await ask(world, head, 'write_to_file')
  expect(question.card.notes?.join('') ?? '').not.toContain('git repository')
  approve(world, question)
  world.write('d/objects/x', '')
  world.write('d/refs/x', '')
  expect((await world.fault('write_to_file', head)).code).toBe('E_CONFLICT')
  expect((await ask(world, head, 'write_to_file')).card.notes?.join('')).toContain('git repository')
  expect(existsSync(world.path('d/HEAD'))).toBe(false)
})

test('nor does what a program made, where the files around it changed after the yes', async () => {
  await using world = await openWorld({ flags })
  mkdirSync(world.path('d'))
  const input = { command: 'echo x > d/HEAD; mkdir e; chmod 777 e' }
  const question = await ask(world, input)
  expect(question.card.notes?.join('') ?? '').not.toContain('git repository')
  approve(world, question)
  expect(await together(world, [writing('d/objects/x'), writing('d/refs/x')])).toEqual(['done', 'done'])
  expect((await world.fault('shell', input)).code).toBe('E_CONFLICT')
  expect(existsSync(world.path('d/HEAD'))).toBe(false)
})

test('a yes to a link is one to what it leads to, a file or a folder', async () => {
  for (const command of ['mkdir .vscode && ln -s ../docs/tasks.json .vscode/tasks.json', 'ln -s docs .vscode']) {
    await using world = await openWorld({ flags, files: { 'docs/tasks.json': '{"tasks":[]}\n' } })
    approve(world, await ask(world, { command }))
    expect(await together(world, [replacing('docs/tasks.json', '[]', '["evil"]')])).toEqual(['done'])
    expect([command, (await world.fault('shell', { command })).code]).toEqual([command, 'E_CONFLICT'])
    expect(existsSync(world.path('.vscode/tasks.json'))).toBe(false)
    // Left alone, it counts.
    approve(world, await ask(world, { command }))
    await world.call('shell', { command })
    expect(world.read('.vscode/tasks.json')).toContain('evil')
  }
})
