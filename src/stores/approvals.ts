import { randomBytes } from 'node:crypto'
import type { Approval, ApprovalHead, ApprovalState, Decision, Page, TextPart } from '../contracts/approval.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'
import { openCards } from './cards.ts'
import { openDeclined, type Declined } from './declined.ts'
import { sha256 } from '../host/files.ts'
import { holderOf } from '../text/eviction.ts'

interface Row {
  id: string
  state: ApprovalState
  input_digest: string
  state_digest: string
  session: string
  surface: string | null
  whole: number | null
  created_at: number
  expires_at: number
  decided_at: number | null
  decided_by: string | null
  /** Set before an answer goes into the log: where the question waits all the same, the log may hold one that does not count. */
  answering: number | null
  note: string | null
  body: string
  call: string | null
}

export type Asked = Pick<
  Approval,
  'tool' | 'risk' | 'inputDigest' | 'stateDigest' | 'card' | 'input' | 'session' | 'surface' | 'client' | 'whole' | 'call'
> & { peer?: string }

export interface Asking {
  /** How long the question stands, and a yes to it. */
  ttlMs: number
  /** How long a no to it holds. */
  noMs: number
  /** What the card itself has no room for, by path. */
  texts?: ReadonlyMap<string, string>
  /** Files that a no to it keeps. */
  keeps?: readonly string[]
  /** Called with its id, inside the same transaction. */
  together?: (id: string) => void
}

/** Whom the store tells what the log must say. */
export interface ApprovalListener {
  /** A question that nobody can answer any more, and why. */
  lapsed(approval: ApprovalHead, by: 'time' | 'room for others'): void
  /**
   * A question that waits although an answer to it was begun: its process died between the log and the store, or before either. Called
   * while nobody else can answer; told of it again and again.
   */
  halfAnswered(approval: ApprovalHead): void
}

export interface Asker {
  session: string
  surface: string
  client: string
}

export interface ApprovalStore {
  /** Throws where more of the same asker wait already than a person will ever answer; where others hold the places, one of theirs lapses. */
  ask(asked: Asked, asking: Asking): ApprovalHead
  get(id: string): Approval | undefined
  head(id: string): ApprovalHead | undefined
  /** Whatever has lapsed by now is moved on, and told of. */
  lapse(): void
  /** The question about exactly this call that this very session asked: its yes, else the newest that is open. */
  about(inputDigest: string, session: string): ApprovalHead | undefined
  /** A no to exactly this call that still holds for this client, whichever of its sessions it was told to. */
  refusal(inputDigest: string, asker: Asker): ApprovalHead | undefined
  /** This question lapses, so that others have room; false where it does not wait any more. */
  makeWay(id: string): boolean
  /** A no that keeps this file: a change that would have taken it away was declined, whoever asked for it. */
  declined(path: string, stands: boolean): Declined | undefined
  list(state?: ApprovalState, page?: Page): ApprovalHead[]
  count(state: ApprovalState): number
  text(id: string, path: string, from: number): TextPart | undefined
  /** False where it was not pending any more: a decision is final. It counts only if it could be recorded. Throws where not all was shown. */
  decide(id: string, decision: Decision, record: () => void): boolean
  /** Takes a no back. */
  lift(id: string, record: (denied: ApprovalHead) => void): ApprovalHead
  /** Tells of every question that is half answered. */
  halfAnswered(): void
  /** Moves it on from one state to another, once. */
  move(id: string, from: ApprovalState, to: ApprovalState): boolean
}

const mostInSession = 100
const mostInAll = 500
const mostListed = 500
/** Of old ones, so many go at a time. */
const few = 64
const titleLength = 300
const pathsTold = 3

/**
 * Questions to people and their answers. They survive a restart and are shared by all processes; silence turns into no. A row is
 * small whatever it asks about: what is shown lies in a table of its own and is read one at a time.
 */
export function openApprovals(db: Database, tell: ApprovalListener): ApprovalStore {
  const cards = openCards(db)
  const declined = openDeclined(db)
  const lapse = (): void => {
    const late = db.all<Row>(`SELECT * FROM approvals WHERE state IN ('pending', 'approved') AND expires_at <= ?`, Date.now())
    for (const row of late)
      if (db.run(`UPDATE approvals SET state = 'expired' WHERE id = ? AND state = ?`, row.id, row.state) === 1) {
        cards.remove(row.id)
        if (row.state === 'pending' && row.answering !== null) tell.halfAnswered(fromRow(row))
        tell.lapsed(fromRow(row), 'time')
      }
  }
  const one = (sql: string, ...values: (string | number)[]): ApprovalHead | undefined => {
    lapse()
    const row = db.get<Row>(sql, ...values)
    return row && fromRow(row)
  }
  const head = (id: string): ApprovalHead | undefined => one('SELECT * FROM approvals WHERE id = ?', id)
  const waiting = (where: string, ...values: string[]): number =>
    db.get<{ n: number }>(`SELECT count(*) AS n FROM approvals WHERE state = 'pending' ${where}`, ...values)?.n ?? 0

  /**
   * The oldest question of whoever has most waiting, which lapses so that this asker gets a place; throws where the asker is the one.
   * Nobody who has asked less than another loses a place to them.
   */
  const giveWay = (asker: string): Row | undefined => {
    if (waiting('') < mostInAll) return undefined
    const counts = db.all<{ asker: string; n: number }>(
      `SELECT ${askerOf} AS asker, count(*) AS n FROM approvals WHERE state = 'pending' GROUP BY 1 ORDER BY n DESC`,
    )
    const own = counts.find((one) => one.asker === asker)?.n ?? 0
    const [most] = counts
    // The place that is asked for counts: nobody gives way to somebody who would then have as many.
    if (!most || most.n <= own + 1) throw full(mostInAll, '')
    const row = db.get<Row>(
      `SELECT * FROM approvals WHERE state = 'pending' AND ${askerOf} = ? ORDER BY rowid LIMIT 1`,
      most.asker,
    )
    if (row) db.run(`UPDATE approvals SET state = 'expired' WHERE id = ?`, row.id)
    if (row) cards.remove(row.id)
    return row
  }

  const tellLapsed = (row: Row): void => {
    if (row.answering !== null) tell.halfAnswered(fromRow(row))
    tell.lapsed(fromRow(row), 'room for others')
  }

  /** What was answered long ago, or so often that it is beyond the newest few thousand, goes. */
  const prune = (): void => {
    // A no that still counts stays: no number of other questions makes it go.
    const closed = `state NOT IN ('pending', 'approved') AND NOT (state = 'denied' AND coalesce(no_until, 0) > ?)`
    const { most, days } = bounds.approvals
    const now = Date.now()
    const old = db.all<{ id: string }>(
      `SELECT id FROM (SELECT id FROM approvals WHERE ${closed} AND created_at < ? LIMIT ${few}) UNION
       SELECT id FROM (SELECT id FROM approvals WHERE ${closed} ORDER BY created_at DESC LIMIT ${few} OFFSET ${most})`,
      now,
      now - days * 86_400_000,
      now,
    )
    for (const { id } of old) {
      db.run('DELETE FROM approvals WHERE id = ?', id)
      cards.remove(id)
      declined.remove(id)
    }
    cards.prune()
  }

  return {
    ask(asked, { ttlMs, noMs, texts, keeps = [], together }) {
      lapse()
      const now = Date.now()
      const { tool, risk, card, input, surface, client, whole, peer } = asked
      const asker = wordFor(surface, processOf(peer) ?? `name ${nameOf(client)}`)
      const id = `appr_${randomBytes(16).toString('hex')}`
      const told = {
        title: card.title.slice(0, titleLength),
        changes: card.changes.slice(0, pathsTold).map(({ path }) => ({ path })),
        count: (card.rest ?? []).reduce((sum, { changes }) => sum + changes, card.changes.length),
      }
      const gone = db.transaction(() => {
        if (waiting('AND session = ?', asked.session) >= mostInSession) throw full(mostInSession, 'of this session ')
        const lapsed = giveWay(asker)
        prune()
        db.run(
          `INSERT INTO approvals (id, state, input_digest, state_digest, session, surface, client, whole, created_at, expires_at, no_until, call, keeps, body)
           VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          id,
          asked.inputDigest,
          asked.stateDigest,
          asked.session,
          surface,
          nameOf(client),
          whole ? 1 : 0,
          now,
          now + ttlMs,
          now + noMs,
          asked.call ?? null,
          keeps.length > 0 ? JSON.stringify(keeps) : null,
          JSON.stringify({ tool, risk, client, asker, card: told }),
        )
        db.run('UPDATE approvals SET shown = ? WHERE id = ?', cards.keep(id, { card, input }, texts), id)
        together?.(id)
        return lapsed
      }, true)
      if (gone) tellLapsed(gone)
      return head(id) as ApprovalHead
    },
    get(id) {
      const found = head(id)
      return found && { ...found, ...(cards.get(id) ?? noLonger(found)) }
    },
    head,
    lapse,
    about: (inputDigest, session) =>
      one(
        `SELECT * FROM approvals WHERE input_digest = ? AND session = ? AND state IN ('pending', 'approved') AND expires_at > ?
         ORDER BY state = 'approved' DESC, created_at DESC LIMIT 1`,
        inputDigest,
        session,
        Date.now(),
      ),
    refusal: (inputDigest, { session, surface, client }) =>
      one(
        `SELECT * FROM approvals WHERE input_digest = ? AND state = 'denied' AND no_until > ?
         AND (session = ? OR surface = ? AND client = ?) ORDER BY created_at DESC LIMIT 1`,
        inputDigest,
        Date.now(),
        session,
        surface,
        nameOf(client),
      ),
    makeWay(id) {
      const row = db.get<Row>('SELECT * FROM approvals WHERE id = ?', id)
      if (!row || db.run(`UPDATE approvals SET state = 'expired' WHERE id = ? AND state = 'pending'`, id) !== 1) return false
      cards.remove(id)
      tellLapsed(row)
      return true
    },
    declined: declined.newest,
    list(wanted, { limit = mostListed, before } = {}) {
      lapse()
      const state = wanted ?? ''
      const last =
        before === undefined
          ? Number.MAX_SAFE_INTEGER
          : (db.get<{ n: number }>('SELECT rowid AS n FROM approvals WHERE id = ?', before)?.n ?? 0)
      const sql = `SELECT * FROM approvals WHERE (? = '' OR state = ?) AND rowid < ? ORDER BY rowid DESC LIMIT ?`
      return db.all<Row>(sql, state, state, last, Math.min(limit, mostListed)).map(fromRow)
    },
    count(state) {
      lapse()
      return db.get<{ n: number }>('SELECT count(*) AS n FROM approvals WHERE state = ?', state)?.n ?? 0
    },
    text: cards.text,
    decide(id, decision, record) {
      lapse()
      const waits = (): Row | undefined => db.get<Row>(`SELECT * FROM approvals WHERE id = ? AND state = 'pending'`, id)
      const begun = db.transaction(() => {
        const asked = waits()
        if (!asked) return false
        if (decision.approve && asked.whole !== 1 && decision.unread !== true) throw notAllShown(id)
        if (asked.answering !== null) tell.halfAnswered(fromRow(asked))
        db.run('UPDATE approvals SET answering = 1 WHERE id = ?', id)
        return true
      }, true)
      if (!begun) return false
      return db.transaction(() => {
        if (!waits()) return false
        record()
        const state = decision.approve ? 'approved' : 'denied'
        db.run(
          'UPDATE approvals SET state = ?, decided_at = ?, decided_by = ?, note = ? WHERE id = ?',
          state,
          Date.now(),
          decision.by,
          decision.note ?? null,
          id,
        )
        const { keeps } = db.get<{ keeps: string | null }>('SELECT keeps FROM approvals WHERE id = ?', id) ?? {}
        if (!decision.approve && keeps) declined.keep(id, JSON.parse(keeps) as string[])
        return true
      }, true)
    },
    halfAnswered() {
      const begun = `state = 'pending' AND answering IS NOT NULL`
      if (db.get(`SELECT 1 FROM approvals WHERE ${begun} LIMIT 1`) === undefined) return
      // With the store to itself: nobody is between the log and the store then.
      db.transaction(() => {
        for (const row of db.all<Row>(`SELECT * FROM approvals WHERE ${begun}`)) tell.halfAnswered(fromRow(row))
      })
    },
    lift: (id, record) =>
      db.transaction(() => {
        const denied = db.get<Row>(`SELECT * FROM approvals WHERE id = ? AND state = 'denied'`, id)
        if (!denied)
          throw new Fault('conflict', `There is no no to take back: ${id} was not denied`, {
            hint: '`handrail approvals list --all` shows what was answered.',
          })
        record(fromRow(denied))
        db.run(`UPDATE approvals SET state = 'void' WHERE id = ?`, id)
        cards.remove(id)
        declined.remove(id)
        return fromRow(denied)
      }, true),
    move(id, from, to) {
      if (db.run('UPDATE approvals SET state = ? WHERE id = ? AND state = ?', to, id, from) !== 1) return false
      const row = from === 'pending' ? db.get<Row>('SELECT * FROM approvals WHERE id = ?', id) : undefined
      if (row && row.answering !== null) tell.halfAnswered(fromRow(row))
      if (to === 'void') cards.remove(id)
      return true
    },
  }
}

function noLonger({ card }: ApprovalHead): Pick<Approval, 'card' | 'input'> {
  return { card: { title: card.title, changes: [], notes: ['What was shown of it is no longer kept.'] }, input: {} }
}

/** Questions from before askers were told apart count for their client. */
const askerOf = `coalesce(json_extract(body, '$.asker'), client, '')`

/** Whoever asks, as a word that tells nothing of their process. */
function wordFor(surface: string, who: string): string {
  return sha256(`${surface} ${who}`).slice(0, 16)
}

/** A client is the same one whatever its version. */
function nameOf(client: string): string {
  return client.replace(/\/[^/]*$/, '')
}

function notAllShown(id: string): Fault {
  return new Fault('policy', 'This card does not show all that would be let through', {
    details: { approvalId: id },
    hint: `Read the rest: handrail approvals show ${id} --full. Or say that you agree unread: handrail approvals approve ${id} --unread.`,
  })
}

function full(count: number, whose: string): Fault {
  return new Fault('busy', `${count} questions ${whose}wait for a person already; one must be answered first`, {
    details: { waiting: count },
    hint: 'Ask the person to look at `handrail approvals list`, and do not ask for more until they answered.',
  })
}

function fromRow(row: Row): ApprovalHead {
  return {
    ...(JSON.parse(row.body) as Pick<ApprovalHead, 'tool' | 'risk' | 'card' | 'client' | 'asker'>),
    surface: row.surface ?? '',
    whole: row.whole === 1,
    id: row.id,
    state: row.state,
    inputDigest: row.input_digest,
    stateDigest: row.state_digest,
    session: row.session,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    ...(row.decided_at !== null && { decidedAt: row.decided_at }),
    ...(row.decided_by !== null && { decidedBy: row.decided_by }),
    ...(row.note !== null && { note: row.note }),
    ...(row.call !== null && { call: row.call }),
  }
}

/** The process behind a question. Those that could not be told apart are taken for one; where only an address is known, it says nothing. */
function processOf(peer: string | undefined): string | undefined {
  if (peer === undefined || peer.startsWith('address ')) return undefined
  return holderOf(peer)
}
