import { expect, test } from 'vitest'
import { bounds } from '../contracts/kept.ts'
import { openDatabase, type Database } from '../host/database.ts'
import { openDeclined } from './declined.ts'
import { schema, schemaVersion } from './schema.ts'

const rows = (db: Database): number => db.get<{ n: number }>('SELECT count(*) AS n FROM declined')?.n ?? 0

function denied(db: Database, id: string, paths: readonly string[]): void {
  db.run(
    `INSERT INTO approvals (id, state, input_digest, state_digest, session, created_at, expires_at, decided_at, decided_by, no_until, body)
     VALUES (?, 'denied', '', '', 'sess', 0, 0, ?, 'me@cli', ?, '{}')`,
    id,
    rows(db),
    Date.now() + 3_600_000,
  )
  openDeclined(db).keep(id, paths)
}

const several = (count: number, folder: string): string[] => Array.from({ length: count }, (_, n) => `${folder}/${n}`)

test('one no keeps so many paths; of more, their folders, and only what stands in them', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const { newest } = openDeclined(db)
  denied(db, 'one', ['README.md', 'src/y', ...several(bounds.declined.each, 'src/x')])
  expect(rows(db)).toBe(3)
  expect(newest('SRC/x/7', true)).toMatchObject({ approval: 'one', by: 'me@cli' })
  expect(newest('src/x/deep/new', true)).toBeDefined()
  expect(newest('src/x/new', false)).toBeUndefined()
  expect(newest('src/y', false)).toBeDefined()
  expect(newest('src/z', true)).toBeUndefined()
  openDeclined(db).remove('one')
  expect(newest('src/y', true)).toBeUndefined()
  db.close()
})

test('however many noes there are, each keeps something, and those before it lose nothing', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const { newest } = openDeclined(db)
  const { each, many, few } = bounds.declined
  for (let n = 0; n <= many / each; n++) denied(db, `no ${n}`, several(each, `f${n}`))
  const before = rows(db)
  denied(db, 'late', several(each, 'late'))
  expect(rows(db) - before).toBeLessThanOrEqual(few)
  expect(newest('late/5', true)).toBeDefined()
  expect(newest('f0/5', true)).toBeDefined()
  // Nothing deeper is left: the project itself.
  denied(
    db,
    'top',
    Array.from({ length: each }, (_, n) => `top-${n}`),
  )
  expect(newest('anything', true)).toMatchObject({ approval: 'top' })
  db.close()
})
