import { expect, test } from 'vitest'
import { bounds } from '../contracts/kept.ts'
import { openDatabase, type SqlValue } from '../host/database.ts'
import { openChats } from './chats.ts'
import { schema, schemaVersion } from './schema.ts'

const speaker = (n: number) => ({ session_id: `s${n}`, user_id: 'u', channel: 'c' })
const said = (text: string) => [
  { role: 'user', type: 'message', text },
  { role: 'assistant', type: 'message', text: `re: ${text}` },
]

test('what is beyond the bounds goes, the oldest first, and what is long is cut and says so', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const chats = openChats(db)
  const { most, messages, characters } = bounds.chats
  for (let n = 0; n < messages; n++) chats.add(speaker(0), said(`${n}`))
  const first = chats.list({ limit: 1 })[0]?.id ?? ''
  const kept = chats.messages(first).map(({ content }) => content[0]?.text)
  expect(kept).toHaveLength(messages)
  expect(kept.at(-1)).toBe(`re: ${messages - 1}`)
  chats.add(speaker(0), said('x'.repeat(characters + 10)))
  expect(chats.messages(first).at(-2)?.content[0]?.text).toBe(`${'x'.repeat(characters)}… (cut: ${characters + 10} characters)`)
  for (let n = 1; n <= most; n++) chats.open(speaker(n), 'opened')
  expect(chats.get(first)).toBeUndefined()
  expect(chats.messages(first)).toEqual([])
  expect(db.get<{ n: number }>('SELECT count(*) AS n FROM chats')?.n).toBe(most)
  expect(db.get<{ n: number }>('SELECT count(*) AS n FROM chat_messages')?.n).toBe(0)
})

test('messages of all chats together have a bound, in memory and on the disk', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const chats = openChats(db)
  const { all, messages } = bounds.chats
  const full = Math.ceil(all / messages) + 20
  for (let n = 0; n < full; n++) for (let turn = 0; turn < messages / 2; turn++) chats.add(speaker(n), said(`${turn}`))
  chats.list({ limit: 1 })
  chats.add(speaker(full), said('one more'))
  chats.open(speaker(full + 1), 'and the bound is looked at')
  expect(db.get<{ n: number }>('SELECT count(*) AS n FROM chat_messages')?.n).toBeLessThanOrEqual(all)
  expect(chats.messages(chats.list({ limit: 500 }).find(({ session_id }) => session_id === `s${full}`)?.id ?? '')).toHaveLength(2)
})

test('what waits is written when it is closed, and read back whole', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const chats = openChats(db)
  chats.add(speaker(1), [
    { role: 'user', type: 'message', text: '海\u{1f600}' },
    { role: 'assistant', type: 'message', text: 'ok', metadata: { ok: true } },
  ])
  chats.close()
  expect(db.all<{ text: string }>('SELECT text FROM chat_messages').map(({ text }) => text)).toEqual(['海\u{1f600}', 'ok'])
})

test('whoever says very much pushes out its own, and not what others said before it', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const chats = openChats(db)
  const { all, messages } = bounds.chats
  const mine = chats.open(speaker(0), 'mine').id
  chats.add(speaker(0), said('before the flood'))
  chats.list({ limit: 1 })
  for (let n = 1; n <= (2 * all) / messages; n++) {
    for (let turn = 0; turn < messages / 2; turn++) chats.add(speaker(n), said(`${turn}`))
    chats.open(speaker(1_000 + n), 'and the bound is looked at')
  }
  expect(chats.messages(mine).map(({ content }) => content[0]?.text)).toEqual(['before the flood', 're: before the flood'])
  expect(db.get<{ n: number }>('SELECT count(*) AS n FROM chat_messages')?.n).toBeLessThanOrEqual(all)
})

test('the same where it waits in memory', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const chats = openChats(db)
  const { all, messages } = bounds.chats
  chats.add(speaker(0), said('before the flood'))
  for (let n = 1; n <= (2 * all) / messages; n++)
    for (let turn = 0; turn < messages / 2; turn++) chats.add(speaker(n), said(`${turn}`))
  const mine = chats.list({ limit: 1_000 }).find(({ session_id }) => session_id === 's0')
  expect(chats.messages(mine?.id ?? '')).toHaveLength(2)
})

test('a chat that is there is opened without looking through all of them', () => {
  const real = openDatabase(':memory:', schema, schemaVersion)
  const asked: string[] = []
  const db = new Proxy(real, {
    get: (target, name: keyof typeof real) =>
      name === 'run' ? (sql: string, ...rest: never[]) => (asked.push(sql), target.run(sql, ...rest)) : target[name],
  })
  const chats = openChats(db)
  const { id } = chats.open(speaker(1), 'first')
  expect(asked.length).toBeGreaterThan(0)
  asked.length = 0
  expect(chats.open(speaker(1), 'again')).toMatchObject({ id, name: 'first' })
  expect(asked).toEqual([])
})

test('however much is said, whoever reads waits for a little of it to be written', () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  let inserted = 0
  const counting = {
    ...db,
    run: (sql: string, ...values: SqlValue[]) => {
      if (sql.startsWith('INSERT INTO chat_messages')) inserted++
      return db.run(sql, ...values)
    },
  }
  const chats = openChats(counting)
  for (let n = 0; n < 900; n++) for (let turn = 0; turn < 3; turn++) chats.add(speaker(n), said(`${turn}`))
  const before = inserted
  chats.list({ limit: 1 })
  expect(inserted - before).toBeLessThanOrEqual(1_000)
  expect(inserted).toBe(900 * 6)
})
