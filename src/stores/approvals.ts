import { randomBytes } from 'node:crypto'
import type { Approval, ApprovalState, Decision } from '../contracts/approval.ts'
import type { Database } from '../host/database.ts'

interface Row {
  id: string
  state: ApprovalState
  input_digest: string
  state_digest: string
  session: string
  created_at: number
  expires_at: number
  decided_at: number | null
  decided_by: string | null
  note: string | null
  body: string
}

type Asked = Pick<Approval, 'tool' | 'risk' | 'inputDigest' | 'stateDigest' | 'card' | 'input' | 'session' | 'surface' | 'client'>

export interface ApprovalStore {
  ask(asked: Asked, ttlMs: number): Approval
  get(id: string): Approval | undefined
  /** The question about exactly this call that counts for this session: its own no, else a yes, else the newest that is open. */
  about(inputDigest: string, session: string): Approval | undefined
  list(state?: ApprovalState): Approval[]
  /** False where it was not pending any more: a decision is final. It counts only if it could be recorded. */
  decide(id: string, decision: Decision, record: () => void): boolean
  /** Moves it on from one state to another, once. */
  move(id: string, from: ApprovalState, to: ApprovalState): boolean
}

/** Questions to people and their answers. They survive a restart and are shared by all processes; silence turns into no. */
export function openApprovals(db: Database, onLapsed: (approval: Approval) => void): ApprovalStore {
  const lapse = (): void => {
    const late = db.all<Row>(`SELECT * FROM approvals WHERE state IN ('pending', 'approved') AND expires_at <= ?`, Date.now())
    for (const row of late)
      if (db.run(`UPDATE approvals SET state = 'expired' WHERE id = ? AND state = ?`, row.id, row.state) === 1)
        onLapsed(fromRow(row))
  }
  const one = (sql: string, ...values: (string | number)[]): Approval | undefined => {
    lapse()
    const row = db.get<Row>(sql, ...values)
    return row && fromRow(row)
  }
  return {
    ask(asked, ttlMs) {
      const now = Date.now()
      const approval: Approval = {
        id: `appr_${randomBytes(16).toString('hex')}`,
        state: 'pending',
        createdAt: now,
        expiresAt: now + ttlMs,
        ...asked,
      }
      const { tool, risk, card, input, surface, client } = asked
      db.transaction(
        () =>
          db.run(
            `INSERT INTO approvals (id, state, input_digest, state_digest, session, created_at, expires_at, body) VALUES (?, 'pending', ?, ?, ?, ?, ?, ?)`,
            approval.id,
            asked.inputDigest,
            asked.stateDigest,
            asked.session,
            now,
            approval.expiresAt,
            JSON.stringify({ tool, risk, card, input, surface, client }),
          ),
        true,
      )
      return approval
    },
    get: (id) => one('SELECT * FROM approvals WHERE id = ?', id),
    about: (inputDigest, session) =>
      one(
        `SELECT * FROM approvals WHERE input_digest = ? AND expires_at > ?
         AND (state IN ('pending', 'approved') OR (state = 'denied' AND session = ?))
         ORDER BY state = 'denied' DESC, state = 'approved' DESC, created_at DESC LIMIT 1`,
        inputDigest,
        Date.now(),
        session,
      ),
    list(state) {
      lapse()
      const rows = state
        ? db.all<Row>('SELECT * FROM approvals WHERE state = ? ORDER BY created_at DESC LIMIT 500', state)
        : db.all<Row>('SELECT * FROM approvals ORDER BY created_at DESC LIMIT 500')
      return rows.map(fromRow)
    },
    decide(id, decision, record) {
      lapse()
      return db.transaction(() => {
        if (!db.get(`SELECT 1 FROM approvals WHERE id = ? AND state = 'pending'`, id)) return false
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
        return true
      }, true)
    },
    move: (id, from, to) => db.run('UPDATE approvals SET state = ? WHERE id = ? AND state = ?', to, id, from) === 1,
  }
}

function fromRow(row: Row): Approval {
  return {
    ...(JSON.parse(row.body) as Pick<Approval, 'tool' | 'risk' | 'card' | 'input' | 'surface' | 'client'>),
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
  }
}
