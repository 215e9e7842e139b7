import { createRequire } from 'node:module'
import { Fault } from '../contracts/faults/fault.ts'

/** The few calls we use of `node:sqlite`; on Node 20 the same API comes from @photostructure/sqlite. */
export interface Database {
  exec(sql: string): void
  all<Row>(sql: string, ...values: SqlValue[]): Row[]
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined
  run(sql: string, ...values: SqlValue[]): number
  /** All or nothing. With `durable`, on the disk itself before it returns. */
  transaction<T>(act: () => T, durable?: boolean): T
  close(): void
}

/** A text is kept as it is, whatever characters it has. A list of texts is for `json_each(?)`. */
export type SqlValue = string | number | null | readonly string[]

type Bound = Exclude<SqlValue, readonly string[]>

interface Statement {
  all(...values: Bound[]): unknown[]
  get(...values: Bound[]): unknown
  run(...values: Bound[]): { changes: number | bigint }
}

interface Connection {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

interface Driver {
  DatabaseSync: new (path: string) => Connection
}

let driver: Driver | undefined

export function openConnection(path: string): Connection {
  driver ??= builtinDriver() ?? (createRequire(import.meta.url)('@photostructure/sqlite') as Driver)
  return new driver.DatabaseSync(path)
}

/** Node's own SQLite where it has one, without its remark that it is young: the same API is used on every version. */
function builtinDriver(): Driver | undefined {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return process.getBuiltinModule?.('node:sqlite') as Driver | undefined
  } finally {
    process.emitWarning = emitWarning
  }
}

/** SQLITE_BUSY and SQLITE_LOCKED; what more the driver knows is in the higher bits. */
export function isHeldElsewhere(cause: unknown): boolean {
  const { errcode = 0 } = (cause ?? {}) as { errcode?: number }
  return [5, 6].includes(errcode & 0xff)
}

export const heldHint =
  'Another process holds it: one that was stopped (not killed) keeps it until it goes on. `handrail doctor` finds it.'

/** Opens a store and brings its tables up. `version` counts the schema; a store of a later version is left alone. Who holds it is waited for `busyMs`. */
export function openDatabase(path: string, schema: string, version: number, busyMs = 10_000): Database {
  let connection: Connection
  try {
    connection = openConnection(path)
    connection.exec(`PRAGMA busy_timeout = ${busyMs}`)
    const found = (connection.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
    // While there is no table yet: then room that became free can be given back a little at a time. Later it would be a write at each open.
    if (found === 0) connection.exec('PRAGMA auto_vacuum = INCREMENTAL')
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON')
    if (found > version)
      throw new Fault('unsupported', `The store was made by a newer Handrail (version ${found}, this one knows ${version})`, {
        hint: 'Use that newer Handrail, or start afresh with `handrail state reset`.',
      })
    if (found < version) bringUp(connection, schema, version, found > 0)
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault('io', `Handrail's store cannot be opened: ${(cause as Error).message}`, {
      hint: isHeldElsewhere(cause)
        ? heldHint
        : 'Run `handrail doctor`; `handrail state` says where the store is, and `handrail state reset` sets it aside.',
      cause,
    })
  }
  const prepared = new Map<string, Statement>()
  const statement = (sql: string): Statement => {
    let found = prepared.get(sql)
    if (!found) prepared.set(sql, (found = connection.prepare(sql)))
    return found
  }
  const guarded = <T>(act: () => T): T => {
    try {
      return act()
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault('io', `Handrail's store refused: ${(cause as Error).message}`, {
        hint: isHeldElsewhere(cause) ? heldHint : 'Is the disk full or read-only? Nothing is acknowledged that was not stored.',
        cause,
      })
    }
  }
  return {
    exec: (sql) => guarded(() => connection.exec(sql)),
    all: <Row>(sql: string, ...values: SqlValue[]) =>
      guarded(
        () =>
          statement(sql)
            .all(...values.map(bound))
            .map(readRow) as Row[],
      ),
    get: <Row>(sql: string, ...values: SqlValue[]) =>
      guarded(() => readRow(statement(sql).get(...values.map(bound))) as Row | undefined),
    run: (sql, ...values) => guarded(() => Number(statement(sql).run(...values.map(bound)).changes)),
    transaction: (act, durable = false) =>
      guarded(() => {
        if (durable) connection.exec('PRAGMA synchronous = FULL')
        try {
          connection.exec('BEGIN IMMEDIATE')
          try {
            const result = act()
            connection.exec('COMMIT')
            return result
          } catch (cause) {
            undo(connection)
            throw cause
          }
        } finally {
          if (durable) connection.exec('PRAGMA synchronous = NORMAL')
        }
      }),
    close() {
      prepared.clear()
      connection.close()
    },
  }
}

/**
 * Drivers cut a text at a NUL character, some when it is bound, others when it is read, and make one character of every half of a pair. Two
 * names would be one. Such characters are kept as a mark, which Unicode has for nothing but such uses, and their number; the mark too.
 */
const mark = '\ufdd0'
const unkept = /[\0\ufdd0\ud800-\udfff]/gu
const keptForm = /\ufdd0(0000|fdd0|d[89a-f][0-9a-f]{2})/g

function keptText(text: string): string {
  if (!text.includes('\0') && !text.includes(mark) && text.isWellFormed()) return text
  return text.replace(unkept, (one) => mark + one.charCodeAt(0).toString(16).padStart(4, '0'))
}

function bound(value: SqlValue): Bound {
  if (typeof value === 'string') return keptText(value)
  return typeof value === 'object' && value !== null ? JSON.stringify(value.map(keptText)) : value
}

function readRow(row: unknown): unknown {
  const values = row as Record<string, unknown> | undefined
  for (const name in values) {
    const value = values[name]
    if (typeof value === 'string' && value.includes(mark))
      values[name] = value.replace(keptForm, (_, number: string) => String.fromCharCode(parseInt(number, 16)))
  }
  return row
}

/** All of it or nothing, in one write: whoever is killed in between, or opens the store meanwhile, finds the old tables or the new ones. */
function bringUp(store: Connection, schema: string, version: number, hasTables: boolean): void {
  store.exec('BEGIN IMMEDIATE')
  try {
    if (hasTables) addColumns(store, schema)
    store.exec(schema)
    store.exec(`PRAGMA user_version = ${version}; COMMIT`)
  } catch (cause) {
    undo(store)
    throw cause
  }
}

/** Brings the tables of an older store up: what a new one would have and they have not is added, empty. */
function addColumns(store: Connection, schema: string): void {
  const fresh = openConnection(':memory:')
  try {
    fresh.exec(schema)
    for (const { name: table } of fresh.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all() as Named[]) {
      const there = new Set(columnsOf(store, table).map((column) => column.name))
      for (const { name, type } of there.size ? columnsOf(fresh, table) : [])
        if (!there.has(name)) store.exec(`ALTER TABLE ${table} ADD COLUMN ${name} ${type}`)
    }
  } finally {
    fresh.close()
  }
}

interface Named {
  name: string
}

function columnsOf(connection: Connection, table: string): (Named & { type: string })[] {
  return connection.prepare(`PRAGMA table_info(${table})`).all() as (Named & { type: string })[]
}

/** A failed commit may have rolled back by itself already. */
function undo(connection: Connection): void {
  try {
    connection.exec('ROLLBACK')
  } catch {
    // Nothing was left to roll back.
  }
}
