import { Fault } from '../contracts/faults/fault.ts'
import type { SchemaProblem } from '../contracts/run-ports.ts'
import type { TaskAgent } from '../contracts/task-agent.ts'
import { onAbort } from '../text/aborts.ts'
import { lookThrough } from '../text/template-schema.ts'
import { isLarger } from './expressions.ts'

/** A schema is kept with its run, and told to a model. */
const mostSchema = 32_768
/** What a model may answer. */
const mostOutput = 1_048_576
/** What does not fit is told to the agent once. */
const mostTries = 2

type Problems = (schema: object, value: unknown) => Promise<SchemaProblem[]>

/** Refuses a schema that cannot be used, before anything is done. */
export async function checkOutputSchema(schema: object, problems: Problems): Promise<void> {
  const wrong = isLarger(schema, mostSchema) ? [`it is larger than ${mostSchema} characters`] : lookThrough(schema).wrong
  if (wrong.length === 0)
    try {
      await problems(schema, {})
    } catch (cause) {
      if (cause instanceof Fault && cause.reason !== 'internal' && cause.reason !== 'unsupported') throw cause
      wrong.push('it cannot be compiled')
    }
  if (wrong.length > 0)
    throw new Fault('bad-input', `options.outputSchema cannot be used: ${wrong.join('; ')}`, {
      details: { fields: wrong.map((problem) => ({ field: 'options.outputSchema', problem })) },
      hint: 'Use a plain JSON Schema without references, of at most 100 schemas in each other.',
    })
}

/** What the agent makes of a result so that it fits the schema; the result itself where that fits already. */
export async function shapeOutput(
  agent: TaskAgent,
  task: { templateId: string; result: unknown; schema: object },
  problems: Problems,
  signal: AbortSignal,
): Promise<unknown> {
  let found = await problems(task.schema, task.result)
  if (found.length === 0) return task.result
  found = []
  for (let tries = 0; tries < mostTries; tries++) {
    const output = await unlessAborted(agent.shape({ ...task, problems: found }, signal), signal)
    if (output === undefined || isLarger(output, mostOutput))
      found = [{ at: '', says: `is no JSON of at most ${mostOutput} characters` }]
    else found = await problems(task.schema, output)
    if (found.length === 0) return output
  }
  throw new Fault('step-failed', 'What the agent made of the result does not fit options.outputSchema', {
    details: {
      failedStep: 'outputSchema',
      fields: found.slice(0, 10).map(({ at, says, named }) => `${at || 'it'} ${says}${named === undefined ? '' : `: ${named}`}`),
    },
    hint: 'The result as the steps left it is an artifact of the run. Ask for less, or make the schema simpler.',
  })
}

/** An agent that does not listen is not waited for. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason as Error))
    work.then(resolve, reject).finally(stop)
  })
}
