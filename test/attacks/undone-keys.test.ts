import { expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

const undo = async (world: World): Promise<void> => {
  const { code, err } = await runInside(world.project, ['undo', '--last', '--yes'])
  expect([code, err]).toEqual([0, ''])
}

test('a key whose change was undone says so, and neither claims the change nor makes it again', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: { 'write-requires-diff': 'false' } })
  const input = { path: 'a.txt', content: 'two\n', dryRun: false, idempotencyKey: 'k1' }
  const first = await world.call('write_to_file', input)
  expect(await world.call('write_to_file', input)).toEqual(first)
  await undo(world)
  expect(world.read('a.txt')).toBe('one\n')
  for (const session of ['sess_test', 'sess_other']) {
    const fault = await world.fault('write_to_file', input, { session })
    expect(fault).toMatchObject({ code: 'E_CONFLICT', message: expect.stringContaining('undone') as string })
    expect(fault.hint).toContain('new key')
  }
  expect(world.read('a.txt')).toBe('one\n')
  expect(await world.call('write_to_file', { ...input, content: 'three\n', idempotencyKey: 'k2' })).toMatchObject({
    applied: true,
  })
})
