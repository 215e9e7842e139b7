import type { JournalledStep, KeptArtifact, NewStep } from '../contracts/run-ports.ts'
import type { StepState } from '../contracts/run.ts'
import type { Database } from '../host/database.ts'
import { columnOf, errorIn, isArtifacts } from './run-row.ts'

/** A step as the table has it, in either store. */
export interface StepRow {
  step: string
  item: number
  state: StepState
  call: string | null
  output: string | null
  error: string | null
  artifacts: string | null
  at: number
}

/** A step that is one call, not one for each item. */
export const whole = -1

/** The journal of steps. Whoever writes to it does so in a transaction that made sure the run is theirs. */
export function openRunSteps(db: Database) {
  return {
    /** Says how much it is. */
    put(run: string, { step, item = whole, state, call, output, error, artifacts }: NewStep): number {
      const text = output === undefined ? null : JSON.stringify(output)
      db.run(
        `INSERT OR REPLACE INTO run_steps (run, step, item, state, call, output, error, at, artifacts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        run,
        step,
        item,
        state,
        call ?? null,
        text,
        error ? JSON.stringify(error) : null,
        Date.now(),
        artifacts?.length ? JSON.stringify(artifacts) : null,
      )
      return Buffer.byteLength(text ?? '')
    },
    of: (run: string): JournalledStep[] =>
      db.all<StepRow>('SELECT * FROM run_steps WHERE run = ? ORDER BY step, item', run).map(fromStepRow),
    /** What its steps left beside their answers, without these. */
    left: (run: string): KeptArtifact[] =>
      db
        .all<{ artifacts: string }>(
          'SELECT artifacts FROM run_steps WHERE run = ? AND artifacts IS NOT NULL ORDER BY step, item',
          run,
        )
        .flatMap(({ artifacts }) => JSON.parse(artifacts) as KeptArtifact[]),
    forget: (run: string): void => void db.run('DELETE FROM run_steps WHERE run = ?', run),
  }
}

export function fromStepRow({ step, item, state, call, output, error, artifacts, at }: StepRow): JournalledStep {
  return {
    step,
    ...(item !== whole && { item }),
    state,
    ...(call !== null && { call }),
    ...(output !== null && { output: columnOf<unknown>(output, () => true, undefined) }),
    ...(error !== null && { error: errorIn(error) }),
    ...(artifacts !== null && { artifacts: columnOf<KeptArtifact[]>(artifacts, isArtifacts, []) }),
    at,
  }
}

export type RunSteps = ReturnType<typeof openRunSteps>
