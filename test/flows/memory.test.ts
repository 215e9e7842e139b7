import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MemoryAnswer, MemoryStatus } from '../../src/contracts/memory.ts'
import { openConnection } from '../../src/host/database.ts'
import { excerptOf, wordsAsked, wordsIn } from '../../src/text/memory-words.ts'
import { openAgentWorld } from '../support/agent.ts'
import { proves } from '../support/proof.ts'
import { runInside } from '../support/inside.ts'
import { ended, handIn, putTemplates } from '../support/runs.ts'
import { openWorld, runCli, type World } from '../support/world.ts'

/** `handrail memory` and `search_memory`: what was done before is found, and the index is never more than an index. */
let world: World
const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`

beforeAll(async () => {
  world = await openWorld({ files: { 'game/scene/a.txt': 'one\n', 'notes.md': 'n\n' } })
  await world.put('game/scene/a.txt', 'the lantern is lit\n')
  await world.call('read_file', { path: 'notes.md' })
  await world.call('search_files', { path: '.', regex: `token=${secret}` }).catch(() => undefined)
  await world.fault('read_file', { path: 'game/scene/海滩约会.txt' })
})
afterAll(() => world[Symbol.asyncDispose]())

/** The index that counts. */
const indexOf = (): string =>
  world.state(readdirSync(world.state('.')).findLast((name) => /^memory\.\d+\.db$/.test(name)) ?? 'none')

type Answer = MemoryAnswer & { untrusted: true }
const find = (input: object, at = world): Promise<Answer> => at.call<Answer>('search_memory', input)
const kinds = ({ hits }: MemoryAnswer): string[] => hits.map(({ kind, tool }) => `${kind} ${tool ?? ''}`)

proves(['memory.facts', 'memory.retraced'], 'by words, path, tool and time, each as the log has it', async () => {
  const written = await find({ tool: 'write_to_file', path: 'game/scene' })
  expect(written).toMatchObject({ untrusted: true, behind: 0, more: false })
  expect(written.hits[0]).toMatchObject({ kind: 'call', outcome: 'ok', paths: ['game/scene/a.txt'] })
  // Where it landed, what it was given, and the way to its snapshots.
  const lines = (written.hits[0]?.lines ?? []).map((seq) => world.runtime.audit.line(seq))
  expect(lines.map((line) => line?.event)).toEqual(['call.start', 'call.end'])
  expect(lines[0]?.inputDigest).toMatch(/^[0-9a-f]{64}$/)
  expect(lines[1]?.snapshots?.length).toBe(1)
  expect(kinds(await find({ query: 'notes md' }))).toEqual(['call read_file'])
  expect(kinds(await find({ query: '海滩' }))).toEqual(['call read_file'])
  expect((await find({ query: '海滩', kind: 'run' })).hits).toEqual([])
  expect((await find({ path: 'game', until: '2020-01-01' })).hits).toEqual([])
  expect((await find({ path: 'game', since: '2020-01-01' })).hits.length).toBe(3)
  expect((await find({ path: 'gam' })).hits).toEqual([])
  expect(await find({ limit: 1 })).toMatchObject({ more: true, hits: [expect.anything()] })
  expect((await world.fault('search_memory', { since: 'yesterday' })).code).toBe('E_BAD_ARGS')
})

test('what the log redacted is not in it, and cannot be found', async () => {
  expect((await find({ query: secret })).hits).toEqual([])
  const answered = JSON.stringify(await find({ tool: 'search_files' }))
  expect(answered).toContain('search_files')
  expect(answered).not.toContain(secret)
  for (const name of readdirSync(world.state('.')).filter((one) => one.startsWith('memory.')))
    expect(readFileSync(world.state(name)).includes('lantern')).toBe(false)
})

proves('memory.index', 'removed, cut short, overwritten, of another form: made anew, and nothing is lost', async () => {
  const before = await find({ tool: 'write_to_file' })
  const cases: Record<string, () => void> = {
    removed: () => rmSync(indexOf()),
    'cut short': () => truncateSync(indexOf(), 5_000),
    overwritten: () => writeFileSync(indexOf(), 'x'.repeat(20_000)),
    'damaged inside': () => {
      const bytes = readFileSync(indexOf())
      writeFileSync(indexOf(), Buffer.concat([bytes.subarray(0, 100), bytes.subarray(100).fill(0x41)]))
    },
    'another form': () => edit(`UPDATE facts SET value = '99' WHERE name = 'form'`),
    'ahead of the log': () => edit(`UPDATE facts SET value = '999999 x' WHERE name = 'log'`),
  }
  for (const [name, damage] of Object.entries(cases)) {
    await world.reopen()
    damage()
    expect(await find({ tool: 'write_to_file' }), name).toEqual(before)
  }
  const status = JSON.parse((await runInside(world.project, ['memory', 'rebuild', '--json'])).out) as MemoryStatus
  expect(status.entries).toBeGreaterThan(4)
})

/** As somebody would who can write to the state folder. */
function edit(sql: string): void {
  const connection = openConnection(indexOf())
  connection.exec(sql)
  connection.close()
}

proves('memory.index', 'what is forged in it is never told', async () => {
  await find({})
  const head = world.runtime.audit.head().seq
  // An entry that is not, and one that stands for another line.
  edit(`INSERT INTO entries (number, ref, at, lines) VALUES (900, 'call call_forged', 1, '1 2'), (901, 'line ${head}', 1, '1')`)
  edit(`INSERT INTO words SELECT 0, word, 900 FROM words WHERE entry = 0`)
  const { hits } = await find({ limit: 100 })
  expect(hits.length).toBeGreaterThan(4)
  expect(hits.filter(({ id }) => id === 'call_forged')).toEqual([])
})

/** Loaded before the program: it dies without a word in the middle of its n-th step of making the index. */
const dying = `
const Module = require('node:module')
const indexes = new WeakSet()
let left = Number(process.env.DIE_BEFORE)
const look = (store, sql) => {
  if (sql.includes('TABLE IF NOT EXISTS entries')) indexes.add(store)
  if (sql === 'COMMIT' && indexes.has(store) && --left === 0) process.kill(process.pid, 'SIGKILL')
}
const watched = ({ DatabaseSync }) => ({ DatabaseSync: class extends DatabaseSync { exec(sql) { look(this, sql); return super.exec(sql) } } })
const { _load } = Module
Module._load = function (id, ...more) {
  const loaded = _load.call(this, id, ...more)
  return id === '@photostructure/sqlite' ? watched(loaded) : loaded
}
const { getBuiltinModule } = process
process.getBuiltinModule = (id) => {
  const found = getBuiltinModule?.(id)
  return found && id === 'node:sqlite' ? watched(found) : found
}
`

proves('memory.index', 'killed midway it goes on where it was, beside others', async () => {
  for (let n = 0; n < 500; n++) world.runtime.audit.note({ event: 'session.note', message: `kept ${n}` })
  const preload = join(world.base, 'dying-index.cjs')
  writeFileSync(preload, dying)
  const env = { NODE_OPTIONS: `--require=${preload}`, NODE_NO_WARNINGS: '1', DIE_BEFORE: '22' }
  expect((await runCli(world.project, ['memory', 'rebuild'], { env })).code).toBe(null)
  // Some of it is there, and not all.
  const { upTo, head } = world.runtime.memory.status()
  expect(upTo).toBeGreaterThan(0)
  expect(upTo).toBeLessThan(head)
  const [one, other] = await Promise.all([
    find({ query: 'kept 499' }),
    runInside(world.project, ['memory', 'search', 'kept', '499', '--json']),
  ])
  expect(one.hits.map(({ what }) => what)).toEqual(['session.note: kept 499'])
  expect((JSON.parse(other.out) as MemoryAnswer).hits).toEqual(one.hits)
  expect((await find({ query: 'kept 0' })).hits.length).toBe(1)
})

test('a log that a person began anew is another one', async () => {
  await using other = await openWorld({ files: { 'a.txt': 'a' } })
  await other.call('read_file', { path: 'a.txt' })
  await find({}, other)
  writeFileSync(other.state('audit.jsonl'), readFileSync(other.state('audit.jsonl'), 'utf8').replace('read_file', 'read_fool'))
  other.runtime.audit.renew()
  for (let n = 0; n < 5; n++) other.runtime.audit.note({ event: 'session.note', message: `fresh ${n}` })
  expect((await find({ path: 'a.txt' }, other)).hits).toEqual([])
  expect((await find({ query: 'fresh' }, other)).hits.length).toBe(5)
})

test('artifacts by what they say, runs by their template', async () => {
  await using other = await openWorld({ files: { 'a.txt': 'zeppelin\n' } })
  putTemplates(other.base)
  const { runId } = await handIn(other, 'read_all', { items: ['a.txt'] })
  const { status } = await ended(other, runId)
  expect(status).toBe('succeeded')
  expect((await find({ query: 'read_all', kind: 'run' }, other)).hits).toMatchObject([{ id: runId, outcome: 'succeeded' }])
  expect((await find({ query: 'zeppelin', kind: 'artifact' }, other)).hits).toMatchObject([{ run: runId }])
})

test('who may have no run is not told what runs left', async () => {
  await using other = await openWorld({
    files: { 'a.txt': 'zeppelin\n' },
    beside: { 'second/b.txt': 'b\n' },
    config: (base: string) => ({ roots: [`second=${base}/second`] }),
  })
  putTemplates(other.base)
  const { runId } = await handIn(other, 'read_all', { items: ['a.txt'] })
  await ended(other, runId)
  const asked = { query: 'zeppelin', kind: 'artifact' }
  expect((await find(asked, other)).hits).toHaveLength(1)
  // With further roots the person's own calls are made under a profile, which has no runs.
  expect((await other.call<Answer>('search_memory', asked, { role: 'person' })).hits).toEqual([])
})

test('conversations are found by the person and by the agent they were with, without what is secret in them, until they are removed', async () => {
  const said = [{ text: 'The tide was low.' }, { text: 'Nothing more.' }]
  await using agent = await openAgentWorld(() => said.shift() ?? { text: 'Done.' })
  const { world: own } = agent
  await agent.ask(`What is a barometer? My key is ${secret}`, { session: 'chat_one', mode: 'answer' })
  const bySomebody = await own.call<Answer>('search_memory', { query: 'barometer', kind: 'conversation' })
  expect(bySomebody.hits).toEqual([])
  const byAgent = await own.call<Answer>('search_memory', { query: 'barometer' }, { session: 'chat_one' })
  expect(byAgent.hits).toMatchObject([{ kind: 'conversation', id: 'chat_one' }])
  expect(JSON.stringify(byAgent)).not.toContain(secret)
  const person = await runInside(own.project, ['memory', 'search', 'barometer', '--kind', 'conversation'])
  expect(person.out).toContain('conversation chat_one')
  // Half a key is one as well: what is cut off ends before it.
  await agent.ask(`${'A hygrometer? '.padEnd(185, '. ')} ${secret} ${'and so on '.repeat(2_000)}`, {
    session: 'chat_two',
    mode: 'answer',
  })
  await agent.ask(`hygrometer ${'x '.repeat(8_180)}${secret}`, { session: 'chat_three', mode: 'answer' })
  const cut = await own.call<Answer>('search_memory', { query: 'hygrometer' }, { session: 'chat_one' })
  expect(cut.hits.length).toBe(2)
  expect(JSON.stringify(cut)).not.toContain(secret.slice(0, 8))
  expect((await own.call<Answer>('search_memory', { query: secret.slice(0, 8) }, { session: 'chat_one' })).hits).toEqual([])
  ;(await own.runtime.agent()).sessions.remove('chat_one')
  expect((await runInside(own.project, ['memory', 'search', 'barometer', '--kind', 'conversation'])).out).toBe('Nothing found.\n')
})

test('prune takes from it what is gone from the log', async () => {
  await using other = await openWorld({ config: { limits: { auditFileBytes: 65_536 } } })
  for (let n = 0; n < 1_100; n++) other.runtime.audit.note({ event: 'session.note', message: `line ${n}` })
  await find({}, other)
  const before = other.runtime.memory.status().entries
  expect(before).toBeGreaterThanOrEqual(1_100)
  expect((await runInside(other.project, ['prune', '--days', '0', '--yes'])).code).toBe(0)
  expect(other.runtime.memory.status().entries).toBeLessThan(before - 1_000)
  expect((await find({ query: 'line 7' }, other)).hits).toEqual([])
  expect((await find({ kind: 'event' }, other)).hits.length).toBeGreaterThan(0)
})

test('words are found in any case, by their parts, and without spaces by their pairs', () => {
  expect([...wordsIn('writeToFile snake_case HTML5 e\u0301')]).toEqual(
    expect.arrayContaining(['writetofile', 'write', 'to', 'file', 'snake_case', 'snake', 'case', 'html5', 'html', '5', 'é']),
  )
  expect(wordsAsked('海滩约会')).toEqual(['海滩', '滩约', '约会'])
  expect(wordsAsked('海').every((word) => wordsIn('看海吧').has(word))).toBe(true)
  expect(excerptOf(`${'x'.repeat(500)} lantern ${'y'.repeat(500)}`, ['lantern'])).toMatch(/^….*lantern.*…$/)
})
