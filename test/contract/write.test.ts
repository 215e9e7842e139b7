import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

test('a write needs its dry run, keeps both states and can be read back', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  expect((await world.fault('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: false })).code).toBe('E_POLICY_VIOLATION')
  const { snapshotId } = await world.put('a.txt', 'two\n')
  expect(world.read('a.txt')).toBe('two\n')
  expect(await world.call('restore_snapshot', { snapshotId })).toEqual({ path: 'a.txt', content: 'two\n' })
  const { snapshots } = await world.call<{ snapshots: { id: string }[] }>('list_snapshots', {})
  expect(snapshots).toHaveLength(2)
  expect(await world.call('restore_snapshot', { snapshotId: snapshots[1]?.id })).toEqual({ path: 'a.txt', content: 'one\n' })
  expect(world.runtime.audit.verify().whole).toBe(true)
})
