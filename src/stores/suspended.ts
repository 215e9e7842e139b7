import type { AuditEntry } from '../contracts/audit.ts'
import type { SuspendedCall } from '../contracts/call.ts'
import type { Database } from '../host/database.ts'
import { isRunning, ownName } from '../host/running.ts'

interface Row {
  call: string
  approval: string
  holder: string
  ending: string
  follows: number | null
}

/** Calls that wait for a person: each is in the hands of one request at most, and whoever has it writes its end. */
export interface SuspendedStore {
  /** Before its question is told of, in one transaction with it; in the hands of this request. */
  put(suspended: SuspendedCall & { inputDigest: string; session: string }, request: string): void
  /** The call of this session that is exactly this one; undefined where there is none, or another request has it. */
  take(inputDigest: string, session: string, request: string): SuspendedCall | undefined
  /** The same by the question it waits for; `held` where another request has it. */
  takeBy(approval: string, request: string): SuspendedCall | 'held' | undefined
  /** Whether a request of a running process has the call in hand that waits for this question. */
  isHeld(approval: string): boolean
  /** Nobody has it in hand any more: whoever comes next may take it. */
  release(call: string, ending: readonly AuditEntry[], request: string): void
  /** Its end is in the log. */
  over(call: string, request: string): void
  /** Those whose question no longer stands, taken in hand one by one; `left`: its process is gone, and may have told the end. */
  unanswerable(request: string): Iterable<SuspendedCall & { left: boolean }>
  /** Those that a process left when it was killed, their question standing, taken in hand one by one. */
  left(request: string): Iterable<SuspendedCall>
}

export function openSuspended(db: Database): SuspendedStore {
  const own = ownName()
  const nameOf = (request: string): string => `${own} ${request}`
  const isFree = ({ holder }: Row): boolean => holder === '' || !isRunning(holder.split(' ', 1)[0] as string)
  const claim = (row: Row | undefined, request: string): SuspendedCall | undefined => {
    if (!row || !isFree(row)) return undefined
    const taken = db.run('UPDATE suspended SET holder = ? WHERE call = ? AND holder = ?', nameOf(request), row.call, row.holder)
    return taken === 1 ? fromRow(row) : undefined
  }
  return {
    put({ call, approval, ending, follows, inputDigest, session }, request) {
      db.run(
        'INSERT OR REPLACE INTO suspended (call, approval, input_digest, session, holder, ending, follows) VALUES (?, ?, ?, ?, ?, ?, ?)',
        call,
        approval,
        inputDigest,
        session,
        nameOf(request),
        JSON.stringify(ending),
        follows ? 1 : null,
      )
    },
    take: (inputDigest, session, request) =>
      claim(
        db.get<Row>(
          'SELECT * FROM suspended WHERE input_digest = ? AND session = ? AND follows IS NULL ORDER BY rowid DESC LIMIT 1',
          inputDigest,
          session,
        ),
        request,
      ),
    takeBy(approval, request) {
      const row = db.get<Row>('SELECT * FROM suspended WHERE approval = ? AND follows IS NULL', approval)
      return row && (claim(row, request) ?? 'held')
    },
    isHeld(approval) {
      const row = db.get<Row>('SELECT * FROM suspended WHERE approval = ?', approval)
      return row !== undefined && !isFree(row)
    },
    release: (call, ending, request) =>
      void db.run(
        `UPDATE suspended SET holder = '', ending = ? WHERE call = ? AND holder = ?`,
        JSON.stringify(ending),
        call,
        nameOf(request),
      ),
    over: (call, request) => void db.run('DELETE FROM suspended WHERE call = ? AND holder = ?', call, nameOf(request)),
    *unanswerable(request) {
      const rows = db.all<Row>(
        `SELECT suspended.* FROM suspended LEFT JOIN approvals ON approvals.id = suspended.approval
         WHERE approvals.state IS NULL OR approvals.state NOT IN ('pending', 'approved')`,
      )
      for (const row of rows) {
        const taken = claim(row, request)
        if (taken) yield { ...taken, left: row.holder !== '' }
      }
    },
    *left(request) {
      const rows = db.all<Row>(
        `SELECT suspended.* FROM suspended JOIN approvals ON approvals.id = suspended.approval
         WHERE approvals.state IN ('pending', 'approved') AND holder != ''`,
      )
      for (const row of rows) {
        const taken = claim(row, request)
        if (taken) yield taken
      }
    },
  }
}

function fromRow({ call, approval, ending, follows }: Row): SuspendedCall {
  return { call, approval, ending: JSON.parse(ending) as AuditEntry[], ...(follows !== null && { follows: true }) }
}
