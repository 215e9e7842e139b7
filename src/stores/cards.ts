import type { Approval, TextPart } from '../contracts/approval.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'

/** What is shown of a question. */
type Shown = Pick<Approval, 'card' | 'input'>

export interface Cards {
  /** Says how many characters it takes. */
  keep(id: string, shown: Shown, texts: ReadonlyMap<string, string> | undefined): number
  get(id: string): Shown | undefined
  /** A part of what the card had no room for. */
  text(id: string, path: string, from: number): TextPart | undefined
  remove(id: string): void
  /** Of questions that are answered, the cards of the newest stay. A few go at a time. */
  prune(): void
}

const largestCard = 8_388_608
const partLength = 65_536
const few = 64

/** What is shown of each question, apart from the questions: read by id, one at a time. */
export function openCards(db: Database): Cards {
  /** The sign of a line that began in an earlier part; nothing where this part begins one. */
  const signBefore = (id: string, path: string, part: number): string | undefined => {
    const ended = db.get<{ part: number | null }>(
      'SELECT max(part) AS part FROM card_texts WHERE approval = ? AND path = ? AND part < ? AND substr(text, -1) = char(10)',
      id,
      path,
      part,
    )
    const begun = (ended?.part ?? -1) + 1
    if (begun === part) return undefined
    return db.get<{ sign: string }>(
      'SELECT substr(text, 1, 2) AS sign FROM card_texts WHERE approval = ? AND path = ? AND part = ?',
      id,
      path,
      begun,
    )?.sign
  }
  return {
    keep(id, shown, texts = new Map()) {
      const body = JSON.stringify(shown)
      if (body.length > largestCard)
        throw new Fault('too-large', `What a person would have to look at is ${body.length} characters long`, {
          details: { characters: body.length, most: largestCard },
          hint: 'Ask for less at once.',
        })
      let length = body.length
      for (const text of texts.values()) length += text.length
      db.run('INSERT INTO cards (approval, body) VALUES (?, ?)', id, body)
      for (const [path, text] of texts)
        for (let at = 0, part = 0; at < text.length; part++) {
          // A part ends with a line where it holds the end of one; a pair that makes one character stays together.
          let end = Math.min(text.length, at + partLength)
          const line = end < text.length ? text.lastIndexOf('\n', end - 1) + 1 : 0
          if (line > at) end = line
          else if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] as string)) end--
          db.run('INSERT INTO card_texts (approval, path, part, text) VALUES (?, ?, ?, ?)', id, path, part, text.slice(at, end))
          at = end
        }
      return length
    },
    get(id) {
      const row = db.get<{ body: string }>('SELECT body FROM cards WHERE approval = ?', id)
      return row && (JSON.parse(row.body) as Shown)
    },
    text(id, path, from) {
      const [row, more] = db.all<{ part: number; text: string }>(
        'SELECT part, text FROM card_texts WHERE approval = ? AND path = ? AND part >= ? ORDER BY part LIMIT 2',
        id,
        path,
        from,
      )
      if (!row) return undefined
      const begun = row.part === 0 ? undefined : signBefore(id, path, row.part)
      return { text: row.text, signed: true, ...(begun !== undefined && { within: begun }), ...(more && { next: more.part }) }
    },
    remove(id) {
      db.run('DELETE FROM cards WHERE approval = ?', id)
      db.run('DELETE FROM card_texts WHERE approval = ?', id)
    },
    prune() {
      const { most, bytes } = bounds.cards
      const closed = db.all<{ id: string; shown: number | null }>(
        `SELECT a.id, a.shown FROM approvals a JOIN cards c ON c.approval = a.id WHERE a.state NOT IN ('pending', 'approved')
         ORDER BY a.rowid DESC LIMIT ${most + few}`,
      )
      let sum = 0
      const old = closed.filter(({ shown }, index) => (sum += shown ?? 0) > bytes || index >= most)
      for (const { id } of old.slice(-few)) this.remove(id)
    },
  }
}
