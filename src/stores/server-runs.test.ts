import { afterEach, expect, test, vi } from 'vitest'
import { bounds } from '../contracts/kept.ts'
import { openDatabase } from '../host/database.ts'
import { ownName } from '../host/running.ts'
import { schema, schemaVersion } from './schema.ts'
import { openServerRuns } from './server-runs.ts'

const ttlMs = 60_000
const error = { errorCode: 'EXECUTION_ERROR', message: 'gone', recoverHint: '', details: {} }
const open = () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  return { db, store: openServerRuns(db, () => ttlMs) }
}
const named = (runId: string) => ({ runId, command: 'node dev.js', call: 'call_1', session: 'sess_1' })

afterEach(() => vi.useRealTimers())

test('an end is legal and the only one; nothing is noted after it but what must not be told', () => {
  const { db, store } = open()
  store.begin(named('one'), ownName())
  store.note('one', { urls: ['http://x/'], log: 'secret' })
  expect(store.end('one', 'canceled', error)).toBe(true)
  expect(store.end('one', 'succeeded', null, 'withheld')).toBe(false)
  store.note('one', { urls: ['http://x/'], log: 'secret' })
  expect(store.end('other', 'failed', error)).toBe(false)
  expect(store.get('one')).toMatchObject({ status: 'canceled', urls: [], log: 'withheld', error })
  db.close()
})

test('one whose process is gone ends once; those of others that run are left alone', () => {
  const { db, store } = open()
  store.begin(named('here'), ownName())
  store.begin(named('dead'), `${process.pid}-1`)
  expect(store.settle(error).map(({ runId }) => runId)).toEqual(['dead'])
  expect(store.settle(error)).toEqual([])
  expect(store.list().map(({ runId, status }) => [runId, status])).toEqual([
    ['dead', 'failed'],
    ['here', 'running'],
  ])
  db.close()
})

test('ended ones are kept for their time and so many, one that runs for as long as it does', () => {
  const { db, store } = open()
  store.begin(named('runs'), ownName())
  for (let n = 0; n < bounds.servers.most + 20; n++) {
    store.begin({ ...named(`ended ${n}`), command: 'x'.repeat(10_000) }, ownName())
    store.end(`ended ${n}`, 'succeeded', null)
  }
  expect(store.list().length).toBeLessThanOrEqual(bounds.servers.most + 2)
  expect(store.get('ended 119')?.command).toHaveLength(bounds.servers.command)
  vi.useFakeTimers({ now: Date.now() + ttlMs + 1, toFake: ['Date'] })
  expect(store.list().map(({ runId }) => runId)).toEqual(['runs'])
  expect(store.get('ended 119')).toBeUndefined()
  openServerRuns(db, () => ttlMs)
  expect(db.get('SELECT count(*) AS n FROM server_runs')).toEqual({ n: 1 })
  db.close()
})
