import { Fault } from '../../contracts/faults/fault.ts'
import { bounds } from '../../contracts/kept.ts'
import { openDatabase, type Database } from '../../host/database.ts'
import type { StateFolder } from '../../host/state-folder.ts'
import { wordNumber } from '../../text/memory-words.ts'
import { sorted, type Steps } from '../../text/steps.ts'

/**
 * Each index has a name of its own, and the one with the highest number counts: one that is made anew never meets the log, or the readers, of
 * the one before, however many processes make it at once.
 */
const nameForm = /^memory\.(\d{1,15})\.db(?:-wal|-shm|-journal)?$/
/** Another form is made anew: nothing in it is worth bringing over. */
const form = '1'
/** Entries that stand together: they are looked through, and dropped, as one. */
const segment = 1_024

/**
 * Of each entry: what it refers to, and the numbers of its words. No text at all is in it. Entries are numbered as they come, apart for what
 * comes from the log (`log`) and what was said (`talk`).
 */
const schema = `
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
  number INTEGER PRIMARY KEY,
  ref TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  lines TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS words (
  segment INTEGER NOT NULL,
  word INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  PRIMARY KEY (segment, word, entry)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sizes (segment INTEGER PRIMARY KEY, words INTEGER NOT NULL, newest INTEGER NOT NULL) STRICT;
`

export const areas = ['log', 'talk'] as const
export type Area = (typeof areas)[number]
/** Entries of an area are numbered from here. */
const firstOf = { log: 0, talk: 2 ** 40 } as const
const ends = { log: 2 ** 40, talk: 2 ** 41 } as const

export interface Found {
  number: number
  ref: string
  at: number
  lines: string
}

const segmentOf = (number: number): number => Math.floor(number / segment)

/** Something to be found again: what it refers to, one of its lines in the log, and what it is found by. */
export interface Thing {
  ref: string
  at: number
  line?: number
  words: Iterable<string>
}

export interface IndexFile {
  fact(name: string): string | undefined
  setFact(name: string, value: string): void
  transaction<T>(act: () => T): T
  /**
   * Adds things, or more words to such as are known, and notes their lines. In transactions of a millisecond or so, with a yield between them: words are
   * sorted first, since those of one line lie all over the index. What was added before, by whomever, is added once.
   */
  put(area: Area, things: readonly Thing[]): Steps<void>
  find(ref: string): Found | undefined
  /** Forgets what it refers to; its words mean nothing from then on. */
  forget(ref: string): void
  refs(area: Area): { ref: string; at: number }[]
  /** The newest first, below a number, all with these words and within this time; a few at a time, undefined where there are no more. */
  page(
    area: Area,
    below: number,
    words: readonly string[],
    since: number,
    until: number,
  ): { found: Found[]; below: number } | undefined
  /** Drops some of the oldest where there are too many, or all are from before a time; true where there may be more to drop. */
  bound(before: number, most?: { entries: number; words: number }): boolean
  entries(): number
  close(): void
}

/** Lines of one thing that are remembered: its beginning, and its newest. */
export const mostLines = 16
const pageSize = 64
/** Written or dropped in one transaction. */
const someEntries = 32
const someWords = 256
/** Entries that one step of a search looks at: for each of them every word of a question may be looked up. */
const window = 128

const nameOf = (number: number): string => `memory.${number}.db`

function namesIn(state: StateFolder): { name: string; number: number }[] {
  return state.names().flatMap((name) => {
    const number = Number(nameForm.exec(name)?.[1])
    return Number.isSafeInteger(number) ? [{ name, number }] : []
  })
}

export const newestIn = (state: StateFolder): number => namesIn(state).reduce((most, { number }) => Math.max(most, number), 0)

/** Opens the index, which others may have removed or damaged; whatever is wrong with it is thrown as it is. `after`: only one that is newer. */
export function openIndexFile(state: StateFolder, after = 0): IndexFile & { readonly number: number; isGone(): boolean } {
  const number = Math.max(1, newestIn(state), after + 1)
  const name = nameOf(number)
  const db = openDatabase(state.file(name, true), schema, 1)
  try {
    // Nothing is lost with it, so the disk need not be waited for; and who cannot have it at once does without.
    db.exec('PRAGMA synchronous = OFF; PRAGMA busy_timeout = 1000; PRAGMA wal_autocheckpoint = 250')
    const found = db.get<{ value: string }>(`SELECT value FROM facts WHERE name = 'form'`)?.value
    if (found !== undefined && found !== form) throw new Fault('unsupported', 'The index is of another form')
    if (found === undefined) db.run(`INSERT OR IGNORE INTO facts (name, value) VALUES ('form', ?)`, form)
  } catch (fault) {
    db.close()
    throw fault
  }
  // Whoever has an older one open goes over to this one at their next step.
  for (const older of namesIn(state)) if (older.number < number) state.remove(older.name)
  const id = state.stat(name)?.id
  return { ...indexOn(db), number, isGone: () => state.stat(name)?.id !== id || newestIn(state) !== number }
}

export const indexBytes = (state: StateFolder): number =>
  namesIn(state).reduce((sum, { name }) => sum + (state.stat(name)?.bytes ?? 0), 0)

function indexOn(db: Database): IndexFile {
  const find = (ref: string): Found | undefined => db.get<Found>('SELECT number, ref, at, lines FROM entries WHERE ref = ?', ref)
  const lastOf = (area: Area): number =>
    db.get<{ n: number | null }>('SELECT max(number) AS n FROM entries WHERE number < ?', ends[area])?.n ?? -1
  const setFact = (fact: string, value: string): void =>
    void db.run(
      'INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      fact,
      value,
    )
  /** A part of it. What it refers to goes first: then nothing of it is found any more. */
  const dropSome = (one: number): void => {
    const first = `SELECT number FROM entries WHERE number >= ? AND number < ? LIMIT ${someEntries}`
    const gone = db.run(`DELETE FROM entries WHERE number IN (${first})`, one * segment, (one + 1) * segment)
    if (gone > 0) return
    const some = `SELECT segment, word, entry FROM words WHERE segment = ? LIMIT ${someWords}`
    const isLeft = db.run(`DELETE FROM words WHERE (segment, word, entry) IN (${some})`, one) === someWords
    if (!isLeft) db.run('DELETE FROM sizes WHERE segment = ?', one)
  }
  /** The number of a thing, which is given once. */
  const enter = (area: Area, { ref, at, line }: Thing): number => {
    const known = find(ref)
    const number = known?.number ?? Math.max(firstOf[area], lastOf(area) + 1)
    const before = known === undefined || known.lines === '' ? [] : known.lines.split(' ')
    const isNew = line !== undefined && !before.includes(String(line))
    const lines = (isNew ? [...before.slice(0, mostLines - 1), String(line)] : before).join(' ')
    if (!known) db.run('INSERT INTO entries (number, ref, at, lines) VALUES (?, ?, ?, ?)', number, ref, at, lines)
    else if (isNew) db.run('UPDATE entries SET lines = ? WHERE number = ?', lines, number)
    db.run(
      `INSERT INTO sizes (segment, words, newest) VALUES (?, 0, ?)
       ON CONFLICT (segment) DO UPDATE SET newest = max(newest, excluded.newest)`,
      segmentOf(number),
      at,
    )
    return number
  }
  return {
    fact: (fact) => db.get<{ value: string }>('SELECT value FROM facts WHERE name = ?', fact)?.value,
    setFact,
    transaction: (act) => db.transaction(act),
    *put(area, things) {
      const all: { word: number; entry: number }[] = []
      for (let from = 0; from < things.length; from += someEntries) {
        db.transaction(() => {
          for (const thing of things.slice(from, from + someEntries)) {
            const entry = enter(area, thing)
            for (const word of thing.words) all.push({ word: wordNumber(word), entry })
          }
        })
        yield
      }
      const inOrder = yield* sorted(
        all,
        (a, b) => segmentOf(a.entry) - segmentOf(b.entry) || a.word - b.word || a.entry - b.entry,
      )
      for (let from = 0; from < inOrder.length;) {
        const own = segmentOf(inOrder[from]?.entry ?? 0)
        const some: number[][] = []
        for (let next = inOrder[from]; next && some.length < someWords && segmentOf(next.entry) === own; next = inOrder[++from])
          some.push([next.word, next.entry])
        db.transaction(() => {
          const pairs = `SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)`
          const added = db.run(`INSERT OR IGNORE INTO words (segment, word, entry) ${pairs}`, own, JSON.stringify(some))
          db.run('UPDATE sizes SET words = words + ? WHERE segment = ?', added, own)
        })
        yield
      }
    },
    find,
    forget: (ref) => void db.run('DELETE FROM entries WHERE ref = ?', ref),
    refs: (area) => db.all('SELECT ref, at FROM entries WHERE number >= ? AND number < ?', firstOf[area], ends[area]),
    page(area, below, words, since, until) {
      const top = Math.min(below, lastOf(area) + 1)
      if (top <= firstOf[area]) return undefined
      // One segment at a time: whatever is asked, a step of the search has the same bound.
      const one = segmentOf(top - 1)
      const start = Math.max(firstOf[area], one * segment)
      // Long words are rare ones: the fewest are looked at.
      const [first, ...others] = words.toSorted((a, b) => b.length - a.length).map(wordNumber)
      const isThere = (word: number): boolean =>
        db.get('SELECT 1 AS one FROM words WHERE segment = ? AND word = ? LIMIT 1', one, word) !== undefined
      if (first !== undefined && ![first, ...others].every(isThere)) return { found: [], below: start }
      const from = first === undefined ? start : Math.max(start, top - window)
      const has = others.map(
        () => 'AND EXISTS (SELECT 1 FROM words o WHERE o.segment = w.segment AND o.word = ? AND o.entry = w.entry)',
      )
      const found =
        first === undefined
          ? db.all<Found>(
              `SELECT number, ref, at, lines FROM entries
               WHERE number >= ? AND number < ? AND at >= ? AND at <= ? ORDER BY number DESC LIMIT ${pageSize}`,
              from,
              top,
              since,
              until,
            )
          : db.all<Found>(
              `SELECT e.number, e.ref, e.at, e.lines FROM words w CROSS JOIN entries e ON e.number = w.entry
               WHERE w.segment = ? AND w.word = ? AND w.entry >= ? AND w.entry < ? AND e.at >= ? AND e.at <= ? ${has.join(' ')}
               ORDER BY w.entry DESC LIMIT ${pageSize}`,
              one,
              first,
              from,
              top,
              since,
              until,
              ...others,
            )
      return { found, below: found.length < pageSize ? from : (found.at(-1) as Found).number }
    },
    bound(before, most = bounds.memory) {
      const kept = db.all<{ segment: number; words: number; newest: number }>('SELECT * FROM sizes ORDER BY segment DESC')
      const talk = segmentOf(firstOf.talk)
      let [segments, words] = [0, 0]
      for (const one of kept.filter((each) => each.segment < talk)) {
        words += one.words
        if (++segments * segment > most.entries || words > most.words || one.newest < before) {
          dropSome(one.segment)
          return true
        }
      }
      // What was said is bounded where it is kept. What goes here and is still there is taken up again.
      const [, , old] = kept.filter((each) => each.segment >= talk)
      if (old !== undefined) dropSome(old.segment)
      return old !== undefined
    },
    entries: () => db.get<{ n: number }>('SELECT count(*) AS n FROM entries')?.n ?? 0,
    close: () => db.close(),
  }
}
