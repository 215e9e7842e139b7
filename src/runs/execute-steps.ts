import { contract002, runErrorOf } from '../contracts/faults/contract-002.ts'
import { asFault, Fault, type Reason } from '../contracts/faults/fault.ts'
import type { JournalledStep, KeptArtifact, NewStep, RunBody, SchemaProblem } from '../contracts/run-ports.ts'
import type { RunError } from '../contracts/run.ts'
import type { TaskAgent } from '../contracts/task-agent.ts'
import { limitsOf, type Template, type TemplateStep } from '../contracts/template.ts'
import { at, fillIn, isLarger, weightOf, type Scope } from './expressions.ts'
import { batchOf, isOver, listAt, type BatchSummary } from './ledger.ts'
import { shapeOutput } from './output-schema.ts'

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
  /** What the last call under this id left beside its answer, or beside why it has none. */
  left(call: string): readonly KeptArtifact[]
  /** Whether the call may be made again where nobody knows if it was carried out. */
  mayRepeat(step: TemplateStep, input: unknown): boolean
  begun(call: string): Begun
  problems(schema: object, value: unknown): Promise<SchemaProblem[]>
  /** Undefined where no model is configured. */
  taskAgent?(): TaskAgent | undefined
  newCall(): string
  /** Throws `Lost` where the run is no longer ours. */
  journal(step: NewStep, done: number, total: number): Promise<void>
}

/** Another process has the run, or it has its end: whatever is known here no longer counts. */
export class Lost extends Error {}

export type Outcome =
  | { kind: 'waits'; approval: string }
  /** `raw`: what the steps came to, where an agent made something else of it. */
  | { kind: 'ended'; status: 'succeeded' | 'partial_success'; result: unknown; raw?: unknown }
  | { kind: 'ended'; status: 'failed'; error: RunError; result?: unknown }

/** Does what a run has not done yet, step after step: all that is in its journal is behind it. */
export async function executeSteps(
  { template, inputs, sessionId, outputSchema }: RunBody,
  journalled: readonly JournalledStep[],
  ports: StepPorts,
  signal: AbortSignal,
): Promise<Outcome> {
  const known = new Map(journalled.map((one) => [keyOf(one.step, one.item), one]))
  const scope: { inputs: unknown; steps: Record<string, unknown>; session?: string } = {
    inputs,
    steps: {},
    ...(sessionId !== undefined && { session: sessionId }),
  }
  let done = journalled.filter(({ state }) => state !== 'begun').length
  const sizes = sizesOf({ template, inputs })
  const limits = limitsOf(template)
  let total = sum(sizes)
  let room = mostOfRun - sum(journalled.map(({ output }) => weightOf(output, mostOfRun)))
  let isPartial = false

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
    if (item !== undefined && isOver(step, end)) {
      sizes[template.steps.indexOf(step)] = item + 1
      total = sum(sizes)
    }
    await ports.journal({ ...place, ...end }, done, total)
    return { ...place, ...end, at: Date.now() }
  }
  /** The answer, or why there is none; what ends the whole run is thrown. */
  const settle = async (
    step: TemplateStep,
    input: unknown,
    call: { id: string; place: string },
  ): Promise<Omit<NewStep, 'step' | 'item'>> => {
    for (let { id } = call, tries = 1; ; tries++, id = ports.newCall()) {
      const limit = step.timeoutMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(step.timeoutMs)])
      try {
        const { output, callId } = await ports.call(step, input, { id, place: call.place }, limit)
        const weight = weightOf(output, mostOfStep)
        if (weight > Math.min(mostOfStep, room)) throw tooMuch()
        room -= weight
        if (step.check !== undefined && at(output as Scope, step.check) !== true) throw notPassed(step.check)
        return { state: 'done', output, call: callId, artifacts: ports.left(id) }
      } catch (thrown) {
        if (signal.aborted) throw signal.reason
        const fault = limit.aborted ? tooLong(step) : asFault(thrown)
        if (endsRun.has(fault.reason) || fault.details?.['missing'] !== undefined) throw fault
        const isWorthIt = ofPages.has(fault.reason) && tries < (step.tries ?? 1) && ports.mayRepeat(step, input)
        if (!isWorthIt) return { state: 'failed', error: errorOf(fault), call: id, artifacts: ports.left(id) }
      }
    }
  }
  /** Each item once, several at a time where that is allowed; whatever ends the run waits for those that are under way. */
  const doEach = async (step: TemplateStep, list: readonly unknown[]): Promise<JournalledStep[]> => {
    const ends: JournalledStep[] = []
    let next = 0
    let over = false
    const work = async (): Promise<void> => {
      while (!over && next < list.length) {
        const index = next++
        try {
          const last = ends[index - 1]?.output
          const end = await doOne(step, index, { ...scope, item: list[index], index, ...(last !== undefined && { last }) })
          ends[index] = end
          over ||= isOver(step, end)
        } catch (thrown) {
          over = true
          throw thrown
        }
      }
    }
    const width = list.length === 0 ? 0 : widthOf(step, { ...scope, item: list[0], index: 0 })
    const ways = await Promise.allSettled(Array.from({ length: Math.min(width, list.length) }, work))
    const lost = ways.find((one) => one.status === 'rejected')
    if (lost) throw lost.reason
    return ends
  }
  const widthOf = (step: TemplateStep, within: Scope): number => {
    const wanted = fillIn(step.atOnce ?? 1, within)
    const isSafe = step.until === undefined && ports.mayRepeat(step, fillIn(step.input, within))
    return isSafe ? Math.min(5, Math.max(1, typeof wanted === 'number' ? wanted : usualAtOnce)) : 1
  }
  let partly: unknown

  try {
    for (const [place, step] of template.steps.entries()) {
      if (step.each === undefined) {
        const end = await doOne(step, undefined, scope)
        if (end.state !== 'done') throw stepFailed(step, end.error)
        scope.steps[step.id] = { output: end.output }
        continue
      }
      const list = itemsFor(scope, step, limits.maxItems)
      sizes[place] = list.length
      total = sum(sizes)
      const ends = await doEach(step, list)
      sizes[place] = ends.length
      total = sum(sizes)
      const batch = batchOf(step, list, ends)
      scope.steps[step.id] = batch
      isPartial ||= batch.succeeded < batch.total
      if (batch.total > 0 && batch.succeeded / batch.total < limits.partial) {
        partly = ifBounded(() => boundedResult(template, scope))
        throw tooFew(step, batch.summary, ends)
      }
    }
    const result = boundedResult(template, scope)
    if (result === undefined) throw tooMuch()
    await checkResult(template.results, result, ports)
    const status = isPartial ? ('partial_success' as const) : ('succeeded' as const)
    const agent = outputSchema && ports.taskAgent?.()
    if (!agent) return { kind: 'ended', status, result }
    partly = result
    const task = { templateId: template.id, result, schema: outputSchema }
    const shaped = await shapeOutput(agent, task, ports.problems, signal)
    return { kind: 'ended', status, result: shaped, ...(shaped !== result && { raw: result }) }
  } catch (thrown) {
    if (thrown instanceof Lost) throw thrown
    if (signal.aborted) throw signal.reason
    const fault = asFault(thrown)
    const approval = fault.reason === 'needs-approval' ? fault.details?.['approvalId'] : undefined
    if (typeof approval === 'string') return { kind: 'waits', approval }
    return { kind: 'ended', status: 'failed', error: errorOf(fault), ...(partly !== undefined && { result: partly }) }
  }
}

/** What may be another time, by itself. */
const ofPages = new Set<string>(['page-crashed', 'page-timeout'])
/** What a page, a session or a field stands for itself: a run that failed of it is told so. */
const ownCode = new Set<unknown>([
  'page-crashed',
  'page-timeout',
  'page-failed',
  'element-not-found',
  'login-field-not-found',
  'session-not-found',
])
/** Items at once, where a template lets its inputs say how many and they do not. */
const usualAtOnce = 3
/** Failed items that are named in the error of their run. */
const mostFailures = 20

/** Not the fault of one item: whatever comes after it would come to the same. So it is with what is missing on this machine. */
const endsRun = new Set(['needs-approval', 'declined', 'disabled', 'unknown-tool', 'read-only', 'unauthorized'])

/** So many as can be told before anything is done. */
export const totalSteps = (body: RunBody): number => sum(sizesOf(body))

/** Calls of each step; one where it is not known yet. */
function sizesOf({ template, inputs }: RunBody): number[] {
  return template.steps.map(({ each }) => (each === undefined ? undefined : listAt({ inputs }, each))?.length ?? 1)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

export const errorOf = (fault: Fault): RunError => runErrorOf(fault, (tool) => tool)

/** Where in a run a call stands, the same whoever makes it. */
const keyOf = (step: string, item: number | undefined): string => (item === undefined ? step : `${step}.${item}`)

function itemsFor(scope: Scope, { id, each = '' }: TemplateStep, most: number): unknown[] {
  const list = listAt(scope, each)
  if (list && list.length <= most) return list
  throw new Fault(
    'step-failed',
    `Step ${id}: ${each} is ${list ? `a list of ${list.length}, and ${most} items are the most` : 'no list'}`,
    {
      details: { failedStep: id },
      hint: 'Give it a list, or split the work into several runs.',
    },
  )
}

/** What the run answers; nothing where that is too much. One answer may stand in it many times. */
function boundedResult({ result }: Template, scope: Scope): unknown {
  const filled = fillIn(result, scope)
  return isLarger(filled, mostOfRun) ? undefined : filled
}

/** What a failed run has of its result goes without saying where that is too much: why it failed is worth more. */
function ifBounded(fill: () => unknown): unknown {
  try {
    return fill()
  } catch {
    return undefined
  }
}

function tooFew({ id }: TemplateStep, summary: BatchSummary, ends: readonly JournalledStep[]): Fault {
  const failures = ends.flatMap(({ error }, item) =>
    error ? [{ item, errorCode: error.errorCode, message: error.message }] : [],
  )
  return new Fault('step-failed', `${summary.total - summary.succeeded} of ${summary.total} items of step ${id} failed`, {
    details: { failedStep: id, ...summary, failures: failures.slice(0, mostFailures) },
    hint: 'The ledger of the run says why each of them failed; `handrail runs retry ID --failed` does those again.',
  })
}

function stepFailed({ id }: TemplateStep, error: RunError | undefined): Fault {
  const reason = error?.details['reason']
  if (error && ownCode.has(reason))
    return new Fault(reason as Reason, error.message, {
      details: { ...error.details, failedStep: id },
      hint: error.recoverHint,
    })
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

async function checkResult(schema: object, result: unknown, { problems }: Pick<StepPorts, 'problems'>): Promise<void> {
  const found = await problems(schema, result)
  if (found.length === 0) return
  const fields = found
    .slice(0, 10)
    .map(({ at: where, says, named }) => `${where || 'it'} ${says}${named === undefined ? '' : `: ${named}`}`)
  throw new Fault('step-failed', 'What came of the run does not fit the schema of its template', {
    details: { fields },
    hint: 'Correct `results` or `result` of the template: `handrail templates check FILE`.',
  })
}
