import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { ask, withShell } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

const flags = { ...withShell, 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
let world: World
beforeAll(async () => {
  world = await openWorld({ flags })
})
afterAll(() => world[Symbol.asyncDispose]())

let notes = ''
async function call(tool: string, input: Record<string, unknown>, approve = false): Promise<string> {
  notes = ''
  try {
    await world.call(tool, { ...input, dryRun: false })
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') return errorCodeOf(fault as Fault)
    notes = world.runtime.approvals.get(id)?.card.notes?.join('\n') ?? ''
    world.runtime.approvals.decide(id, { approve, by: 'test' })
    // The next write is judged for itself, and not for this no.
    if (!approve) world.runtime.approvals.lift(id, 'test')
    if (approve) await world.call(tool, { ...input, dryRun: false })
    return 'asked'
  }
}
const write = (path: string, content: string, approve = false) => call('write_to_file', { path, content }, approve)
const put = (path: string, content: string, mode = 0o644): void => {
  world.write(path, content)
  chmodSync(world.path(path), mode)
}

test('a script in the place of another file, executable or not', async () => {
  put('a.txt', 'words\n')
  expect(await write('a.txt', '#!/bin/sh\necho 1\n')).toBe('asked')
  expect(notes).toContain('a.txt: can be executed by its first bytes from now on')
  put('run', '#!/bin/sh\necho 1\n', 0o755)
  expect(await write('run', '#!/bin/sh\necho 2\n')).toBe('done')
  expect(world.runtime.audit.last(3).some((line) => JSON.stringify(line).includes('can be executed, and is another'))).toBe(true)
  put('old', 'no script at all\n', 0o744)
  expect(await write('old', 'still none\n')).toBe('done')
  expect(await write('old', '#!/bin/sh\nrm x\n')).toBe('asked')
  put('same', '#!/bin/sh\necho 1\n')
  expect(await write('same', '#!/bin/sh\necho 2\n')).toBe('done')
})

test('piece by piece: added to, replaced in', async () => {
  put('b.txt', 'x#!/bin/sh\n')
  expect(await call('replace_in_file', { path: 'b.txt', find: 'x', replace: '' })).toBe('asked')
  put('c.txt', 'aa/bin/sh\n')
  expect(await call('replace_in_file', { path: 'c.txt', find: '^aa', replace: '#!', flags: 'g' })).toBe('asked')
  put('tool', '#!/bin/sh\necho 1\n', 0o755)
  expect(await call('replace_in_file', { path: 'tool', find: 'echo', replace: 'printf' })).toBe('done')
  put('d.txt', 'one # two!\n')
  expect(await call('replace_in_file', { path: 'd.txt', find: 'one', replace: 'two' })).toBe('done')
})

test('once in a session for each file', async () => {
  put('again', 'words\n')
  expect(await write('again', '#!/bin/sh\n1\n', true)).toBe('asked')
  put('again', 'words\n')
  expect(await write('again', '#!/bin/sh\n2\n')).toBe('done')
})

test('what a program changes in what can be executed', async () => {
  put('exe', '#!/bin/sh\necho 1\n', 0o755)
  const { card } = await ask(world, { command: 'echo evil >> exe; ln -s exe link' })
  expect(card.notes?.join('\n')).toContain('exe: can be executed, and is another from now on')
})

test('what listed files start: hooks, installs, containers, and where git looks for hooks', async () => {
  await using own = await openWorld({
    flags,
    files: {
      'package.json': '{"main":"lib/main.js","scripts":{"postinstall":"node tools/after.js","build":"node tools/build.js"}}',
      '.husky/pre-commit': 'node tools/lint.js\n',
      '.pre-commit-config.yaml': 'repos:\n- hooks:\n  - entry: python tools/check.py\n',
      '.devcontainer/devcontainer.json': '{"initializeCommand":"sh tools/host.txt"}',
      '.git/config': '[core]\n\thooksPath = tools/hooks\n',
      'tools/real-hook.txt': '',
    },
  })
  mkdirSync(own.path('.git/hooks'))
  symlinkSync('../../tools/real-hook.txt', own.path('.git/hooks/pre-push'))
  const said = async (path: string): Promise<string> => {
    try {
      await own.call('write_to_file', { path, content: 'x', dryRun: false })
      return 'done'
    } catch (fault) {
      return (fault as Fault).details?.['approvalId'] === undefined ? errorCodeOf(fault as Fault) : 'asked'
    }
  }
  for (const path of ['after.js', 'lint.js', 'check.py', 'host.txt', 'hooks/pre-commit', 'real-hook.txt'])
    expect([path, await said(`tools/${path}`)]).toEqual([path, 'asked'])
  for (const path of ['lib/main.js', 'tools/build.js', 'tools/other.js']) expect([path, await said(path)]).toEqual([path, 'done'])
})
