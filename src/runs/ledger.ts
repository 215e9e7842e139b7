import type { JournalledStep, RunBody, RunRecord } from '../contracts/run-ports.ts'
import type { StepRecord } from '../contracts/run.ts'
import { limitsOf, type TemplateStep } from '../contracts/template.ts'
import { at, fillIn, type Scope } from './expressions.ts'

/** What became of the items of a batch. `dropped`: those that were left out, where there are any. */
export interface BatchSummary {
  total: number
  succeeded: number
  failed: number
  dropped?: number
}

/** What later steps and the result know of a batch: each item in order, and how many came to what. */
export function batchOf(step: TemplateStep, list: readonly unknown[], ends: readonly JournalledStep[]) {
  const items = ends.map(({ state, output, error, artifacts }, index) => {
    const told = {
      item: list[index],
      success: state === 'done',
      ...(state === 'done' ? { output } : { error }),
      ...(artifacts?.length && { artifacts: artifacts.map(({ id, ...one }) => ({ artifactId: id, ...one })) }),
    }
    return step.report === undefined ? told : fillIn(step.report, { ...told, index })
  })
  const last = ends.at(-1)?.output
  const summary = summaryOf(ends)
  return { items, summary, ...summary, ...(last !== undefined && { last }) }
}

export function summaryOf(ends: readonly JournalledStep[]): BatchSummary {
  const count = (wanted: JournalledStep['state']): number => ends.filter(({ state }) => state === wanted).length
  const dropped = count('dropped')
  return { total: ends.length, succeeded: count('done'), failed: count('failed'), ...(dropped > 0 && { dropped }) }
}

/** Items of one step, whatever its template says. */
const mostItems = 1_000

/** The list a step goes over, or so many times; undefined where there is neither. */
export function listAt(scope: Scope, each: string): unknown[] | undefined {
  const found = at(scope, each)
  if (Array.isArray(found)) return found
  const isCount = Number.isInteger(found) && (found as number) >= 0 && (found as number) <= mostItems
  return isCount ? Array.from({ length: found as number }, (_, index) => index) : undefined
}

/** Whether a step with `until` is through. One item that failed ends it too: the next would begin where that one did not come. */
export function isOver({ until }: TemplateStep, { state, output }: Pick<JournalledStep, 'state' | 'output'>): boolean {
  return until !== undefined && (state !== 'done' || at(output as Scope, until) === true)
}

/** Items of a run that has its end which were never begun: dropped, with what ended the run as the reason. */
export function droppedIn({ template, inputs }: RunBody, journalled: readonly JournalledStep[], run: RunRecord): StepRecord[] {
  const scope: { inputs: unknown; steps: Record<string, unknown> } = { inputs, steps: {} }
  const dropped: StepRecord[] = []
  for (const step of template.steps) {
    const known = journalled.filter((one) => one.step === step.id)
    if (step.each === undefined) {
      if (known[0]?.state === 'done') scope.steps[step.id] = { output: known[0].output }
      continue
    }
    const list = listAt(scope, step.each)
    if (!list || list.length > limitsOf(template).maxItems || known.some((one) => isOver(step, one))) continue
    const there = new Map(known.map((one) => [one.item, one]))
    const missing = [...list.keys()].filter((item) => !there.has(item))
    dropped.push(...missing.map((item) => ({ step: step.id, item, state: 'dropped' as const, at: run.updatedAt, ...whyOf(run) })))
    // What comes after a batch is made of all of it.
    if (missing.length === 0)
      scope.steps[step.id] = batchOf(
        step,
        list,
        [...list.keys()].map((item) => there.get(item)!),
      )
  }
  return dropped
}

function whyOf({ error, status }: RunRecord): Pick<StepRecord, 'error'> {
  return {
    error: {
      errorCode: error?.errorCode ?? 'EXECUTION_ERROR',
      message: `Not begun: the run was ${status} before`,
      recoverHint: '`handrail runs retry ID` does it.',
      details: { reason: error?.details['reason'] ?? 'cancelled' },
    },
  }
}
