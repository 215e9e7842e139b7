import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Snapshot } from '../../src/contracts/snapshot.ts'
import { openDatabase } from '../../src/host/database.ts'
import { excessStates, others } from '../../src/stores/retention.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

/** A state that Handrail did not write may be the only copy of somebody's work: no number of writes makes it go. */
const work = "weeks of the person's own work\n"
const few = { limits: { snapshotRetention: 4 } }

async function overwrite(world: World, times: number, sessions = 1): Promise<void> {
  for (let n = 0; n < times; n++) {
    const options = { session: `sess_${n % sessions}` }
    const input = { path: 'novel.txt', content: `gone ${n}\n` }
    await world.call('write_to_file', { ...input, dryRun: true }, options)
    await world.call('write_to_file', { ...input, dryRun: false }, options)
  }
}

const kept = (world: World): Snapshot[] => world.runtime.snapshots(1_000, 'novel.txt')

test.for([1, 12])('an agent of %i session(s) that writes over it again and again does not lose it', async (sessions) => {
  await using world = await openWorld({ files: { 'novel.txt': 'chapter 1\n' }, config: few })
  await overwrite(world, 1)
  world.write('novel.txt', work)
  await overwrite(world, 12, sessions)
  // The two baselines and, of what was written, no more than was set.
  expect(kept(world)).toHaveLength(5)
  const theirs = kept(world).find(({ kind }) => kind === 'baseline')
  const end = await runInside(world.project, ['undo', '--session', 'sess_0', '--yes'])
  expect(end.code).toBe(1)
  if (sessions === 1) expect(end.err).toContain(`handrail undo --to ${theirs?.id}`)
  expect(await runInside(world.project, ['undo', '--to', theirs?.id ?? '', '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('novel.txt')).toBe(work)
})

test('a session is undone to what another left, however often it wrote; what each began from goes last', async () => {
  await using world = await openWorld({ files: { 'novel.txt': 'chapter 1\n' }, config: few })
  const put = (content: string, session: string) =>
    world
      .call('write_to_file', { path: 'novel.txt', content, dryRun: true }, { session })
      .then(() => world.call('write_to_file', { path: 'novel.txt', content, dryRun: false }, { session }))
  for (const n of [1, 2, 3]) await put(`good ${n}\n`, 'sess_good')
  for (const n of [1, 2, 3, 4, 5, 6, 7]) await put(`bad ${n}\n`, 'sess_bad')
  expect(await runInside(world.project, ['undo', '--session', 'sess_bad', '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('novel.txt')).toBe('good 3\n')
})

test('where the state to go back to is gone, that is said with what is left', async () => {
  await using world = await openWorld({ files: { 'novel.txt': 'chapter 1\n' }, config: few })
  await overwrite(world, 9, 9)
  const { snapshotId } = await world.put('novel.txt', 'last\n')
  await world.call('undo', { snapshot: snapshotId, dryRun: false }, { role: 'person' })
  const original = kept(world).find(({ kind }) => kind === 'baseline')
  const end = await runInside(world.project, ['undo', '--session', 'sess_8', '--yes'])
  expect(end.err).toContain('no longer kept')
  expect(end.err).toContain(`handrail undo --to ${original?.id}`)
})

test('states of others have an end too: the newest stay whatever their age, the rest for a month, none beyond the last bound', () => {
  const folder = mkdtempSync(join(tmpdir(), 'handrail-others-'))
  const db = openDatabase(join(folder, 'handrail.db'), schema, schemaVersion)
  const day = 86_400_000
  const now = Date.now()
  const put = (from: number, count: number, daysAgo: number): void =>
    db.transaction(() => {
      for (let n = from; n < from + count; n++)
        db.run(
          `INSERT INTO snapshots (id, path, ts, sha256, bytes, kind, state) VALUES (?, 'a.txt', ?, ?, 1, 'baseline', 'kept')`,
          `snap_${n}`,
          now - daysAgo * day + n,
          `content ${n}`,
        )
    })
  const dropped = (): string[] => {
    const found = excessStates(db, 'a.txt', 3)
    expect(found.written).toEqual([])
    for (const id of found.others) db.run(`UPDATE snapshots SET state = 'dropped' WHERE id = ?`, id)
    return found.others.toSorted()
  }
  try {
    put(0, 1 + others.stay + 3, 60)
    expect(dropped()).toEqual(['snap_1', 'snap_2', 'snap_3'])
    put(1_000, others.ever, 10)
    // All that are old are by now beyond the newest.
    expect(dropped()).toHaveLength(others.stay)
    put(9_000, 2, 0)
    expect(dropped()).toEqual(['snap_1000', 'snap_1001'])
    expect(db.get<{ state: string }>(`SELECT state FROM snapshots WHERE id = 'snap_0'`)?.state).toBe('kept')
  } finally {
    db.close()
    rmSync(folder, { recursive: true })
  }
})
