import { randomBytes } from 'node:crypto'
import { Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { Question } from '../contracts/question.ts'
import type { Database } from '../host/database.ts'

export type NewQuestion = Pick<Question, 'session' | 'client' | 'text'> & { options: readonly string[] }

export interface QuestionStore {
  /** Keeps a question of a session; one that stands already is the one that is there. */
  put(question: NewQuestion): Question & { isNew?: true }
  /** The same for whoever is told the answer: it is told once, and the same words ask anew after it. */
  ask(question: NewQuestion): Question & { isNew?: true }
  get(id: string): Question | undefined
  /** The oldest first of those that wait; with `all`, the newest first of all. */
  list(all: boolean): Question[]
  /** How many wait. */
  count(): number
  /** False where it was answered before. It counts only if it could be recorded. With `told`, whoever asked has the answer already. */
  answer(id: string, answer: string, by: string, record: () => void, told?: boolean): boolean
}

type Row = Omit<Question, 'options' | 'answer' | 'answeredBy' | 'answeredAt'> & {
  options: string
  answer: string | null
  answeredBy: string | null
  answeredAt: number | null
}

const fields =
  'id, session, client, text, options, asked_at AS askedAt, answer, answered_by AS answeredBy, answered_at AS answeredAt'
const mostListed = 200
/** Which process asked each: sessions are free to make. */
const held = `WITH held AS (SELECT q.rowid AS place, q.answer, q.told, coalesce(s.peer, q.session) AS holder
 FROM questions q LEFT JOIN sessions s ON s.id = q.session)`
/** Of those that wait, where there are more than anybody looks through: some of each who asked. */
const waiting = `${held} SELECT place FROM held WHERE answer IS NULL
 ORDER BY row_number() OVER (PARTITION BY holder ORDER BY place), place LIMIT ${mostListed}`
/** A process with more than these gives way to others; who has fewer keeps what it asked, however many processes come after it. */
const share = 20
/** What nobody took up for so long is not held for anybody against those who ask now. */
const staleMs = 7 * 24 * 3_600_000
/** What is done with goes first, then what is old. */
const doneWith = `DELETE FROM questions WHERE rowid IN
 (SELECT rowid FROM questions WHERE told = 1 OR asked_at < ? ORDER BY told DESC, rowid LIMIT ?)`
/** Then what is of the process that asked most, however many sessions it has: no flood pushes out the one question of another. */
const ofMost = `${held} DELETE FROM questions WHERE rowid IN
 (SELECT place FROM held JOIN (SELECT holder, count(*) AS asked FROM held GROUP BY holder HAVING asked > ${share}) USING (holder)
  ORDER BY asked DESC, place LIMIT ?)`
/** Last the newcomer's own: no flood of processes pushes out what others asked before. */
const ownOldest = `${held} DELETE FROM questions WHERE rowid IN
 (SELECT place FROM held WHERE holder = (SELECT holder FROM held ORDER BY place DESC LIMIT 1) ORDER BY place LIMIT ?)`

/** What agents asked in words, and what the person said. Bounded: of one session the oldest go. */
export function openQuestions(db: Database): QuestionStore {
  const one = (where: string, ...values: string[]): Question | undefined => {
    const row = db.get<Row>(`SELECT ${fields} FROM questions WHERE ${where} LIMIT 1`, ...values)
    return row && fromRow(row)
  }
  const makeRoom = (): void => {
    const beyond = (): number =>
      (db.get<{ count: number }>('SELECT count(*) AS count FROM questions')?.count ?? 0) - bounds.notes.all
    let over = beyond()
    if (over > 0) over -= db.run(doneWith, Date.now() - staleMs, over)
    if (over > 0) over -= db.run(ofMost, over)
    if (over > 0) db.run(ownOldest, over)
  }
  const put = ({ session, client, text, options }: NewQuestion): Question & { isNew?: true } => {
    const known = one('session = ? AND text = ? AND told = 0 ORDER BY rowid DESC', session, text)
    if (known) return known
    const id = `ask_${randomBytes(8).toString('hex')}`
    db.run(
      'INSERT INTO questions (id, session, client, text, options, asked_at) VALUES (?, ?, ?, ?, ?, ?)',
      id,
      session,
      client,
      text,
      JSON.stringify(options),
      Date.now(),
    )
    db.run(
      `DELETE FROM questions WHERE rowid IN
       (SELECT rowid FROM questions WHERE session = ? ORDER BY rowid DESC LIMIT -1 OFFSET ${bounds.notes.session})`,
      session,
    )
    makeRoom()
    const kept = one('id = ?', id)
    if (kept) return { ...kept, isNew: true }
    throw new Fault('over-limit', `${bounds.notes.all} questions wait for the person already, none of them yours`, {
      hint: 'It was not asked. Go on without an answer, or ask again when some were answered.',
    })
  }
  return {
    put: (question) => db.transaction(() => put(question)),
    ask: (question) =>
      db.transaction(() => {
        const asked = put(question)
        if (asked.answer !== undefined) db.run('UPDATE questions SET told = 1 WHERE id = ?', asked.id)
        return asked
      }),
    get: (id) => one('id = ?', id),
    list: (all) =>
      db
        .all<Row>(
          all
            ? `SELECT ${fields} FROM questions ORDER BY rowid DESC LIMIT ${mostListed}`
            : `SELECT ${fields} FROM questions WHERE rowid IN (${waiting}) ORDER BY rowid`,
        )
        .map(fromRow),
    count: () => db.get<{ count: number }>('SELECT count(*) AS count FROM questions WHERE answer IS NULL')?.count ?? 0,
    answer: (id, answer, by, record, told = false) =>
      db.transaction(() => {
        if (db.get('SELECT 1 FROM questions WHERE id = ? AND answer IS NULL', id) === undefined) return false
        record()
        db.run(
          'UPDATE questions SET answer = ?, answered_by = ?, answered_at = ?, told = ? WHERE id = ?',
          answer,
          by,
          Date.now(),
          Number(told),
          id,
        )
        return true
      }),
  }
}

function fromRow({ options, answer, answeredBy, answeredAt, ...row }: Row): Question {
  return {
    ...row,
    options: JSON.parse(options) as string[],
    ...(answer !== null && { answer }),
    ...(answeredBy !== null && { answeredBy }),
    ...(answeredAt !== null && { answeredAt }),
  }
}
