import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { kept, keptRowOf } from '../../src/contracts/kept.ts'
import type { PrunePlan, Pruned } from '../../src/contracts/prune.ts'
import { openConnection, openDatabase } from '../../src/host/database.ts'
import { ownName } from '../../src/host/running.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { killedAt, moments } from '../support/killed-at.ts'
import { sweep } from '../support/soak.ts'
import { runInside } from '../support/inside.ts'
import { handIn, putTemplates } from '../support/runs.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'

/** `handrail prune`: it says what goes, that goes and no more, and what counts stays. */
const small = { limits: { auditFileBytes: 65_536, snapshotRetention: 4 } }

function filesBelow(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    return entry.isDirectory() ? filesBelow(folder, path) : [path]
  })
}

/** Bytes on the disk of what is not the database or the file of the log that grows; what has several names counts once. */
function bytesIn(world: World): number {
  const seen = new Set<number>()
  let sum = 0
  for (const path of filesBelow(world.state('.'))) {
    const { ino, size } = lstatSync(world.state(path))
    if (seen.has(ino) || /^(handrail\.db|audit\.jsonl$|locks)/.test(path)) continue
    seen.add(ino)
    sum += size
  }
  return sum
}

const closedOf = (world: World): string[] => readdirSync(world.state('.')).filter((name) => /^audit\.\d+\.jsonl$/.test(name))

function grow(world: World, files: number): void {
  while (closedOf(world).length < files) {
    for (let n = 0; n < 100; n++) world.runtime.audit.note({ event: 'session.note', message: 'x'.repeat(200) })
    world.runtime.audit.head()
  }
}

/** A project in which there is something of everything. */
async function used(): Promise<World> {
  const world = await openWorld({ files: { 'novel.txt': 'by hand 0\n', 'b.txt': 'b\n' }, config: small })
  for (let n = 0; n < 6; n++) {
    await world.put('novel.txt', `written ${n}\n`)
    if (n % 3 === 1) world.write('novel.txt', `by hand ${n}\n`)
  }
  await world.put('b.txt', 'same\n')
  await world.put('c.txt', 'same\n')
  for (const n of [1, 2, 3]) await world.put('c.txt', `c ${n}\n`)
  await world.call('ask_followup_question', { question: 'Well?' })
  grow(world, 2)
  mkdirSync(world.state('evidence'), { recursive: true })
  writeFileSync(world.state('evidence/call_1.log'), 'x'.repeat(5_000))
  utimesSync(world.state('evidence/call_1.log'), 1, 1)
  writeFileSync(world.state('evidence/call_2.log'), 'x'.repeat(5_000))
  return world
}

const pruneAll = async (world: World): Promise<Pruned> => {
  const end = await runInside(world.project, ['prune', '--days', '0', '--yes', '--json'])
  expect(end).toMatchObject({ code: 0 })
  return JSON.parse(end.out) as Pruned
}

test('everything that is kept stands in the list: every file of the state, every table of the database', async () => {
  await using world = await used()
  const { token } = world.runtime.token()
  world.runtime.token('person')
  world.runtime.consumeNonce('word', Date.now() + 60_000)
  expect(token).not.toBe('')
  await world.runtime.audit.check()
  expect(filesBelow(world.state('.')).filter((path) => !keptRowOf(path))).toEqual([])
  const base = join(world.base, 'state', 'handrail')
  const shared = kept.flatMap((row) => (row.shared ?? []).map((name) => name.split('/')[0]))
  expect(readdirSync(base).filter((name) => name !== 'projects' && !shared.includes(name))).toEqual([])
  const db = openConnection(':memory:')
  db.exec(schema)
  const tables = (db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all() as { name: string }[]).map(
    (one) => one.name,
  )
  expect(tables.toSorted()).toEqual(kept.flatMap((row) => row.tables ?? []).toSorted())
  db.close()
  for (const { what, bound, after } of kept) expect([bound, after].every(Boolean), what).toBe(true)
})

test('a plan changes nothing; carried out, it frees to the byte what it said', async () => {
  await using world = await used()
  const before = bytesIn(world)
  const plan = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', '--json'])).out) as PrunePlan
  expect(bytesIn(world)).toBe(before)
  expect(plan.going.map(({ what }) => what)).toEqual([
    'closed files of the audit log',
    'states written through Handrail',
    'evidence',
    'notes of agents',
    'questions of agents, answered or not',
  ])
  expect(plan.bytes).toBe(plan.going.reduce((sum, { bytes }) => sum + bytes, 0))
  // Commands of their own open no session: what the plan said is what there is.
  await world.runtime.close()
  const report = await pruneAll(world)
  expect(report.gone).toEqual(plan.going)
  expect(before - bytesIn(world)).toBe(plan.bytes)
  expect(report.bytes).toBe(plan.bytes)
  const again = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', '--json'])).out) as PrunePlan
  expect(again.going).toEqual([])
})

test('without --yes and without a terminal nothing goes', async () => {
  await using world = await used()
  const before = bytesIn(world)
  expect(await runInside(world.project, ['prune', '--days', '0'])).toMatchObject({ code: 2 })
  expect(await runInside(world.project, ['prune', '--days', '-1', '--yes'])).toMatchObject({ code: 2 })
  expect(bytesIn(world)).toBe(before)
})

test('the original, the newest two and whatever Handrail did not write stay, and each can be gone back to', async () => {
  await using world = await used()
  const theirs = (): string[] =>
    world.runtime
      .snapshots(1_000, 'novel.txt')
      .filter(({ kind }) => kind === 'baseline')
      .map(({ id }) => id)
  const before = theirs()
  expect(before).toHaveLength(3)
  await pruneAll(world)
  expect(theirs()).toEqual(before)
  expect(world.runtime.snapshots(1_000, 'novel.txt').filter(({ kind }) => kind !== 'baseline')).toHaveLength(2)
  // The first that was ever kept of c.txt was written through Handrail, and stays too; b.txt shares its content.
  expect(world.runtime.snapshots(1_000, 'c.txt')).toHaveLength(3)
  for (const id of before) {
    expect(await runInside(world.project, ['undo', '--to', id, '--yes'])).toMatchObject({ code: 0 })
    expect(world.read('novel.txt')).toMatch(/^by hand/)
  }
  const [line] = world.runtime.audit.last(1, ({ event, by }) => event === 'snapshot.pruned' && by === 'person@cli')
  expect(line?.snapshots?.length).toBeGreaterThan(0)
})

test('what waits for a person stays whatever its age, and so does a no that still counts', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'a\n' },
    config: { policies: { askFrom: 'R1' }, limits: { approvalWaitMs: 0 } },
  })
  const asking = async (content: string): Promise<string> => {
    await world.call('write_to_file', { path: 'a.txt', content, dryRun: true })
    const fault = await world.fault('write_to_file', { path: 'a.txt', content, dryRun: false })
    return (fault.details as { approvalId: string }).approvalId
  }
  const [waits, yes, no] = [await asking('1\n'), await asking('2\n'), await asking('3\n')]
  world.runtime.approvals.decide(yes, { approve: true, by: 'test' })
  world.runtime.approvals.decide(no, { approve: false, by: 'test' })
  await pruneAll(world)
  expect(world.runtime.approvals.get(waits)?.card.changes).not.toEqual([])
  expect(world.runtime.approvals.list().map(({ id, state }) => [id, state])).toEqual([
    [no, 'denied'],
    [yes, 'approved'],
    [waits, 'pending'],
  ])
  // Nobody is asked the same again.
  expect((await world.fault('write_to_file', { path: 'a.txt', content: '3\n', dryRun: false })).details).toMatchObject({
    approvalId: no,
  })
})

test('contents that nothing names go; of a state that Handrail did not write the row is made anew instead', async () => {
  await using world = await openWorld({ files: { 'novel.txt': 'weeks of work\n' } })
  await world.put('novel.txt', 'gone\n')
  await world.put('novel.txt', 'gone again\n')
  const [, written, theirs] = world.runtime.snapshots(10, 'novel.txt')
  await world.runtime.close()
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  for (const one of [written, theirs]) db.run('DELETE FROM snapshots WHERE id = ?', one?.id ?? '')
  db.close()
  const report = await pruneAll(world)
  expect(report.gone.find(({ what }) => what === 'contents that nothing names')).toMatchObject({ count: 1 })
  expect(existsSync(world.state(`snapshots/${written?.id}.txt`))).toBe(false)
  expect(await runInside(world.project, ['undo', '--to', theirs?.id ?? '', '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('novel.txt')).toBe('weeks of work\n')
})

test('what is left of a pruned log verifies, says who pruned it, and reads on; running processes go on', async () => {
  await using world = await used()
  await using peer = await openStdio(world.project)
  expect(await peer.call('read_file', { path: 'b.txt' })).not.toHaveProperty('error')
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
  await pruneAll(world)
  expect(closedOf(world)).toEqual([])
  const first = JSON.parse(readFileSync(world.state('audit.jsonl'), 'utf8').split('\n', 1)[0] ?? '') as AuditLine
  const pruned = { upTo: first.seq - 1, by: 'person@cli' }
  for (const full of [[], [], ['--full']]) {
    const end = await runInside(world.project, ['audit', 'verify', '--json', ...full])
    expect(JSON.parse(end.out)).toMatchObject({ whole: true, pruned })
  }
  const { audit } = world.runtime
  expect(audit.verify()).toMatchObject({ whole: true, pruned })
  expect([audit.line(first.seq - 1), audit.line(first.seq)]).toEqual([undefined, first])
  expect([...audit.lines()][0]).toEqual(first)
  expect((await runInside(world.project, ['audit', 'verify'])).out).toContain(
    `Kept from entry ${first.seq} on: the earlier ones were pruned by person@cli`,
  )
  expect(await peer.call('read_file', { path: 'b.txt' })).not.toHaveProperty('error')
  await world.put('b.txt', 'on\n')
  grow(world, 2)
  expect(await audit.check()).toMatchObject({ whole: true, pruned })
  await pruneAll(world)
  expect(audit.verify()).toMatchObject({ whole: true })
})

test('a beginning that somebody else cut off is a break, before and after a person pruned; and a broken log is not pruned', async () => {
  await using world = await openWorld({ config: small })
  grow(world, 3)
  const all = closedOf(world)
  const aside = readFileSync(world.state(all[0] as string))
  await world.runtime.close()
  rmSync(world.state(all[0] as string))
  const end = await runInside(world.project, ['audit', 'verify', '--json'])
  expect(JSON.parse(end.out)).toMatchObject({ whole: false, line: 1 })
  const plan = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', '--json'])).out) as PrunePlan
  expect(plan.broken).toBeDefined()
  await runInside(world.project, ['prune', '--days', '0', '--yes'])
  expect(closedOf(world)).toEqual(all.slice(1))
  // Put back, so that it is whole again but for the entries that came in between.
  writeFileSync(world.state(all[0] as string), aside, { mode: 0o600 })
})

test('a forged note of what was pruned is not believed: an entry of the log must say it', async () => {
  await using world = await openWorld({ config: small })
  grow(world, 2)
  const [first = ''] = closedOf(world)
  const text = readFileSync(world.state(first), 'utf8')
  const last = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as AuditLine
  await world.runtime.close()
  rmSync(world.state(first))
  const heads = join(world.base, 'state', 'handrail', 'heads')
  const head = join(heads, readdirSync(heads)[0] ?? '')
  const forged = { seq: last.seq, hash: last.hash, end: Buffer.byteLength(text), log: 1, by: 'person@cli', at: last.at }
  writeFileSync(
    head,
    Buffer.concat([
      readFileSync(head).subarray(0, 512),
      Buffer.alloc(512, 32),
      Buffer.from(`${JSON.stringify(forged).padEnd(511)}\n`),
    ]),
  )
  const end = await runInside(world.project, ['audit', 'verify', '--json'])
  expect(JSON.parse(end.out)).toMatchObject({
    whole: false,
    line: last.seq + 1,
    why: expect.stringContaining('no entry says that it was pruned'),
  })
})

test('killed at any write of a prune, nothing that counts is lost, the log is whole, and the next prune finishes', async () => {
  await using world = await used()
  const theirs = world.runtime
    .snapshots(1_000, 'novel.txt')
    .filter(({ kind }) => kind === 'baseline')
    .map(({ id }) => id)
  await world.runtime.close()
  const [state, copy] = [join(world.base, 'state'), join(world.base, 'state-copy')]
  cpSync(state, copy, { recursive: true })
  let killed = 0
  for (const moment of moments('a prune', 15)) {
    const end = await killedAt(world.base, world.project, ['prune', '--days', '0', '--yes'], moment, '')
    if (end.code === 0) break
    killed++
    const verdict = await runInside(world.project, ['audit', 'verify', '--json'])
    expect(JSON.parse(verdict.out), `killed before write ${moment}`).toMatchObject({ whole: true })
    await pruneAll(world)
    const left = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', '--json'])).out) as PrunePlan
    expect(left.going, `killed before write ${moment}`).toEqual([])
    const full = await runInside(world.project, ['audit', 'verify', '--full', '--json'])
    expect(JSON.parse(full.out)).toMatchObject({ whole: true })
    const ids = (await runInside(world.project, ['snapshots', 'novel.txt', '--json'])).out
    for (const id of theirs) expect(ids).toContain(id)
    expect(closedOf(world)).toEqual([])
    rmSync(state, { recursive: true })
    cpSync(copy, state, { recursive: true })
  }
  expect(killed).toBeGreaterThan(sweep(3, 0))
})

test('anchors of entries that were pruned are said to be so; those of entries that are kept still count', async () => {
  await using world = await used()
  const file = join(world.base, 'anchors.jsonl')
  writeFileSync(file, `${JSON.stringify({ project: world.project, ...world.runtime.audit.line(3) })}\n`)
  await runInside(world.project, ['audit', 'anchor', '--to', file])
  expect(await runInside(world.project, ['audit', 'verify', '--anchor', file])).toMatchObject({ code: 0 })
  await pruneAll(world)
  const end = await runInside(world.project, ['audit', 'verify', '--anchor', file])
  expect(end.out).toContain('1 of the anchors are of entries that were pruned since')
  expect(end.code).toBe(0)
  writeFileSync(file, `${JSON.stringify({ project: world.project, seq: 9_999, hash: 'f'.repeat(64), at: '' })}\n`)
  expect(await runInside(world.project, ['audit', 'verify', '--anchor', file])).toMatchObject({ code: 1 })
})

test('renew after a break puts every file of the log aside; prune names them and leaves them', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, config: small })
  grow(world, 3)
  await world.runtime.close()
  const [, second = '', third = ''] = closedOf(world)
  rmSync(world.state(second))
  expect(await runInside(world.project, ['audit', 'renew', '--yes'])).toMatchObject({ code: 0 })
  expect(closedOf(world)).toEqual([])
  expect(readdirSync(world.state('.')).some((name) => name.startsWith(`${third}.`))).toBe(true)
  expect(await runInside(world.project, ['audit', 'verify', '--full'])).toMatchObject({ code: 0 })
  const before = readdirSync(world.state('.')).toSorted()
  const plan = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', '--json'])).out) as PrunePlan
  expect(plan.stays.map(({ what, count }) => [what, count])).toContainEqual(['logs put aside after a break', 4])
  await pruneAll(world)
  expect(readdirSync(world.state('.')).toSorted()).toEqual(before)
})

test('of a file that is gone all states go, unless somebody else ever wrote it', async () => {
  await using world = await openWorld({ files: {} })
  const make = async (path: string, byHand: boolean): Promise<void> => {
    const { snapshotId: first } = await world.put(path, 'one\n')
    if (byHand) world.write(path, 'by hand\n')
    const { snapshotId: second } = await world.put(path, 'two\n')
    const person = { role: 'person' as const }
    await world.call('undo', { snapshot: second, dryRun: false }, person)
    if (byHand) world.write(path, 'one\n')
    await world.call('undo', { snapshot: first, dryRun: false }, person)
    expect(existsSync(world.path(path))).toBe(false)
  }
  await make('ours.txt', false)
  await make('theirs.txt', true)
  await pruneAll(world)
  expect(world.runtime.snapshots(100, 'ours.txt')).toEqual([])
  const left = world.runtime.snapshots(100, 'theirs.txt').filter(({ kind }) => kind === 'baseline')
  expect(left.length).toBeGreaterThan(0)
  for (const { id } of left) expect(await runInside(world.project, ['undo', '--to', id, '--yes'])).toMatchObject({ code: 0 })
})

test('the database gives back what became free, an older one too', async () => {
  for (const vacuum of [2, 0]) {
    await using world = await openWorld()
    await world.runtime.close()
    const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
    db.exec(`PRAGMA auto_vacuum = ${vacuum}; VACUUM`)
    db.run(
      `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 2000)
       INSERT INTO notes (session, kind, text, at) SELECT 's' || n, 'question', printf('%.4000c', 'x'), 1 FROM s`,
    )
    db.close()
    const size = (): number => lstatSync(world.state('handrail.db')).size
    const before = size()
    const report = await pruneAll(world)
    expect(report.gone).toContainEqual({ what: 'notes of agents', count: 2_000, bytes: 0 })
    expect(before - size()).toBeGreaterThan(7_000_000)
    expect(report.databaseBytes).toBeGreaterThan(7_000_000)
  }
})

test('state shows every file of the log among its sizes; doctor says how much is taken, and when something is nearly full', async () => {
  await using world = await openWorld({ config: small })
  grow(world, 2)
  await world.runtime.close()
  const view = JSON.parse((await runInside(world.project, ['state', '--json'])).out) as { bytes: { audit: number } }
  expect(view.bytes.audit).toBeGreaterThan(2 * 65_536)
  const findings = async (): Promise<{ what: string; state: string; says: string }[]> =>
    (
      JSON.parse((await runInside(world.project, ['doctor', '--json'])).out) as {
        findings: { what: string; state: string; says: string }[]
      }
    ).findings
  expect((await findings()).find(({ what }) => what === 'room')).toMatchObject({
    state: 'good',
    says: expect.stringContaining('audit '),
  })
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  db.run(
    `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1900)
     INSERT INTO notes (session, kind, text, at) SELECT 's' || n, 'question', 'x', 1 FROM s`,
  )
  db.close()
  const room = (await findings()).find(({ what }) => what === 'room')
  expect(room).toMatchObject({ state: 'note', says: expect.stringContaining('1900 of 2000 notes of agents') })
  expect(room?.says).toContain('handrail prune')
})

test('runs that have ended go with their journals and artifacts, what is under way stays', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' } })
  putTemplates(world.base)
  const { runId, artifactIds = [] } = await handIn(world, 'read_all', { items: ['package.json'] }, { mode: 'sync' })
  const waits = await handIn(world, 'replace_once', { path: 'package.json', find: '{}', replace: '[]' }, { mode: 'async' })
  await expect.poll(async () => (await (await world.runtime.runs()).get(waits.runId)).waiting).toBeDefined()
  const stray = world.state(`artifacts/art_${'0'.repeat(32)}`)
  writeFileSync(stray, 'x'.repeat(100))
  await pruneAll(world)
  expect(await world.call('get_task_run', { runId }), 'it has just ended: whoever handed it in may ask for it').toMatchObject({
    status: 'succeeded',
  })
  await world.runtime.close()
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  db.run('UPDATE runs SET updated_at = 1, created_at = 1, expires_at = iif(expires_at IS NULL, NULL, expires_at + 1000000)')
  db.run('UPDATE artifacts SET created_at = 1')
  for (const name of readdirSync(world.state('artifacts'))) utimesSync(world.state(`artifacts/${name}`), 1, 1)
  const before = bytesIn(world)
  const plan = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', '--json'])).out) as PrunePlan
  const report = await pruneAll(world)
  const ofRuns = plan.going.filter(({ what }) => /runs?\b/.test(what))
  expect(ofRuns).toMatchObject([
    { what: 'ended runs with their journals', count: 1 },
    { what: 'artifacts of runs', count: 1 },
    { what: 'contents of artifacts that no run names', count: 1, bytes: 100 },
  ])
  expect(report.gone).toEqual(expect.arrayContaining(ofRuns))
  expect(before - bytesIn(world)).toBe(plan.bytes)
  const left = (table: string): string[] => db.all<{ run: string }>(`SELECT run FROM ${table}`).map(({ run }) => run)
  expect(left('run_bodies')).toEqual([waits.runId])
  expect(new Set(left('run_steps'))).toEqual(new Set([waits.runId]))
  db.close()
  await world.reopen()
  expect(await world.fault('get_task_run', { runId })).toMatchObject({ reason: 'run-not-found' })
  expect(await world.fault('get_artifact', { artifactId: artifactIds[0] })).toMatchObject({ reason: 'artifact-expired' })
  expect(await world.call('get_task_run', { runId: waits.runId })).toMatchObject({ status: 'running' })
})

test('dev servers that have ended go by age, one that runs stays', async () => {
  const [name, ttl] = ['run-ttl-ms', '86400000'] as const
  await using world = await openWorld({ files: { 'a.txt': 'x' }, flags: { [name]: ttl } })
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  const insert = (id: string, status: string, at: number) =>
    db.run(
      `INSERT INTO server_runs (id, command, call, session, status, owner, urls, created_at, updated_at, log)
       VALUES (?, 'node dev.js', 'call_1', 's', ?, ?, '[]', ?, ?, 'listening')`,
      id,
      status,
      ownName(),
      at,
      at,
    )
  const twoHoursAgo = Date.now() - 7_200_000
  insert('run_old', 'failed', twoHoursAgo)
  insert('run_young', 'canceled', Date.now())
  insert('run_up', 'running', twoHoursAgo)
  const flags = [`--${name}`, ttl, '--json']
  const wanted = { what: 'dev servers that have ended, with what they printed', count: 1, bytes: 0 }
  const plan = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--dry-run', ...flags])).out) as PrunePlan
  expect(plan.going).toContainEqual(wanted)
  const report = JSON.parse((await runInside(world.project, ['prune', '--days', '0', '--yes', ...flags])).out) as Pruned
  expect(report.gone).toContainEqual(wanted)
  expect(db.all<{ id: string }>('SELECT id FROM server_runs ORDER BY seq').map(({ id }) => id)).toEqual(['run_young', 'run_up'])
  db.close()
})
