import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atOnce } from '../../src/contracts/steps.ts'
import { openDatabase } from '../../src/host/database.ts'
import { judgedFiles } from '../../src/host/files.ts'
import { pathRules } from '../../src/host/paths.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { openJournal } from '../../src/stores/journal.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { openSnapshots } from '../../src/stores/snapshots.ts'

/** The stores on a project of their own; `stop` makes the database fail after so many transactions, as a kill would end them. */
function openGround() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  mkdirSync(join(base, 'project'))
  const root = openRoot(join(base, 'project'))
  const state = openStateFolder(join(base, 'state'))
  const real = openDatabase(state.file('handrail.db'), schema, schemaVersion)
  let left = Number.POSITIVE_INFINITY
  const db: typeof real = {
    ...real,
    transaction(act, durable) {
      if (left-- <= 0) throw new Error('killed')
      return real.transaction(act, durable)
    },
  }
  const snapshots = openSnapshots(state.sub('snapshots'), db)
  const files = judgedFiles(root, pathRules([]), Number.MAX_SAFE_INTEGER)
  const dropped: string[] = []
  const journal = openJournal({ root, files, snapshots, db, retention: 20, onDropped: (call) => dropped.push(call) })
  return {
    journal,
    snapshots,
    dropped,
    at: (name: string) => join(base, 'project', name),
    stopAfter: (transactions: number) => void (left = transactions),
    pending: () => snapshots.pending().length,
    marks: () => real.all('SELECT * FROM commits'),
    [Symbol.dispose]() {
      real.close()
      state.close()
      closeRoot(root)
      rmSync(base, { recursive: true, force: true })
    },
  }
}

const names = Array.from({ length: 200 }, (_, index) => `f${String(index).padStart(3, '0')}`)
const changes = names.map((path) => ({ path, expect: null, after: Buffer.from(`new ${path}\n`) }))
const origin = { call: 'call_many', session: 'sess', idempotencyKey: null }

test('rows of a change that are half in when the process ends are dropped, also where a file happens to be as it was to become', async () => {
  using ground = openGround()
  ground.stopAfter(2)
  // What would clear up fails, too: that is what a kill leaves.
  await expect(ground.journal.commit(changes, origin)).rejects.toThrow('killed')
  expect(ground.pending()).toBe(128)
  expect(names.some((name) => existsSync(ground.at(name)))).toBe(false)
  writeFileSync(ground.at('f000'), 'new f000\n')
  ground.stopAfter(Number.POSITIVE_INFINITY)
  expect(await ground.journal.recover()).toMatchObject([{ call: 'call_many', landed: false }])
  expect(names.filter((name) => existsSync(ground.at(name)))).toEqual(['f000'])
  expect([ground.pending(), ground.marks(), ground.dropped]).toEqual([0, [], ['call_many']])
  // And the call can be made again.
  writeFileSync(ground.at('f000'), 'mine\n')
  rmSync(ground.at('f000'))
  await ground.journal.commit(changes, origin)
  expect(atOnce(ground.snapshots.ofCall('call_many'))).toHaveLength(200)
})

test('rows of a change that are half settled when the process ends are kept, and nobody’s later change is overwritten', async () => {
  using ground = openGround()
  // Four for the rows that are put in, one of those that settle them.
  ground.stopAfter(5)
  await expect(ground.journal.commit(changes, origin)).rejects.toThrow('killed')
  expect(ground.pending()).toBe(136)
  expect(atOnce(ground.snapshots.ofCall('call_many')), 'half of a change is none').toEqual([])
  expect(ground.snapshots.lastChange()).toBeUndefined()
  for (const name of names) rmSync(ground.at(name))
  writeFileSync(ground.at('f150'), 'mine\n')
  ground.stopAfter(Number.POSITIVE_INFINITY)
  expect(await ground.journal.recover()).toMatchObject([{ call: 'call_many', landed: true }])
  expect(names.filter((name) => existsSync(ground.at(name)))).toEqual(['f150'])
  expect(readFileSync(ground.at('f150'), 'utf8')).toBe('mine\n')
  expect([ground.pending(), ground.marks(), ground.dropped]).toEqual([0, [], []])
  expect(atOnce(ground.snapshots.ofCall('call_many'))).toHaveLength(200)
})
