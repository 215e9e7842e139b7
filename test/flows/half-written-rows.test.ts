import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runToEnd } from '../../src/text/steps.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openFiles, sha256 } from '../../src/host/files.ts'
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
  const files = openFiles(root, pathRules([]), Number.MAX_SAFE_INTEGER)
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
  expect(runToEnd(ground.snapshots.ofCall('call_many'))).toHaveLength(200)
})

test('rows of a change that are half settled when the process ends are kept, and nobody’s later change is overwritten', async () => {
  using ground = openGround()
  // Four for the rows that are put in, one of those that settle them.
  ground.stopAfter(5)
  await expect(ground.journal.commit(changes, origin)).rejects.toThrow('killed')
  expect(ground.pending()).toBe(136)
  expect(runToEnd(ground.snapshots.ofCall('call_many')), 'half of a change is none').toEqual([])
  expect(ground.snapshots.lastChange()).toBeUndefined()
  for (const name of names) rmSync(ground.at(name))
  writeFileSync(ground.at('f150'), 'mine\n')
  ground.stopAfter(Number.POSITIVE_INFINITY)
  expect(await ground.journal.recover()).toMatchObject([{ call: 'call_many', landed: true }])
  expect(names.filter((name) => existsSync(ground.at(name)))).toEqual(['f150'])
  expect(readFileSync(ground.at('f150'), 'utf8')).toBe('mine\n')
  expect([ground.pending(), ground.marks(), ground.dropped]).toEqual([0, [], []])
  expect(runToEnd(ground.snapshots.ofCall('call_many'))).toHaveLength(200)
})

const old = (name: string): string => `old ${name}\n`
const hashOf = (text: string): string => sha256(Buffer.from(text))
const few = names.slice(0, 12)

/** A change of twelve files whose process dies when all of them are in place, and before any of its rows is settled. */
async function killedUnsettled(ground: ReturnType<typeof openGround>): Promise<void> {
  for (const name of few) writeFileSync(ground.at(name), old(name))
  const changing = few.map((path) => ({ path, expect: hashOf(old(path)), after: Buffer.from(`new ${path}\n`) }))
  ground.stopAfter(1)
  await expect(ground.journal.commit(changing, origin)).rejects.toThrow('killed')
  ground.stopAfter(Number.POSITIVE_INFINITY)
  expect(ground.pending()).toBe(12)
}

test('a file that a person changed after a kill in mid-commit is no part of what landed, and the rest is', async () => {
  using ground = openGround()
  await killedUnsettled(ground)
  // As a kill between two moves leaves it; and what a person did before Handrail started again.
  for (const name of few.slice(6)) writeFileSync(ground.at(name), old(name))
  const theirs: Record<string, () => void> = {
    f001: () => writeFileSync(ground.at('f001'), 'mine\n'),
    f002: () => rmSync(ground.at('f002')),
    f007: () => writeFileSync(ground.at('f007'), 'mine too\n'),
    f008: () => {
      rmSync(ground.at('f008'))
      mkdirSync(ground.at('f008'))
    },
  }
  for (const act of Object.values(theirs)) act()
  const landed = few.filter((name) => !(name in theirs))
  const [recovered, ...more] = await ground.journal.recover()
  expect(more).toEqual([])
  expect(recovered).toMatchObject({ call: 'call_many', landed: true, leftAsFound: Object.keys(theirs) })
  expect(recovered?.changes.map(({ path }) => path)).toEqual(landed)
  for (const name of landed) expect(readFileSync(ground.at(name), 'utf8')).toBe(`new ${name}\n`)
  expect(readFileSync(ground.at('f001'), 'utf8')).toBe('mine\n')
  expect(runToEnd(ground.snapshots.ofCall('call_many')).map(({ path }) => path)).toEqual(landed)
  for (const name of Object.keys(theirs)) expect(ground.snapshots.latest(name)?.sha256).toBe(hashOf(old(name)))
  // An answer that was kept for a key speaks of all of it.
  expect([ground.pending(), ground.marks(), ground.dropped]).toEqual([0, [], ['call_many']])
})

test('where nothing of a killed change is in place, what a person has there by now is said to be theirs', async () => {
  using ground = openGround()
  await killedUnsettled(ground)
  for (const name of few) writeFileSync(ground.at(name), name === 'f003' ? 'mine\n' : old(name))
  expect(await ground.journal.recover()).toMatchObject([{ call: 'call_many', landed: false, leftAsFound: ['f003'] }])
  expect(readFileSync(ground.at('f003'), 'utf8')).toBe('mine\n')
  expect(runToEnd(ground.snapshots.ofCall('call_many'))).toEqual([])
})

test('a file that had made way for a folder when the process died is followed by that folder', async () => {
  using ground = openGround()
  writeFileSync(ground.at('a'), 'old a\n')
  ground.stopAfter(1)
  const change = { path: 'a', expect: hashOf('old a\n'), after: Buffer.alloc(0), form: 'folder', mode: 0o755 } as const
  await expect(ground.journal.commit([change], origin)).rejects.toThrow('killed')
  ground.stopAfter(Number.POSITIVE_INFINITY)
  rmSync(ground.at('a'), { recursive: true })
  expect(await ground.journal.recover()).toMatchObject([{ landed: true, leftAsFound: [] }])
  expect(statSync(ground.at('a')).isDirectory()).toBe(true)
})
