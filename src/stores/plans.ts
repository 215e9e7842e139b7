import { bounds } from '../contracts/kept.ts'
import type { KeptPlan, Plan } from '../contracts/plan.ts'
import type { Database } from '../host/database.ts'

export interface PlanStore {
  /** The newest first. */
  list(): KeptPlan[]
  get(id: string): KeptPlan | undefined
  put(plan: Plan): void
  /** Which run it is carried out as. */
  ranAs(id: string, run: string): void
  remove(id: string): boolean
}

interface Row {
  body: string
  run: string | null
  updated_at: number
}

/** Plans on the project's own database. */
export function openPlanStore(db: Database): PlanStore {
  const fromRow = ({ body, run, updated_at }: Row): KeptPlan => ({
    plan: JSON.parse(body) as Plan,
    ...(run !== null && { run }),
    updated_at,
  })
  return {
    list: () => db.all<Row>('SELECT body, run, updated_at FROM plans ORDER BY updated_at DESC, rowid DESC').map(fromRow),
    get(id) {
      const row = db.get<Row>('SELECT body, run, updated_at FROM plans WHERE id = ?', id)
      return row && fromRow(row)
    },
    put(plan) {
      db.transaction(() => {
        const now = Date.now()
        db.run(
          `INSERT INTO plans (id, body, run, created_at, updated_at) VALUES (?, ?, NULL, ?, ?)
           ON CONFLICT (id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at`,
          plan.plan_id,
          JSON.stringify(plan).toWellFormed(),
          plan.created_at,
          now,
        )
        db.run(
          'DELETE FROM plans WHERE id NOT IN (SELECT id FROM plans ORDER BY updated_at DESC, rowid DESC LIMIT ?)',
          bounds.plans.most,
        )
      })
    },
    ranAs(id, run) {
      db.run('UPDATE plans SET run = ?, updated_at = ? WHERE id = ?', run, Date.now(), id)
    },
    remove: (id) => db.run('DELETE FROM plans WHERE id = ?', id) === 1,
  }
}
