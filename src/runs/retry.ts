import { Fault } from '../contracts/faults/fault.ts'
import type { JournalledStep, RunBody, RunRecord } from '../contracts/run-ports.ts'
import type { UnknownStep } from '../contracts/run.ts'
import { droppedIn } from './ledger.ts'

/**
 * What a new run has behind it: all that was done in the old one. Steps after a batch are done anew where some of its items are. With `failed`
 * what the old one never began is left out, and the ledger of the new one says so.
 */
export function behindOf(
  old: RunRecord,
  body: RunBody,
  steps: readonly JournalledStep[],
  { failed = false, unknown }: { failed?: boolean; unknown?: UnknownStep },
): JournalledStep[] {
  const { template } = body
  mustHaveSecrets(body)
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
  const kept = steps.flatMap((step) => {
    if (step.state === 'begun') return unknown === 'done' ? [{ ...step, state: 'done' as const, output: null }] : []
    const isStale = step.item === undefined && placeOf(step) > firstAgain
    return step.state === 'done' && !isStale ? [step] : []
  })
  return failed ? [...kept, ...droppedIn(body, steps, old)] : kept
}

/** They were dropped with the end of the run, so that nobody reads them later. */
function mustHaveSecrets({ template: { id, secrets = [], inputs: schema }, inputs }: RunBody): void {
  const { required = [] } = schema as { required?: string[] }
  const gone = secrets.filter((name) => required.includes(name) && !Object.hasOwn(inputs, name))
  if (gone.length === 0) return
  throw new Fault('conflict', `The run was handed in with secrets, which are not kept after its end: ${gone.join(', ')}`, {
    details: { templateId: id, secrets: gone },
    hint: (name) => `Hand it in anew with them: ${name('run_task_template')}.`,
  })
}
