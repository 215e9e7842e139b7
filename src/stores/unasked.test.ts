import { expect, test } from 'vitest'
import { openDatabase } from '../host/database.ts'
import { openUnasked } from './unasked.ts'
import { schema, schemaVersion } from './schema.ts'

const one = { removals: 1, files: 2, bytes: 3 }
const times = (n: number) => ({ removals: n, files: 2 * n, bytes: 3 * n })

test('what was added counts for half an hour at least and an hour at most, in two rows', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const minute = 60_000
  let now = 1_000 * 30 * minute
  const [store, other] = [openUnasked(db, () => now), openUnasked(db, () => now)]
  const count = (): unknown => db.get('SELECT count(*) AS n FROM unasked')
  expect(store.sum()).toEqual(times(0))
  for (let round = 0; round < 100; round++) {
    store.add(one)
    now += 29 * minute
    expect(other.sum().removals).toBeGreaterThanOrEqual(1)
    expect(other.sum().removals).toBeLessThanOrEqual(3)
    expect(count()).toMatchObject({ n: expect.toSatisfy((n: number) => n <= 2) as number })
  }
  now += 60 * minute
  expect(store.sum()).toEqual(times(0))
  db.close()
})

test('a clock that was set back makes nothing forgotten, and no more rows', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  let now = 1e12
  const store = openUnasked(db, () => now)
  store.add(one)
  for (let day = 1; day < 50; day++) {
    now = 1e12 - day * 86_400_000
    store.add(one)
    expect(store.sum()).toEqual(times(day + 1))
  }
  expect(db.get('SELECT count(*) AS n FROM unasked')).toEqual({ n: 1 })
  store.clear()
  expect(store.sum()).toEqual(times(0))
  db.close()
})
