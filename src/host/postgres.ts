import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client, ClientConfig, Pool } from 'pg'
import { Fault } from '../contracts/faults/fault.ts'

/** PostgreSQL on whichever machine. The driver is loaded when a database is configured, and only then. */
export interface Postgres {
  /** Where it is, for people: host, port and name, never who signs in or with what. */
  readonly address: string
  /** For the queue: connections of its own, of which nothing is flushed before it is answered. Whatever it loses in a crash is no run. */
  queuePool(): Pool
  query<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>
  /** The same for one that is asked all the time: each connection reads and plans it once. For fixed texts only; each is kept. */
  often<Row>(sql: string, values: readonly unknown[]): Promise<Row[]>
  /** Several statements, all or nothing. */
  transaction<T>(act: (query: Postgres['query']) => Promise<T>): Promise<T>
  /** Told of every notice on a channel, and of each time notices may have been missed. Stays connected until it is closed. */
  listen(channel: string, onNotice: (payload: string) => void, onGap: () => void): () => Promise<void>
  close(): Promise<void>
}

/** Longest wait for a connection: a network that drops packets says nothing. */
const connectMs = 5_000
/** The queue waits for notices on one connection, or two while one of them is given up; it adds and takes on the others. */
const queueConnections = 4
/** A connection that hears nothing is asked if it is still there. */
const pulseMs = 5_000
const mostWaitMs = 2_000

/** Where BullMQ keeps its tables: its own default, which a pool that it is given must have in its path. */
export const queueSchema = 'bullmq'

/** What to sign in with; TLS is as the URL says. */
type Address = ClientConfig & { connectionString: string }

export async function openPostgres(url: string, { most = 6, answerMs = 20_000 } = {}): Promise<Postgres> {
  const pg = loadPg()
  const address = addressOf(url)
  const given: Address = {
    connectionString: url,
    application_name: 'handrail',
    // What we ask names its schema; what BullMQ asks does not.
    options: `-c search_path=${queueSchema}`,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    // Counts and times are far below what a number holds.
    types: { getTypeParser: ((id: never, form: never) => (id === int8 ? Number : pg.types.getTypeParser(id, form))) as never },
  }
  const pools: Pool[] = []
  const openPool = (max: number, more: ClientConfig = {}): Pool => {
    try {
      const pool = new pg.Pool({ ...given, ...more, max, idleTimeoutMillis: 30_000, allowExitOnIdle: true })
      // A connection that breaks while nobody uses it; the next query opens another.
      pool.on('error', () => undefined)
      pools.push(pool)
      return pool
    } catch (cause) {
      throw refused(address, cause)
    }
  }
  const pool = openPool(most)
  const names = new Map<string, string>()
  const query = async <Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> => {
    try {
      return (await pool.query(sql, values.map(bound))).rows as Row[]
    } catch (cause) {
      throw refused(address, cause)
    }
  }
  return {
    address,
    queuePool: () => openPool(queueConnections, { options: `${given.options} -c synchronous_commit=off` }),
    query,
    async often<Row>(sql: string, values: readonly unknown[]) {
      const name = names.get(sql) ?? `handrail_${names.size}`
      names.set(sql, name)
      try {
        return (await pool.query({ name, text: sql, values: values.map(bound) })).rows as Row[]
      } catch (cause) {
        // Planned before the tables were brought up, or by another connection of a pooler in between: asked as any other.
        if (stalePlan.has(String((cause as { code?: string }).code))) return query<Row>(sql, values)
        throw refused(address, cause)
      }
    },
    async transaction(act) {
      let broken: Error | undefined
      const client = await pool.connect().catch((cause: unknown) => {
        throw refused(address, cause)
      })
      // It may break between two statements; the next one says so.
      const onBreak = (fault: Error): void => void (broken = fault)
      client.on('error', onBreak)
      try {
        await client.query('BEGIN')
        const done = await act(async <Row>(sql: string, values: readonly unknown[] = []) => {
          return (await client.query(sql, values.map(bound))).rows as Row[]
        })
        await client.query('COMMIT')
        return done
      } catch (cause) {
        await client.query('ROLLBACK').catch((fault: Error) => (broken = fault))
        throw cause instanceof Fault ? cause : refused(address, cause)
      } finally {
        client.off('error', onBreak)
        client.release(broken)
      }
    },
    listen(channel, onNotice, onGap) {
      let closed = false
      let client: Client | undefined
      const stop = new AbortController()
      const once = async (): Promise<void> => {
        client = new pg.Client({ ...given, query_timeout: connectMs })
        const one = client
        const gone = new Promise<void>((resolve) => {
          one.on('error', () => resolve())
          one.on('end', () => resolve())
        })
        one.on('notification', ({ payload }) => onNotice(payload ?? ''))
        await one.connect()
        await one.query(`LISTEN ${channel}`)
        // Whatever was said while nobody listened.
        onGap()
        const pulse = setInterval(() => void one.query('SELECT 1').catch(() => one.end().catch(() => undefined)), pulseMs).unref()
        await gone.finally(() => clearInterval(pulse))
      }
      const stay = async (): Promise<void> => {
        for (let wait = 50; !closed; wait = Math.min(wait * 2, mostWaitMs)) {
          const since = performance.now()
          // Why is told by whoever asks something; here it is tried again.
          await once().catch(() => client?.end().catch(() => undefined))
          if (performance.now() - since > pulseMs) wait = 50
          await pause(closed ? 0 : wait, undefined, { ref: false, signal: stop.signal }).catch(() => undefined)
        }
      }
      const staying = stay()
      return async () => {
        closed = true
        stop.abort()
        await client?.end().catch(() => undefined)
        await staying
      }
    },
    close: async () => void (await Promise.all(pools.map((one) => one.end()))),
  }
}

const int8 = 20
/** A planned statement that no longer fits, is not there, or is there already. None of them was carried out. */
const stalePlan = new Set(['0A000', '26000', '42P05'])

/** By `require`, as the built program loads everything: an `import` there makes Node remark on how young that is. */
function loadPg(): typeof import('pg') {
  try {
    return createRequire(import.meta.url)('pg') as typeof import('pg')
  } catch (cause) {
    throw new Fault('unsupported', 'A database is configured (cluster.database), and the package pg is not installed', {
      hint: 'npm install pg bullmq (ioredis too for cluster.redis), where Handrail is installed.',
      cause,
    })
  }
}

/** No text there holds this character, so whoever asks by one that does finds nothing. What is kept is JSON, which writes it otherwise. */
const bound = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(bound)
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufdd0') : value
}

/** A URL without what signs in. */
export function addressOf(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname}`
  } catch {
    return 'the configured address'
  }
}

/** Codes of a server that goes or comes up, and of ways to it that break: asked again, the same may be answered. */
const passing =
  /^(?:08|53|57P0|58|XX000|25006|40001|40P01|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT)/

/** Whether the same question may be answered another time: the way to the database broke, or it was not ready. */
export function isPassing(fault: unknown): boolean {
  const cause = (fault as { cause?: unknown } | undefined)?.cause ?? fault
  const { code } = cause as { code?: unknown }
  if (typeof code === 'string') return passing.test(code)
  // The driver's own, of a connection that broke or did not answer, are plain errors without a code; whatever the server says has one.
  return cause instanceof Error && cause.constructor === Error
}

function refused(address: string, cause: unknown): Fault {
  const { message, code } = cause as Error & { code?: string }
  const says = message || (code ?? 'no answer')
  return new Fault('io', `The database of runs (${address}) did not do it: ${says.slice(0, 300)}`, {
    hint: 'Is it there, and may this user sign in? `handrail doctor` looks. Nothing is acknowledged that was not stored.',
    cause,
  })
}
