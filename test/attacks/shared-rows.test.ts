import { expect, test } from 'vitest'
import { fromRow, type Row } from '../../src/stores/run-row.ts'
import { fromStepRow } from '../../src/stores/run-steps.ts'

// Whoever can write to a shared database, against those who only list or take runs there: one such row must not stand before all the others.

const row: Row = {
  id: 'run_1',
  template: 't',
  version: '1.0.0',
  status: 'queued',
  origin: '{"surface":"mcp","client":"c","session":"s"}',
  session_id: null,
  mode: 'async',
  timeout_ms: 1,
  submitter: '',
  authority: '',
  owner: '',
  deaths: 0,
  done_steps: 0,
  total_steps: 1,
  active_ms: 0,
  waiting: null,
  error: null,
  artifacts: '["art_1"]',
  created_at: 1,
  updated_at: 1,
  holder: null,
  bytes: 0,
}
const nonsense = ['', '{', 'null', '7', '"x"', '[]', '[null]', '{}', '[[', '{"session":7}', '{"errorCode":{}}', '\u0000']

test('a row of nonsense is a row, and is nobody’s', () => {
  expect(fromRow(row)).toMatchObject({ origin: { client: 'c', session: 's' }, artifacts: ['art_1'] })
  for (const text of nonsense) {
    const read = fromRow({ ...row, origin: text, error: text, artifacts: text })
    expect(read.origin).toMatchObject({ session: 'unknown' })
    expect(read.error).toMatchObject({ errorCode: expect.any(String), message: expect.any(String) })
    expect(read.artifacts).toEqual([])
  }
})

test('a step of nonsense is a step', () => {
  for (const text of nonsense) {
    const step = { step: 'a', item: -1, state: 'done' as const, call: null, output: text, error: text, artifacts: text, at: 1 }
    expect(fromStepRow(step)).toMatchObject({ error: { errorCode: expect.any(String) }, artifacts: [] })
  }
})
