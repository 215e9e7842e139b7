import { expect, test } from 'vitest'
import { openDatabase } from '../host/database.ts'
import { openDeclined } from './declined.ts'
import { openGrants } from './grants.ts'
import { openIdempotency } from './idempotency.ts'
import { schema, schemaVersion } from './schema.ts'
import { openSessions } from './sessions.ts'

/** Texts that SQLite or its drivers cut or change. The last two are what another one is kept as, and the mark in it. */
const strange = ['k', 'k\0', 'k\0a', 'k\0b', '\0', 'k\ud800', 'k\ud801', 'k\ufffd', '\udc80', 'k\ufdd00000', 'k\ufdd0', '😀\0']
const open = () => openDatabase(':memory:', schema, schemaVersion)

test('whatever text is kept is found as itself, and as nothing else', () => {
  const db = open()
  db.exec('CREATE TABLE texts (text TEXT PRIMARY KEY) STRICT')
  for (const text of strange) {
    expect(db.get('SELECT 1 FROM texts WHERE text = ?', text), JSON.stringify(text)).toBeUndefined()
    db.run('INSERT INTO texts VALUES (?)', text)
    expect(db.get('SELECT text FROM texts WHERE text = ?', text)).toEqual({ text })
  }
  const all = db.all<{ text: string }>('SELECT text FROM texts ORDER BY rowid').map(({ text }) => text)
  expect(all).toEqual(strange)
  const some = strange.slice(3, 9)
  expect(
    db.all('SELECT text FROM texts WHERE text IN (SELECT value FROM json_each(?)) ORDER BY rowid', some),
    'the same of a list',
  ).toEqual(some.map((text) => ({ text })))
  db.close()
})

test('keys, sessions, clients, notes, grants and noes of such names are told apart', () => {
  const db = open()
  const keys = openIdempotency(db, () => 60_000)
  const sessions = openSessions(db)
  const grants = openGrants(db)
  const declined = openDeclined(db)
  for (const text of strange) {
    expect(keys.recall('tool', text), JSON.stringify(text)).toBeUndefined()
    keys.remember('tool', text, `digest of ${text}`, { text }, 'call')
    expect(sessions.open({ id: text, surface: 'cli', client: `${text}/1` })).toBe(true)
    sessions.note({ session: text, kind: 'question', text, at: 1 })
    expect(grants.use('runs', text, `${text}.sh`)).toBe(false)
    const grant = { kind: 'runs', scope: 'session', session: text, subject: `${text}.sh`, reasons: ['runs'], by: text } as const
    grants.give([{ ...grant, expiresAt: Date.now() + 60_000 }], () => undefined)
    expect(declined.newest(`${text}/x`, true)).toBeUndefined()
    db.run(
      `INSERT INTO approvals (id, state, input_digest, state_digest, session, created_at, expires_at, decided_at, decided_by, note, body, no_until)
       VALUES (?, 'denied', '', '', ?, 1, 1, 1, 'me', ?, '{}', 9e15)`,
      text,
      text,
      text,
    )
    declined.keep(text, [`${text}/x`])
  }
  for (const text of strange) {
    expect(keys.recall('tool', text)).toMatchObject({ inputDigest: `digest of ${text}`, output: { text } })
    expect(sessions.get(text)).toMatchObject({ id: text, client: `${text}/1` })
    expect(sessions.notes(text)).toEqual([{ session: text, kind: 'question', text, at: 1 }])
    expect(grants.use('runs', text, `${text}.sh`)).toBe(true)
    expect(declined.newest(`${text}/x`, false)).toMatchObject({ approval: text, note: text })
  }
  expect(new Set(grants.list().map(({ by }) => by))).toEqual(new Set(strange))
  db.close()
})
