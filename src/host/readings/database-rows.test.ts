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
const most = { rows: 100_000, told: 2_000, longest: 401 }
const rows = (before: Buffer, after: Buffer, limits = most): string[] | undefined => compare(before, after, limits)?.rows
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
    const told = rows(none, whole, { ...most, told: 100_000 }) ?? []
    expect(told.length).toBe(count + 1)
    expect(told).toContain('+ t row 100: id = 100, word = "é100", long = 10000')
    expect(told.find((row) => row.startsWith('+ t row 77:'))).toMatch(/long = "x{80}"… \(30000 characters\)$/)
  }
})

test('too many rows are counted; a file in WAL mode says so', () => {
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO t SELECT i FROM n'
  const many = database('CREATE TABLE t (a)', numbers)
  expect(rows(none, many, { ...most, rows: 100, told: 10 })).toContain('+ t: 500 rows, too many to compare')
  const few = compare(none, many, { ...most, rows: 1_000, told: 10 })
  expect([few?.rows.length, few?.more]).toEqual([10, 491])
  expect(insideOf('database', few?.rows, few?.more)).toMatchObject({ inside: { what: 'database', more: 491 } })
  expect(compare(none, database('PRAGMA journal_mode = WAL', 'CREATE TABLE t (a)'), { ...most, rows: 9, told: 9 })?.wal).toBe(
    true,
  )
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

test('what differs is told as different, however much of it looks the same', () => {
  const make = (note: string, blob: string, role: string): Buffer =>
    database('CREATE TABLE t (role TEXT, note TEXT, blob BLOB)', `INSERT INTO t VALUES ('${role}', ${note}, x'${blob}')`)
  const long = 'a'.repeat(200)
  const told = rows(
    make(`'${long} harmless ${long}'`, `${'00'.repeat(20)}01`, 'user'),
    make(`'${long} rm -rf $X ${long}'`, `${'00'.repeat(20)}02`, 'admin'),
  )
  expect(told?.[0]).toMatch(
    /^- t row 1: role = "user", note = …".* harmless .*"… \(410 characters\), blob = blob of 21 bytes, from byte 21 on: 01$/,
  )
  expect(told?.[1]).toMatch(
    /^\+ t row 1: role = "admin", note = …".* rm -rf \$X .*"… \(411 characters\), blob = blob of 21 bytes, from byte 21 on: 02$/,
  )
  // Bytes that are no letters, and marks that nobody sees.
  for (const [one, other] of [
    [`CAST(x'61ff' AS TEXT)`, `CAST(x'61fe' AS TEXT)`],
    [`CAST(x'efbbbf61' AS TEXT)`, `'a'`],
  ] as const)
    expect(rows(make(one, '', 'u'), make(other, '', 'u'))?.map((row) => row.slice(0, 18))).toEqual([
      '- t row 1: note = ',
      '+ t row 1: note = ',
    ])
  // What makes a table, a trigger or a view, beyond what there is room for.
  const trigger = (does: string): Buffer =>
    database('CREATE TABLE t (a)', `CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT '${long}${long}'; ${does}; END`)
  const [old, now] = rows(trigger('SELECT 1'), trigger('DELETE FROM t')) ?? []
  expect([old, now]).toEqual([expect.stringContaining('SELECT 1; END'), expect.stringContaining('DELETE FROM t; END')])
  expect(rows(none, trigger('DELETE FROM t'))?.[1]).toMatch(/… \(\d+ characters\)$/)
  // Columns for which a line has no room are counted.
  const wide = (value: string): Buffer =>
    database(
      `CREATE TABLE w (${Array.from({ length: 60 }, (_, n) => `c${n}`).join()})`,
      `INSERT INTO w VALUES (${Array.from({ length: 60 }, () => `'${value}'`).join()})`,
    )
  expect(rows(wide('before before'), wide('after after'))?.[1]).toMatch(/, … and \d\d more columns$/)
  // What programs keep in its head.
  expect(rows(database('CREATE TABLE t (a)'), database('CREATE TABLE t (a)', 'PRAGMA user_version = 7'))).toEqual([
    '- user_version = 0',
    '+ user_version = 7',
  ])
})

test('a value has the name of its own column, or none: comments, quotes and columns that are worked out shift nothing', () => {
  const named = (columns: string, ...values: string[]): string[] | undefined =>
    rows(none, database(`CREATE TABLE ${columns}`, `INSERT INTO ${/^\S+/.exec(columns)?.[0]} VALUES (${values.join()})`))?.slice(
      1,
    )
  expect(named('t (note /* , price, */, -- , more,\n admin)', '1', '2')).toEqual(['+ t row 1: note = 1, admin = 2'])
  expect(named('"x(y," (note, admin)', '1', '2')).toEqual(['+ x(y, row 1: note = 1, admin = 2'])
  expect(named('t ("a""b,", [c,d] INT DEFAULT (1 + (2)), `e` TEXT)', '1', '2', '3')).toEqual([
    '+ t row 1: a""b, = 1, c,d = 2, e = "3"',
  ])
  expect(named('t (note, twice AS (note * 2), admin)', '1', '2')).toEqual(['+ t row 1: column 1 = 1, column 2 = 2'])
  expect(named('t (note, admin PRIMARY KEY) WITHOUT/**/ROWID', '1', '2')).toEqual(['+ t: column 1 = 2, column 2 = 1'])
})

test('what could be read in two ways is not read', () => {
  const two = database('CREATE TABLE t (a TEXT)', `INSERT INTO t VALUES ('evil'), ('good')`)
  const swap = (from: string | Buffer, to: string | Buffer, bytes = two): Buffer => {
    const bad = Buffer.from(bytes)
    const at = bad.indexOf(from)
    expect(at).toBeGreaterThan(0)
    bad.set(Buffer.from(to), at)
    return bad
  }
  // Two rows of one number, of which the last one is as it was.
  const twice = swap(Buffer.from([6, 1, 2, 21, ...Buffer.from('evil')]), Buffer.from([6, 2, 2, 21, ...Buffer.from('evil')]))
  expect(() => rows(two, twice)).toThrow()
  // A kind in capitals is a table to SQLite as well.
  expect(rows(none, swap('tablet', 'TABLEt'))).toContain('+ t row 1: a = "evil"')
  expect(() => rows(none, swap('tablet', 'tablft'))).toThrow()
  // The same thing twice.
  const pair = database('CREATE TABLE t (a)', 'CREATE TABLE u (a)')
  expect(() => rows(none, swap('tableuu', 'tablett', pair))).toThrow()
  // SQL as bytes is SQL.
  const sql = 'CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END'
  const trigger = database('CREATE TABLE t (a)', sql)
  const at = trigger.indexOf(`triggerxt`)
  const type = trigger.lastIndexOf(2 * sql.length + 13, at)
  const asBytes = Buffer.from(trigger)
  asBytes[type] = 2 * sql.length + 12
  expect(rows(none, asBytes)).toContain(`+ trigger x: ${sql}`)
  // The same bytes as letters of another kind.
  const coded = (encoding: string, text: string): Buffer =>
    database(`PRAGMA encoding = '${encoding}'`, 'CREATE TABLE t (a TEXT)', `INSERT INTO t VALUES ('${text}')`)
  expect(rows(coded('UTF-16le', '\u6500\u7600'), coded('UTF-16be', 'ev'))).toEqual([
    '- encoding = utf-16le',
    '+ encoding = utf-16be',
    '- t row 1: a = "\u6500\u7600"',
    '+ t row 1: a = "ev"',
  ])
})
