import { symlinkSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { Config } from '../../src/contracts/config.ts'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { ask } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

/** Settings that only tighten must not take away what a person is asked about: what no tool may enter still starts other files. */

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
const usual = (Config.properties.policies.properties.forbiddenDirs as unknown as { default: string[] }).default
const forbidding = (...names: string[]): object => ({ policies: { forbiddenDirs: [...usual, ...names] } })

/** What comes of a write. */
async function write(world: World, path: string): Promise<string> {
  try {
    await world.call('write_to_file', { path, content: 'x\n', dryRun: false })
    return 'done'
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return fault.details?.['approvalId'] === undefined ? errorCodeOf(fault) : 'asked'
  }
}

afterEach(() => vi.useRealTimers())

test.for(['config', 'projectConfig'] as const)('a folder that is forbidden still starts what it names (%s)', async (whose) => {
  await using world = await openWorld({
    flags,
    files: {
      '.vscode/tasks.json': '{"tasks":[{"command":"sh tools/task.txt","runOptions":{"runOn":"folderOpen"}}]}',
      '.husky/pre-commit': 'sh tools/hook.txt\n',
      'private/.claude/settings.json': '{"hooks":"sh ../tools/deep.txt"}',
      'private/one/.git/hooks/pre-commit': '#!/bin/sh\nsh ../../tools/inner.txt\n',
      'docs/a.txt': '',
    },
    [whose]: forbidding('.vscode', '.husky', 'private'),
  })
  symlinkSync('../docs/linked.txt', world.path('.vscode/settings.json'))
  expect(await write(world, '.vscode/tasks.json')).toBe('E_DENY_PATH')
  expect(await write(world, 'tools/free.txt')).toBe('done')
  for (const path of ['tools/task.txt', 'tools/hook.txt', 'tools/deep.txt', 'tools/inner.txt', 'docs/linked.txt'])
    expect([path, await write(world, path)]).toEqual([path, 'asked'])
})

test.for([
  [forbidding('objects'), 'd/HEAD'],
  [forbidding('refs', 'd/objects'), 'd/config'],
  [{ policies: { sandboxRoot: 'd/hooks' } }, 'd/hooks/note.txt'],
] as const)('parts of a repository that tools may not look at are there all the same: %j', async ([projectConfig, path]) => {
  const parts = ['d/HEAD', 'd/objects/x', 'd/refs/x', 'd/hooks/x'].filter((one) => one !== path)
  await using world = await openWorld({ flags, files: Object.fromEntries(parts.map((one) => [one, ''])), projectConfig })
  expect(await write(world, path)).toBe('asked')
})

test('a project does not shorten how long a no holds', async () => {
  await using world = await openWorld({ flags, projectConfig: { limits: { approvalTtlMs: 1_000, runApprovalTtlMs: 1_000 } } })
  const input = { path: 'package.json', content: '{}\n', dryRun: false }
  const { id } = await ask(world, input, 'write_to_file')
  world.runtime.approvals.decide(id, { approve: false, by: 'test', note: 'never' })
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  const again = await world.fault('write_to_file', input, { session: 'sess_next' })
  expect(again).toMatchObject({ details: { declined: true, approvalId: id, note: 'never' } })
})
