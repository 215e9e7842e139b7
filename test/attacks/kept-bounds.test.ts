import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { bounds } from '../../src/contracts/kept.ts'
import { openDatabase, type Database } from '../../src/host/database.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { openApprovals } from '../../src/stores/approvals.ts'
import { openEvidence } from '../../src/stores/evidence.ts'
import { openIdempotency } from '../../src/stores/idempotency.ts'
import { openQuestions } from '../../src/stores/questions.ts'
import { excessPlaces } from '../../src/stores/retention.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { sweep } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** Whatever an agent does again and again, what is kept of it has an end, and nothing that counts is pushed out by it. */

function openStore(): { db: Database; folder: string; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'handrail-bounds-'))
  const db = openDatabase(join(folder, 'handrail.db'), schema, schemaVersion)
  return {
    db,
    folder,
    [Symbol.dispose]() {
      db.close()
      rmSync(folder, { recursive: true })
    },
  }
}

const countOf = (db: Database, from: string): number => db.get<{ n: number }>(`SELECT count(*) AS n FROM ${from}`)?.n ?? 0

const many = (db: Database, count: number, sql: string): void =>
  void db.run(`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) ${sql}`)

test('the state of a project is bounded over many calls', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'by hand\n' },
    config: { limits: { snapshotRetention: 4, auditFileBytes: 65_536 } },
  })
  const calls = sweep(20_000, 40)
  for (let n = 0; n < calls; n++) await world.put('a.txt', `written ${n}\n`)
  // The original and three that were written, two files each.
  expect(readdirSync(world.state('snapshots'))).toHaveLength(8)
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  expect(countOf(db, 'snapshots')).toBeLessThan(bounds.places.most + 300)
  expect(countOf(db, 'rehearsals')).toBeLessThanOrEqual(bounds.rehearsals.most + 500)
  db.close()
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
  const { bytes } = await world.runtime.pruning.size()
  expect(bytes.snapshots).toBeLessThan(10_000)
})

test.for([
  ['one session', bounds.places.most, `'sess'`],
  ['a new session for each write', bounds.places.ever, `'sess' || n`],
] as const)('places of dropped states have an end: %s', ([, most, session]) => {
  using store = openStore()
  const { db } = store
  many(
    db,
    sweep(bounds.places.ever, most) + 1_500,
    `INSERT INTO snapshots (id, path, ts, sha256, bytes, kind, session, state) SELECT 'snap' || n, 'a.txt', n, 'x', 1, 'write', ${session}, 'dropped' FROM s`,
  )
  for (let ids = excessPlaces(db, 'a.txt'); ids.length; ids = excessPlaces(db, 'a.txt')) {
    expect(ids.length).toBeLessThanOrEqual(1_024)
    const gone = ids
    db.transaction(() => {
      for (const id of gone) db.run('DELETE FROM snapshots WHERE id = ?', id)
    })
  }
  expect(countOf(db, 'snapshots')).toBeLessThanOrEqual(most)
  // Where one session wrote them all, its undo still finds where it began.
  if (session === `'sess'`) expect(db.get('SELECT 1 AS there FROM snapshots WHERE ts = 1')).toEqual({ there: 1 })
})

test('idempotency keys have an end, and the newest stay', () => {
  using store = openStore()
  const { db } = store
  const keys = openIdempotency(db, () => 3_600_000)
  const now = Date.now()
  many(
    db,
    bounds.idempotency + 700,
    `INSERT INTO idempotency (tool, key, input_digest, output, call, at) SELECT 't', 'k' || n, 'd', '{}', 'c' || n, ${now - 300_000} + n FROM s`,
  )
  keys.remember('t', 'newest', 'd', {}, 'call')
  expect(countOf(db, 'idempotency')).toBe(bounds.idempotency + 1)
  expect(keys.recall('t', 'newest')).toBeDefined()
  expect(keys.recall('t', 'k1')).toBeUndefined()
})

function approvalsIn(db: Database): { ask(): string; approvals: ReturnType<typeof openApprovals> } {
  const approvals = openApprovals(db, { lapsed: () => undefined, halfAnswered: () => undefined })
  let n = 0
  return {
    approvals,
    ask: () =>
      approvals.ask(
        {
          tool: 'write_to_file',
          risk: 'R2',
          inputDigest: `digest ${n++}`,
          stateDigest: '',
          card: { title: 'A card', changes: [], notes: [] },
          input: {},
          session: 'sess',
          surface: 'mcp-stdio',
          client: 'test/1',
          whole: true,
        },
        { ttlMs: 3_600_000, noMs: 3_600_000 },
      ).id,
  }
}

test('no number of other questions pushes out a no that still counts, nor one that waits', () => {
  using store = openStore()
  const { db } = store
  const { ask, approvals } = approvalsIn(db)
  const [denied, waits] = [ask(), ask()]
  approvals.decide(denied, { approve: false, by: 'person' }, () => undefined)
  many(
    db,
    bounds.approvals.most + 300,
    `INSERT INTO approvals (id, state, input_digest, state_digest, session, created_at, expires_at, body)
     SELECT 'appr_' || n, 'void', 'd', '', 'sess', ${Date.now()} + n, 0, '{}' FROM s`,
  )
  for (let n = 0; n < 10; n++) approvals.decide(ask(), { approve: false, by: 'person' }, () => undefined)
  expect(countOf(db, `approvals WHERE state = 'void'`)).toBeLessThanOrEqual(bounds.approvals.most)
  expect(approvals.refusal('digest 0', { session: 'sess', surface: 'mcp-stdio', client: 'test/1' })?.id).toBe(denied)
  expect(approvals.head(waits)?.state).toBe('pending')
})

test('no flood of questions in words pushes out that of another, nor the answer it waits for, be it over ever so many sessions', () => {
  using store = openStore()
  const { db } = store
  const questions = openQuestions(db)
  const ask = (session: string, text: string): string => questions.put({ session, client: 'test/1', text, options: [] }).id
  const [waits, answered, told] = [ask('one', 'Which of both?'), ask('two', 'And which?'), ask('three', 'And now?')]
  questions.answer(answered, 'this', 'person', () => undefined)
  questions.answer(told, 'that', 'person', () => undefined, true)
  // One process that comes again and again, each time as a new session.
  many(
    db,
    bounds.notes.all,
    `INSERT INTO sessions (id, surface, client, started_at, last_at, peer) SELECT 'flood' || n, 'mcp-http', 'evil/1', 0, 0, 'process 7 7' FROM s`,
  )
  many(
    db,
    bounds.notes.all,
    `INSERT INTO questions (id, session, client, text, options, asked_at) SELECT 'ask_' || n, 'flood' || n, 'evil/1', 'flood', '[]', ${Date.now()} FROM s`,
  )
  for (let n = 0; n < 10; n++) ask('flood1', `more ${n}`)
  expect(countOf(db, 'questions')).toBe(bounds.notes.all)
  expect(questions.get(waits)?.text).toBe('Which of both?')
  expect(questions.ask({ session: 'two', client: 'test/1', text: 'And which?', options: [] }).answer).toBe('this')
  expect(questions.get(told)).toBeUndefined()
  // One that comes after all of them is seen as well.
  const late = ask('four', 'And I?')
  const listed = questions.list(false).map(({ id }) => id)
  expect([listed.length, listed[0], listed.at(-1)]).toEqual([200, waits, late])
})

test('no flood of processes either: what others asked before stays, and the newcomer is told; what nobody took up for a week makes room', () => {
  using store = openStore()
  const { db } = store
  const questions = openQuestions(db)
  const ask = (session: string, text: string): string => questions.put({ session, client: 'test/1', text, options: [] }).id
  const old = [ask('one', 'Which of both?'), ask('one', 'And which?')]
  // Very many real processes, with one question each.
  many(
    db,
    bounds.notes.all - 3,
    `INSERT INTO questions (id, session, client, text, options, asked_at) SELECT 'ask_' || n, 'flood' || n, 'evil/1', 'flood', '[]', ${Date.now()} FROM s`,
  )
  const last = ask('last', 'The last there is room for?')
  expect(() => ask('late', 'And I?')).toThrow(`${bounds.notes.all} questions wait for the person already`)
  // Who has some gives way to itself.
  const again = ask('last', 'This one instead?')
  expect([...old, last, again].map((id) => questions.get(id)?.text)).toEqual([
    'Which of both?',
    'And which?',
    undefined,
    'This one instead?',
  ])
  expect(countOf(db, 'questions')).toBe(bounds.notes.all)
  db.run(`UPDATE questions SET asked_at = 0 WHERE id = 'ask_5'`)
  expect(questions.get(ask('late', 'And I?'))?.text).toBe('And I?')
  expect(questions.get('ask_5')).toBeUndefined()
})

test('cards of answered questions have an end in bytes, and those that wait keep theirs', () => {
  using store = openStore()
  const { db } = store
  const { ask, approvals } = approvalsIn(db)
  const ids = [ask(), ask(), ask(), ask()]
  const [waits = '', ...answered] = ids
  for (const id of answered) approvals.decide(id, { approve: false, by: 'person' }, () => undefined)
  db.run('UPDATE approvals SET shown = ?', Math.ceil(bounds.cards.bytes / 2) + 1)
  ask()
  expect(answered.map((id) => countOf(db, `cards WHERE approval = '${id}'`))).toEqual([0, 0, 1])
  expect(countOf(db, `cards WHERE approval = '${waits}'`)).toBe(1)
})

test('evidence has an end, oldest first', async () => {
  using store = openStore()
  const state = openStateFolder(join(store.folder, 'state'))
  mkdirSync(join(store.folder, 'state', 'evidence'))
  const at = (name: string): string => join(store.folder, 'state', 'evidence', name)
  const old = Date.now() / 1_000 - 3_600
  for (let n = 0; n < bounds.evidence.most + 5; n++) {
    writeFileSync(at(`call_${n}.log`), 'x')
    utimesSync(at(`call_${n}.log`), old + n, old + n)
  }
  utimesSync(at('call_9.log'), 1, 1)
  const evidence = openEvidence(state)
  evidence.keep('call_new', 'log', 'new')
  await evidence.close()
  state.close()
  const names = readdirSync(join(store.folder, 'state', 'evidence'))
  expect(names).toHaveLength(bounds.evidence.most)
  expect(names).toContain('call_new.log')
  expect(['call_0.log', 'call_4.log', 'call_9.log'].filter((name) => names.includes(name))).toEqual([])
  expect(names).toContain('call_6.log')
})

afterEach(() => void vi.useRealTimers())

const closedOf = (world: World): string[] => readdirSync(world.state('.')).filter((name) => /^audit\.\d+\.jsonl$/.test(name))

function grow(world: World, files: number): void {
  while (closedOf(world).length < files) {
    for (let n = 0; n < 100; n++) world.runtime.audit.note({ event: 'session.note', message: 'x'.repeat(200) })
    world.runtime.audit.head()
  }
}

test('with a limit of days old files of the log go by themselves; no flood of entries makes a younger one go', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3 * 86_400_000 })
  await using world = await openWorld({ config: { limits: { auditFileBytes: 65_536, auditKeptDays: 1 } } })
  grow(world, 2)
  const old = closedOf(world)
  vi.setSystemTime(Date.now() + 2.5 * 86_400_000)
  grow(world, 4)
  const { audit } = world.runtime
  await expect.poll(() => closedOf(world)).not.toContain(old[0])
  expect(audit.last(1, ({ event }) => event === 'audit.pruned')[0]).toMatchObject({ by: 'limits.auditKeptDays' })
  const young = closedOf(world)
  expect(old.filter((name) => young.includes(name))).toEqual([])
  grow(world, young.length + 6)
  for (const name of young) expect(closedOf(world)).toContain(name)
  expect(audit.verify()).toMatchObject({ whole: true, pruned: { by: 'limits.auditKeptDays' } })
})

test('more days than there are dates: no file of the log is that old, and nothing fails for it', async () => {
  const days = Number.MAX_SAFE_INTEGER
  await using world = await openWorld({ config: { limits: { auditFileBytes: 65_536, auditKeptDays: days } } })
  grow(world, 2)
  const closed = closedOf(world)
  // Looked at behind the write, where nobody could catch a fault.
  await new Promise((resolve) => setImmediate(resolve))
  expect(closedOf(world)).toEqual(closed)
  expect(await world.runtime.pruning.plan(days)).toMatchObject({ going: [] })
})

test('a project says neither how long the log is kept nor how large its files are', async () => {
  await using world = await openWorld({ projectConfig: { limits: { auditKeptDays: 1, auditFileBytes: 65_536 } } })
  const { limits } = world.runtime.config
  expect([limits.auditKeptDays, limits.auditFileBytes]).toEqual([0, 67_108_864])
})
