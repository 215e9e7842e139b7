import { expect, test } from 'vitest'
import type { Grant } from '../contracts/grant.ts'
import { bounds } from '../contracts/kept.ts'
import { openDatabase } from '../host/database.ts'
import { openGrants, type GrantStore } from './grants.ts'
import { schema, schemaVersion } from './schema.ts'

type Given = Partial<Grant> & { subject: string }

const giver = (store: GrantStore) => (given: Given) =>
  store.give(
    [{ kind: 'runs', scope: 'session', session: 'one', reasons: ['runs'], by: 'test', expiresAt: Date.now() + 60_000, ...given }],
    () => undefined,
  )

test('what comes with answers pushes none out that the person gave for good', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const store = openGrants(db)
  const give = giver(store)
  give({ subject: 'kept', scope: 'always', session: null, expiresAt: null })
  for (let n = 0; n < bounds.grants + 10; n++) give({ subject: `f${n}` })
  expect(db.get('SELECT count(*) AS n FROM grants')).toEqual({ n: bounds.grants + 1 })
  expect(store.mayChange('one', 'f0', 'runs')).toBe(false)
  expect(store.mayChange('whoever', 'kept', 'runs')).toBe(true)
  db.close()
})

test('one for a single use is used up, unless there is another that lasts', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const store = openGrants(db)
  const give = giver(store)
  give({ kind: 'secret', subject: '.env', scope: 'once' })
  expect(store.use('secret', 'other', '.env')).toBe(false)
  expect(store.use('secret', 'one', '.env')).toBe(true)
  expect(store.use('secret', 'one', '.env')).toBe(false)
  give({ subject: 'a', scope: 'once' })
  give({ subject: 'a', scope: 'always', session: null, expiresAt: null })
  expect(store.use('runs', 'one', 'a') && store.use('runs', 'one', 'a')).toBe(true)
  expect(store.list()).toHaveLength(2)
  db.close()
})

test('grants of an older store count for their session', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  db.run(
    "INSERT INTO grants (id, kind, session, path, given_by, given_at, expires_at) VALUES ('g', 'secret', 'one', 'a', 'me', 1, ?)",
    Date.now() + 60_000,
  )
  const store = openGrants(db)
  expect(store.list()).toMatchObject([{ scope: 'session', session: 'one', subject: 'a', by: 'me' }])
  expect([store.use('secret', 'one', 'a'), store.use('secret', 'two', 'a')]).toEqual([true, false])
  db.close()
})

test('one counts for the reasons it was given for; more of them add to it', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const store = openGrants(db)
  const give = giver(store)
  give({ subject: 'a', reasons: ['is made'] })
  expect([store.mayChange('one', 'a', 'is made'), store.mayChange('one', 'a', 'is started')]).toEqual([true, false])
  give({ subject: 'a', reasons: ['is started'] })
  expect([store.mayChange('one', 'a', 'is made'), store.mayChange('one', 'a', 'is started')]).toEqual([true, true])
  expect(store.list()).toHaveLength(1)
  for (let n = 0; n < 50; n++) give({ subject: 'a', reasons: [`why ${n}`] })
  expect(store.list()[0]?.reasons).toHaveLength(20)
  db.close()
})
