import type { JournalledStep, NewStep } from '../../contracts/run-ports.ts'
import type { Postgres } from '../../host/postgres.ts'
import { fromStepRow, whole, type StepRow } from '../run-steps.ts'
import { stepMark, type Sign } from './marks.ts'

export const byPlace = (a: JournalledStep, b: JournalledStep): number =>
  a.step < b.step ? -1 : a.step > b.step ? 1 : (a.item ?? whole) - (b.item ?? whole)

export const placeOf = ({ step, item = whole }: NewStep): string => `${step}.${item}`

export const stepRowOf = ({ step, item = whole, state, call, output, error, artifacts }: NewStep): Omit<StepRow, 'at'> => ({
  step,
  item,
  state,
  call: call ?? null,
  output: output === undefined ? null : JSON.stringify(output),
  error: error ? JSON.stringify(error) : null,
  artifacts: artifacts?.length ? JSON.stringify(artifacts) : null,
})

/** A step that an earlier run has done, as it was: what others did stays without a mark of this machine. */
export async function putStep(query: Postgres['query'], sign: Sign, run: string, step: JournalledStep): Promise<void> {
  const row = stepRowOf(step)
  await query(
    `INSERT INTO handrail.run_steps (run, step, item, state, call, output, error, at, artifacts, mac)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
    [
      run,
      row.step,
      row.item,
      row.state,
      row.call,
      row.output,
      row.error,
      step.at,
      row.artifacts,
      step.elsewhere ? '' : stepMark(sign, run, row),
    ],
  )
}

/** Those that this machine did not write, as it wrote them, say so. */
export async function readSteps(query: Postgres['query'], sign: Sign, run: string): Promise<JournalledStep[]> {
  const rows = await query<StepRow & { mac: string }>(
    'SELECT * FROM handrail.run_steps WHERE run = $1 ORDER BY step COLLATE "C", item',
    [run],
  )
  return rows.map((row) => ({
    ...fromStepRow(row),
    ...(row.mac !== stepMark(sign, run, row) && { elsewhere: true as const }),
  }))
}
