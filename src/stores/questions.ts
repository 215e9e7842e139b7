import { randomBytes } from 'node:crypto'
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
  /** False where it was answered before. With `told`, whoever asked has the answer already. */
  answer(id: string, answer: string, by: string, told?: boolean): boolean
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

/** What agents asked in words, and what the person said. Bounded as their notes are: the oldest go. */
export function openQuestions(db: Database): QuestionStore {
  const one = (where: string, ...values: string[]): Question | undefined => {
    const row = db.get<Row>(`SELECT ${fields} FROM questions WHERE ${where} LIMIT 1`, ...values)
    return row && fromRow(row)
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
    const beyond = (where: string, most: number): string =>
      `DELETE FROM questions WHERE rowid IN (SELECT rowid FROM questions ${where} ORDER BY rowid DESC LIMIT -1 OFFSET ${most})`
    db.run(beyond('WHERE session = ?', bounds.notes.session), session)
    db.run(beyond('', bounds.notes.all))
    return { ...(one('id = ?', id) as Question), isNew: true }
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
          `SELECT ${fields} FROM questions ${all ? '' : 'WHERE answer IS NULL'} ORDER BY rowid ${all ? 'DESC' : ''} LIMIT ${mostListed}`,
        )
        .map(fromRow),
    count: () => db.get<{ count: number }>('SELECT count(*) AS count FROM questions WHERE answer IS NULL')?.count ?? 0,
    answer: (id, answer, by, told = false) =>
      db.run(
        'UPDATE questions SET answer = ?, answered_by = ?, answered_at = ?, told = ? WHERE id = ? AND answer IS NULL',
        answer,
        by,
        Date.now(),
        Number(told),
        id,
      ) === 1,
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
