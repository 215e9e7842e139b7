import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/host/database.ts'
import { openStateAdmin } from '../../src/runtime/state-admin.ts'
import { agedOf } from '../../src/stores/prune-snapshots.ts'
import { excessStates, others } from '../../src/stores/retention.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { cleanEnv, openWorld } from '../support/world.ts'

test('states that a project brings push out none that was kept here', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'by hand 1\n', 'b.txt': '' } })
  await world.put('a.txt', 'written 1\n')
  world.write('a.txt', 'by hand 2\n')
  await world.put('a.txt', 'written 2\n')
  const own = world.runtime.snapshots(100, 'a.txt')
  expect(own).toHaveLength(4)
  await world.runtime.close()
  const old = world.path('.handrail/snapshots')
  mkdirSync(old, { recursive: true })
  const plant = (path: string, timestamp: number, n: number): void => {
    const id = `snap_20250101T000000_${n.toString(16).padStart(8, '0')}`
    const sha256 = createHash('sha256').update(String(n)).digest('hex')
    writeFileSync(join(old, `${id}.txt`), String(n))
    writeFileSync(
      join(old, `${id}.meta.json`),
      JSON.stringify({ id, path, timestamp, sha256, bytes: 1, form: 'file', mode: 0o644 }),
    )
  }
  const now = Date.now()
  for (let n = 0; n < others.ever + 10; n++) plant('a.txt', now, n)
  plant('a.txt', now - 10 ** 9, 10_000)
  plant('b.txt', now, 10_001)
  const admin = openStateAdmin({ project: world.project, environment: cleanEnv(world.base) })
  const taken = admin.importOld()
  admin.close()
  await world.reopen()
  await world.put('a.txt', 'written 3\n')
  const left = world.runtime.snapshots(5_000, 'a.txt').map(({ id }) => id)
  for (const { id } of own) expect(left).toContain(id)
  expect(taken).toMatchObject({ snapshots: 2 })
})

test('the original of a file is the oldest state that is left of it, also where an earlier file of that name is gone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'handrail-original-'))
  const db = openDatabase(join(folder, 'handrail.db'), schema, schemaVersion)
  const put = (id: string, ts: number, kind: string, state: string): void =>
    void db.run(
      `INSERT INTO snapshots (id, path, ts, sha256, bytes, kind, state) VALUES (?, 'a.txt', ?, ?, 1, ?, ?)`,
      id,
      ts,
      id,
      kind,
      state,
    )
  try {
    put('gone', 1, 'write', 'dropped')
    put('original', 2, 'baseline', 'kept')
    for (let n = 0; n < others.stay; n++) put(`other ${n}`, 3 + n, 'baseline', 'kept')
    expect(excessStates(db, 'a.txt', 3)).toEqual({ written: [], others: [] })
    db.run(`DELETE FROM snapshots WHERE kind = 'baseline'`)
    for (const n of [2, 3, 4, 5]) put(`write ${n}`, n, 'write', 'kept')
    expect(agedOf(db, 'a.txt', Date.now())).toEqual(['write 3'])
  } finally {
    db.close()
    rmSync(folder, { recursive: true })
  }
})
