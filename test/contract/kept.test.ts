import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { proves } from '../support/proof.ts'
import { openWorld } from '../support/world.ts'

interface Listed {
  snapshots: { id: string; path: string; timestamp: number; contentHash: string; idempotencyKey?: string }[]
}

proves('snapshots.order', 'newest first', async () => {
  await using world = await openWorld()
  for (const content of ['1', '2', '3']) await world.put('a.txt', content)
  const { snapshots } = await world.call<Listed>('list_snapshots', {})
  const sorted = snapshots.toSorted((a, b) => b.timestamp - a.timestamp || (a.id < b.id ? 1 : -1))
  expect(snapshots).toEqual(sorted)
  expect((await world.call<{ content: string }>('restore_snapshot', { snapshotId: snapshots[0]?.id })).content).toBe('3')
})

proves('snapshots.filter', 'by prefix, as text, in its letter case', async () => {
  await using world = await openWorld()
  for (const path of ['game/scene/a.txt', 'game/scenes.txt', 'game/Scene/b.txt', 'other.txt']) await world.put(path, path)
  const paths = async (path: string): Promise<string[]> =>
    (await world.call<Listed>('list_snapshots', { path })).snapshots.map((one) => one.path).sort()
  expect(await paths('game/scene')).toEqual(['game/scene/a.txt', 'game/scenes.txt'])
  expect(await paths('game/Scene')).toEqual(['game/Scene/b.txt'])
  expect(await paths('nothing')).toEqual([])
})

proves('snapshots.limit', 'after the filter; negative and NaN mean 50', async () => {
  await using world = await openWorld({ flags: { 'write-requires-diff': 'false' } })
  for (let n = 0; n < 60; n++)
    await world.call('write_to_file', { path: n % 2 ? 'odd.txt' : 'even.txt', content: String(n), dryRun: false })
  const count = async (input: object): Promise<number> => (await world.call<Listed>('list_snapshots', input)).snapshots.length
  expect(await count({})).toBe(50)
  expect(await count({ limit: -3 })).toBe(50)
  expect(await count({ limit: Number.NaN })).toBe(50)
  expect(await count({ limit: 10, path: 'odd' })).toBe(10)
  expect(await count({ limit: 1000 })).toBe(60)
  expect(await count({ limit: 0 })).toBe(0)
})

proves('snapshots.robust', 'damaged and half-missing snapshots are passed over', async () => {
  await using world = await openWorld()
  const ids = [
    (await world.put('a.txt', '1')).snapshotId,
    (await world.put('a.txt', '2')).snapshotId,
    (await world.put('a.txt', '3')).snapshotId,
  ]
  writeFileSync(world.state(`snapshots/${ids[0]}.meta.json`), '{broken')
  unlinkSync(world.state(`snapshots/${ids[1]}.txt`))
  expect((await world.call<Listed>('list_snapshots', {})).snapshots.map((one) => one.id)).toEqual([ids[2]])
})

proves('snapshots.empty', 'no snapshots is an empty list', async () => {
  await using world = await openWorld()
  expect(await world.call('list_snapshots', {})).toEqual({ snapshots: [] })
  expect(await world.call('list_snapshots', { path: 'x', limit: 5 })).toEqual({ snapshots: [] })
})

proves('snapshots.bad-args', 'wrong types', async () => {
  await using world = await openWorld()
  for (const input of [{ limit: '5' }, { path: 5 }, { limit: 1001 }, { what: 1 }])
    expect((await world.fault('list_snapshots', input)).code).toBe('E_BAD_ARGS')
})

proves('restore.format', 'only ids of the contract’s form', async () => {
  await using world = await openWorld()
  for (const snapshotId of ['', 'x', '../../etc/passwd', 'snap_20251101T093210_AB12CD34', 'snap_20251101T093210_ab12cd34/..', 7])
    expect((await world.fault('restore_snapshot', { snapshotId })).code).toBe('E_BAD_ARGS')
})

proves('restore.whole', 'missing content, missing metadata, broken metadata, changed content', async () => {
  await using world = await openWorld()
  const at = (id: string, end: string): string => world.state(`snapshots/${id}.${end}`)
  const make = async (text: string): Promise<string> => (await world.put('a.txt', text)).snapshotId
  expect((await world.fault('restore_snapshot', { snapshotId: 'snap_20251101T093210_ab12cd34' })).code).toBe('E_NOT_FOUND')
  const first = await make('1')
  unlinkSync(at(first, 'txt'))
  expect((await world.fault('restore_snapshot', { snapshotId: first })).code).toBe('E_NOT_FOUND')
  const second = await make('2')
  unlinkSync(at(second, 'meta.json'))
  expect((await world.fault('restore_snapshot', { snapshotId: second })).code).toBe('E_NOT_FOUND')
  const third = await make('3')
  writeFileSync(at(third, 'meta.json'), 'not json')
  expect((await world.fault('restore_snapshot', { snapshotId: third })).code).toBe('E_PARSE_FAIL')
  const fourth = await make('4')
  writeFileSync(at(fourth, 'txt'), 'forged')
  expect((await world.fault('restore_snapshot', { snapshotId: fourth })).code).toBe('E_PARSE_FAIL')
  const fifth = await make('5')
  const meta = JSON.parse(readFileSync(at(fifth, 'meta.json'), 'utf8')) as object
  writeFileSync(at(fifth, 'meta.json'), JSON.stringify({ ...meta, path: '../../outside.txt' }))
  expect((await world.fault('restore_snapshot', { snapshotId: fifth })).code).toBe('E_PARSE_FAIL')
})

proves('restore.flow', 'the contract’s four steps bring the original back', async () => {
  await using world = await openWorld({ files: { 'game/scene/a.txt': 'original\r\n' } })
  await world.put('game/scene/a.txt', 'changed\n')
  const { snapshots } = await world.call<Listed>('list_snapshots', { path: 'game/scene', limit: 10 })
  const { path, content } = await world.call<{ path: string; content: string }>('restore_snapshot', {
    snapshotId: snapshots.at(-1)?.id,
  })
  const dry = await world.call('write_to_file', { path, content, dryRun: true })
  expect(dry).toMatchObject({ applied: false, diff: { hunks: [{ linesNew: ['original\r'] }] } })
  const done = await world.call<{ snapshotId: string }>('write_to_file', { path, content, dryRun: false })
  expect(world.read(path)).toBe('original\r\n')
  expect(snapshots.map((one) => one.id)).not.toContain(done.snapshotId)
})
