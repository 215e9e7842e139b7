import type { JournalledStep, NewStep } from '../contracts/run-ports.ts'
import type { RunError, StepState } from '../contracts/run.ts'
import type { Database } from '../host/database.ts'

interface Row {
  step: string
  item: number
  state: StepState
  call: string | null
  output: string | null
  error: string | null
  at: number
}

/** A step that is one call, not one for each item. */
const whole = -1

/** The journal of steps. Whoever writes to it does so in a transaction that made sure the run is theirs. */
export function openRunSteps(db: Database) {
  return {
    put(run: string, { step, item = whole, state, call, output, error }: NewStep): void {
      db.run(
        `INSERT OR REPLACE INTO run_steps (run, step, item, state, call, output, error, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        run,
        step,
        item,
        state,
        call ?? null,
        output === undefined ? null : JSON.stringify(output),
        error ? JSON.stringify(error) : null,
        Date.now(),
      )
    },
    of: (run: string): JournalledStep[] =>
      db.all<Row>('SELECT * FROM run_steps WHERE run = ? ORDER BY step, item', run).map(fromRow),
    forget: (run: string): void => void db.run('DELETE FROM run_steps WHERE run = ?', run),
  }
}

function fromRow({ step, item, state, call, output, error, at }: Row): JournalledStep {
  return {
    step,
    ...(item !== whole && { item }),
    state,
    ...(call !== null && { call }),
    ...(output !== null && { output: JSON.parse(output) as unknown }),
    ...(error !== null && { error: JSON.parse(error) as RunError }),
    at,
  }
}
