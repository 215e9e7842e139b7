import { contract002, runErrorOf } from '../contracts/faults/contract-002.ts'
import { asFault, Fault } from '../contracts/faults/fault.ts'
import type { JournalledStep, NewStep, RunBody } from '../contracts/run-ports.ts'
import type { RunError } from '../contracts/run.ts'
import type { TemplateStep } from '../contracts/template.ts'
import { at, fillIn, isLarger, type Scope } from './expressions.ts'
import { validatorFor } from './schemas.ts'

/** What one step may answer, and all of them together: it is kept with the run, and in memory while that runs. */
const mostOfStep = 8_388_608
const mostOfRun = 67_108_864

/** What became of a call that had begun when its process ended. */
export type Begun = 'never' | 'unknown'

export interface StepPorts {
  /**
   * Makes the call; throws `needs-approval` at once where a person must be asked. Its id is another one where it went on with a call that
   * waited for a person.
   */
  call(
    step: TemplateStep,
    input: unknown,
    as: { id: string; place: string },
    signal: AbortSignal,
  ): Promise<{ output: unknown; callId: string }>
  /** Whether the call may be made again where nobody knows if it was carried out. */
  mayRepeat(step: TemplateStep, input: unknown): boolean
  begun(call: string): Begun
  newCall(): string
  /** Throws `Lost` where the run is no longer ours. */
  journal(step: NewStep, done: number, total: number): Promise<void>
}

/** Another process has the run, or it has its end: whatever is known here no longer counts. */
export class Lost extends Error {}

export type Outcome =
  | { kind: 'waits'; approval: string }
  | { kind: 'ended'; status: 'succeeded' | 'partial_success'; result: unknown }
  | { kind: 'ended'; status: 'failed'; error: RunError; result?: unknown }

/** Does what a run has not done yet, step after step: all that is in its journal is behind it. */
export async function carryOut(
  { template, inputs }: RunBody,
  journalled: readonly JournalledStep[],
  ports: StepPorts,
  signal: AbortSignal,
): Promise<Outcome> {
  const known = new Map(journalled.map((one) => [keyOf(one.step, one.item), one]))
  const scope: { inputs: unknown; steps: Record<string, unknown> } = { inputs, steps: {} }
  let done = journalled.filter(({ state }) => state !== 'begun').length
  const sizes = sizesOf({ template, inputs })
  let total = sum(sizes)
  let room = mostOfRun
  let lasting: { total: number; succeeded: number; failed: number } | undefined

  const doOne = async (step: TemplateStep, item: number | undefined, within: Scope): Promise<JournalledStep> => {
    const before = known.get(keyOf(step.id, item))
    if (before && before.state !== 'begun') return before
    signal.throwIfAborted()
    const place = { step: step.id, ...(item !== undefined && { item }) }
    if (before && ports.begun(before.call ?? '') === 'unknown') throw unknownOutcome(step, item, before.call)
    const input = fillIn(step.input, within)
    const call = before?.call ?? ports.newCall()
    if (!before && !ports.mayRepeat(step, input)) await ports.journal({ ...place, state: 'begun', call }, done, total)
    const end = await settle(step, input, { id: call, place: keyOf(step.id, item) })
    done++
    await ports.journal({ ...place, ...end }, done, total)
    return { ...place, ...end, at: Date.now() }
  }
  /** The answer, or why there is none; what ends the whole run is thrown. */
  const settle = async (
    step: TemplateStep,
    input: unknown,
    call: { id: string; place: string },
  ): Promise<Omit<NewStep, 'step' | 'item'>> => {
    const limit = AbortSignal.any([signal, ...(step.timeoutMs === undefined ? [] : [AbortSignal.timeout(step.timeoutMs)])])
    try {
      const { output, callId } = await ports.call(step, input, call, limit)
      if (isLarger(output, Math.min(mostOfStep, room))) throw tooMuch()
      room -= JSON.stringify(output)?.length ?? 0
      if (step.check !== undefined && at(output as Scope, step.check) !== true) throw notPassed(step.check)
      return { state: 'done', output, call: callId }
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      const fault = limit.aborted ? tooLong(step) : asFault(thrown)
      if (endsRun.has(fault.reason)) throw fault
      return { state: 'failed', error: errorOf(fault), call: call.id }
    }
  }

  try {
    for (const [place, step] of template.steps.entries()) {
      if (step.each === undefined) {
        const end = await doOne(step, undefined, scope)
        if (end.state !== 'done') throw stepFailed(step, end.error)
        scope.steps[step.id] = { output: end.output }
        continue
      }
      const list = listAt(scope, step, template.limits?.maxItems)
      sizes[place] = list.length
      total = sum(sizes)
      const ends: JournalledStep[] = []
      for (const [index, item] of list.entries()) ends.push(await doOne(step, index, { ...scope, item, index }))
      const succeeded = ends.filter(({ state }) => state === 'done').length
      const summary = { total: list.length, succeeded, failed: list.length - succeeded }
      const items = ends.map(({ state, output, error }, index) => ({
        item: list[index],
        success: state === 'done',
        ...(state === 'done' ? { output } : { error }),
      }))
      scope.steps[step.id] = { items, summary, ...summary }
      lasting = summary
      if (list.length > 0 && succeeded / list.length < (template.limits?.partial ?? 0.5))
        throw new Fault('step-failed', `${summary.failed} of ${list.length} items of step ${step.id} failed`, {
          details: { failedStep: step.id, ...summary },
          hint: 'The ledger of the run says why each of them failed; `handrail runs retry ID --failed` does those again.',
        })
    }
    const result = fillIn(template.result, scope)
    // One answer may stand in it many times.
    if (isLarger(result, mostOfRun)) throw tooMuch()
    checkResult(template.results, result)
    return { kind: 'ended', status: lasting && lasting.failed > 0 ? 'partial_success' : 'succeeded', result }
  } catch (thrown) {
    if (thrown instanceof Lost) throw thrown
    if (signal.aborted) throw signal.reason
    const fault = asFault(thrown)
    const approval = fault.reason === 'needs-approval' ? fault.details?.['approvalId'] : undefined
    if (typeof approval === 'string') return { kind: 'waits', approval }
    return { kind: 'ended', status: 'failed', error: errorOf(fault) }
  }
}

/** Not the fault of one item: whatever comes after it would come to the same. */
const endsRun = new Set(['needs-approval', 'declined', 'disabled', 'unknown-tool', 'read-only', 'unauthorized'])

/** So many as can be told before anything is done. */
export const totalSteps = (body: RunBody): number => sum(sizesOf(body))

/** Calls of each step; one where it is not known yet. */
function sizesOf({ template, inputs }: RunBody): number[] {
  return template.steps.map(({ each }) => {
    const list = each === undefined ? undefined : at({ inputs }, each)
    return Array.isArray(list) ? list.length : 1
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

export const errorOf = (fault: Fault): RunError => runErrorOf(fault, (tool) => tool)

/** Where in a run a call stands, the same whoever makes it. */
const keyOf = (step: string, item: number | undefined): string => (item === undefined ? step : `${step}.${item}`)

function listAt(scope: Scope, step: TemplateStep, most = 1_000): unknown[] {
  const list = at(scope, step.each as string)
  if (Array.isArray(list) && list.length <= most) return list
  throw new Fault(
    'step-failed',
    `Step ${step.id}: ${step.each} is ${Array.isArray(list) ? `a list of ${list.length}, and ${most} items are the most` : 'no list'}`,
    {
      details: { failedStep: step.id },
      hint: 'Give it a list, or split the work into several runs.',
    },
  )
}

function stepFailed({ id }: TemplateStep, error: RunError | undefined): Fault {
  return new Fault('step-failed', `Step ${id} failed: ${error?.message ?? 'no answer'}`, {
    details: {
      failedStep: id,
      stepErrorCode: error?.errorCode ?? contract002.internal,
      ...(error && { cause: error.details }),
    },
    ...(error && { hint: error.recoverHint }),
  })
}

function unknownOutcome({ id, tool }: TemplateStep, item: number | undefined, call: string | undefined): Fault {
  return new Fault(
    'step-failed',
    `Nobody knows whether step ${id} was carried out: the process that did it ended before its answer was written down`,
    {
      details: {
        failedStep: id,
        tool,
        outcome: 'unknown',
        ...(item !== undefined && { item }),
        ...(call !== undefined && { call }),
      },
      hint: 'It was not done again. Look at what it did (`handrail audit show`), then go on with `handrail runs retry ID --unknown done` or `--unknown again`.',
    },
  )
}

function tooMuch(): Fault {
  return new Fault('over-limit', `The answer is larger than a run keeps (${mostOfStep} characters a step, ${mostOfRun} in all)`, {
    hint: 'Take fewer items, or less of each.',
  })
}

function tooLong({ id, timeoutMs }: TemplateStep): Fault {
  return new Fault('timeout', `Step ${id} took longer than ${timeoutMs} ms`, { details: { step: id, timeoutMs } })
}

function notPassed(check: string): Fault {
  return new Fault('lint', `The check did not pass: ${check} is not true`, { details: { check } })
}

function checkResult(schema: object, result: unknown): void {
  const validate = validatorFor(schema)
  if (validate(result)) return
  const fields = (validate.errors ?? [])
    .slice(0, 10)
    .map(({ instancePath, message }) => `${instancePath || 'it'} ${message ?? ''}`)
  throw new Fault('step-failed', 'What came of the run does not fit the schema of its template', {
    details: { fields },
    hint: 'Correct `results` or `result` of the template: `handrail templates check FILE`.',
  })
}
