import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { draws } from '../../../test/support/seed.ts'
import { openConnection } from '../database.ts'
import { makeDatabaseReader } from './database-rows.ts'
import { openDatabases } from './databases.ts'
import { insideOf } from './inside.ts'

const folder = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-databases-'))
afterAll(() => rmSync(folder, { recursive: true }))
let made = 0

/** A real database, made by SQLite itself. */
function database(...sql: string[]): Buffer {
  const file = join(folder, `${made++}.db`)
  const connection = openConnection(file)
  for (const one of sql) connection.exec(one)
  connection.close()
  return readFileSync(file)
}

const compare = makeDatabaseReader()
const rows = (before: Buffer, after: Buffer, limits = { rows: 100_000, told: 2_000 }): string[] | undefined =>
  compare(before, after, limits)?.rows
const none = Buffer.alloc(0)

const table = 'CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, "born in" INT, note BLOB DEFAULT (x\'00\'), CHECK (id > 0))'
const people = `INSERT INTO users VALUES (1, 'Mara', 1990, NULL), (2, '林', -5, x'0102030405060708090a'), (7, 'gone', 1.5, NULL)`

test('rows that come, go and change, by table and column; what makes the tables comes first', () => {
  const before = database(table, people)
  const after = database(
    table,
    people,
    'DELETE FROM users WHERE id = 7',
    `UPDATE users SET name = 'Mara "M"' WHERE id = 1`,
    `INSERT INTO users (id, name) VALUES (9007199254740993, 'new'), (9007199254740992, 'near')`,
    'PRAGMA ignore_check_constraints = ON',
    `INSERT INTO users (id, name, note) VALUES (-3, 'below', NULL)`,
    'CREATE TRIGGER t AFTER INSERT ON users BEGIN DELETE FROM users; END',
    'CREATE TABLE tags (word TEXT PRIMARY KEY, n INT) WITHOUT ROWID',
    `INSERT INTO tags VALUES ('a', 1), ('b', 2)`,
  )
  const told = rows(before, after) ?? []
  expect(told.filter((row) => !row.startsWith('+ tags'))).toEqual([
    '+ table tags: CREATE TABLE tags (word TEXT PRIMARY KEY, n INT) WITHOUT ROWID',
    '+ trigger t: CREATE TRIGGER t AFTER INSERT ON users BEGIN DELETE FROM users; END',
    '- users row 1: name = "Mara"',
    '+ users row 1: name = "Mara \\"M\\""',
    '- users row 7: id = 7, name = "gone", born in = 1.5, note = NULL',
    '+ users row -3: id = -3, name = "below", born in = NULL, note = NULL',
    '+ users row 9007199254740992: id = 9007199254740992, name = "near", born in = NULL, note = blob of 1 bytes 00',
    '+ users row 9007199254740993: id = 9007199254740993, name = "new", born in = NULL, note = blob of 1 bytes 00',
  ])
  expect(told.filter((row) => row.startsWith('+ tags'))).toEqual([
    '+ tags: column 1 = "a", column 2 = 1',
    '+ tags: column 1 = "b", column 2 = 2',
  ])
  expect(rows(before, before)).toEqual([])
  expect(rows(none, before)).toContain(
    '+ users row 2: id = 2, name = "林", born in = -5, note = blob of 10 bytes 0102030405060708…',
  )
})

test('what SQLite itself reads is what is read: many pages, long values on pages of their own, other encodings and page sizes', () => {
  for (const [first, count] of [
    ['PRAGMA page_size = 512', 3_000],
    ['PRAGMA page_size = 65536', 200],
    [`PRAGMA encoding = 'UTF-16le'`, 200],
    [`PRAGMA encoding = 'UTF-16be'`, 200],
  ] as const) {
    const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`
    const fill = `${numbers} INSERT INTO t SELECT i, 'é' || i, CASE i WHEN 77 THEN printf('%.*c', 30000, 'x') ELSE i * i END FROM n`
    const whole = database(first, 'CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT, long)', fill)
    const told = rows(none, whole, { rows: 100_000, told: 100_000 }) ?? []
    expect(told.length).toBe(count + 1)
    expect(told).toContain('+ t row 100: id = 100, word = "é100", long = 10000')
    expect(told.find((row) => row.startsWith('+ t row 77:'))).toMatch(/long = "x{80}"… \(30000 characters\)$/)
  }
})

test('too many rows are counted; a file in WAL mode says so', () => {
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO t SELECT i FROM n'
  const many = database('CREATE TABLE t (a)', numbers)
  expect(rows(none, many, { rows: 100, told: 10 })).toContain('+ t: 500 rows, too many to compare')
  const few = compare(none, many, { rows: 1_000, told: 10 })
  expect([few?.rows.length, few?.more]).toEqual([10, 491])
  expect(insideOf('database', few?.rows, few?.more)).toMatchObject({ inside: { what: 'database', more: 491 } })
  expect(compare(none, database('PRAGMA journal_mode = WAL', 'CREATE TABLE t (a)'), { rows: 9, told: 9 })?.wal).toBe(true)
})

test('no bytes whatever hold it up: torn, turned around, led in circles or filled with anything, it gives up or answers', async () => {
  const whole = database(
    'PRAGMA page_size = 512',
    table,
    people,
    'CREATE TABLE more (a, b)',
    'INSERT INTO more VALUES (1, zeroblob(3000))',
  )
  const databases = openDatabases()
  try {
    const circle = Buffer.from(whole)
    // An inner page that is its own child.
    circle[100] = 5
    circle.writeUInt32BE(1, 108)
    circle.writeUInt16BE(0, 103)
    for (const bad of [circle, whole.subarray(0, 600), Buffer.concat([whole.subarray(0, 100), Buffer.alloc(2_000, 0xff)])])
      expect(await databases.compare(none, bad)).toBe('unreadable')
    const below = draws('damaged databases')
    for (let n = 0; n < 300; n++) {
      const bad = Buffer.from(whole)
      for (let flips = 0; flips < 1 + below(8); flips++) bad[below(bad.length)] = below(256)
      try {
        expect(Array.isArray(rows(whole, bad))).toBe(true)
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(Error)
      }
    }
    expect(await databases.compare(none, whole)).toMatchObject({ more: 0, wal: false })
  } finally {
    databases.close()
  }
})
