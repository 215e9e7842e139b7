import { Fault } from '../contracts/faults/fault.ts'
import type { JournalledStep, RunRecord } from '../contracts/run-ports.ts'
import type { UnknownStep } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'

/** What a new run has behind it: all that was done in the old one. Steps after a batch are done anew where some of its items are. */
export function behindOf(
  old: RunRecord,
  template: Template,
  steps: readonly JournalledStep[],
  { failed = false, unknown }: { failed?: boolean; unknown?: UnknownStep },
): JournalledStep[] {
  const begun = steps.filter(({ state }) => state === 'begun')
  if (begun.length > 0 && unknown === undefined)
    throw new Fault('conflict', `Nobody knows whether step ${begun[0]?.step} of this run was carried out`, {
      details: { step: begun[0]?.step, call: begun[0]?.call },
      hint: 'Look at what it did, then say how to go on: --unknown done where it was, --unknown again where it was not.',
    })
  const left = steps.filter(({ state }) => state === 'failed' || state === 'dropped')
  if (failed && left.length === 0)
    throw new Fault(
      'conflict',
      `No item of this run failed: it ${old.status === 'canceled' ? 'was cancelled' : `is ${old.status}`}`,
      {
        hint: 'Without --failed the whole rest is done.',
      },
    )
  const order = new Map(template.steps.map(({ id }, index) => [id, index]))
  const placeOf = ({ step }: JournalledStep): number => order.get(step) ?? 0
  // A single step after a batch was made of its results.
  const firstAgain = Math.min(...left.map(placeOf))
  return steps.flatMap((step) => {
    if (step.state === 'begun') return unknown === 'done' ? [{ ...step, state: 'done' as const, output: null }] : []
    const isStale = step.item === undefined && placeOf(step) > firstAgain
    return step.state === 'done' && !isStale ? [step] : []
  })
}
