import { Template, type TemplateStep } from '../contracts/template.ts'
import { lookThrough } from '../text/template-schema.ts'
import { validatorOf } from '../text/validator.ts'
import { isPath, pathsIn } from './expressions.ts'

/**
 * Everything that is wrong with a template, each in one sentence; nothing where it can be used. `offers` says which tools there are, where
 * that is known.
 */
export function wrongWith(given: unknown, offers?: (tool: string) => boolean): string[] {
  const validate = validatorOf(Template)
  if (!validate(given))
    return (validate.errors ?? []).slice(0, 20).map(({ instancePath, message, params }) => {
      const { additionalProperty: name } = params as { additionalProperty?: string }
      return `${instancePath || 'the template'} ${message ?? 'does not fit'}${name === undefined ? '' : `: ${name.slice(0, 100)}`}`
    })
  const template = given as Template
  return [...wrongSchemas(template), ...wrongSteps(template), ...wrongResult(template), ...unknownTools(template, offers)]
}

function wrongSchemas(template: Template): string[] {
  return (['inputs', 'results'] as const).flatMap((which) => {
    const { wrong } = lookThrough(template[which])
    if (wrong.length > 0) return wrong.map((one) => `${which} is no JSON Schema that can be used: ${one}`)
    try {
      validatorOf(template[which])
      return []
    } catch (cause) {
      return [`${which} is no JSON Schema that can be used: ${(cause as Error).message.slice(0, 200)}`]
    }
  })
}

/** A step knows what was before it: one that reads its own answer, or a later one's, would have to run before itself. */
function wrongSteps({ steps }: Template): string[] {
  const order = new Map<string, number>()
  const wrong = steps.flatMap(({ id }, index) => {
    const twice = order.has(id)
    if (!twice) order.set(id, index)
    return twice ? [`two steps are called ${id}`] : []
  })
  const readsOf = (step: TemplateStep): string[] => [
    ...pathsIn(step.input),
    ...pathsIn(step.atOnce),
    ...(step.each === undefined ? [] : [step.each]),
  ]
  for (const [index, step] of steps.entries()) {
    for (const where of readsOf(step)) {
      const [root, name = ''] = where.split('.')
      const of = order.get(name)
      if (!isPath(where) || !['inputs', 'steps', 'item', 'index', 'last', 'session'].includes(root as string))
        wrong.push(`step ${step.id}: ${quoted(where)} is no path; it begins with inputs, steps, item, index, last or session`)
      else if (['item', 'index', 'last'].includes(root as string) && (step.each === undefined || where === step.each))
        wrong.push(`step ${step.id}: there is no ${root} without each`)
      else if (root === 'steps' && of === undefined) wrong.push(`step ${step.id}: there is no step ${quoted(name)}`)
      else if (root === 'steps' && (of as number) >= index)
        wrong.push(
          `step ${step.id}: ${of === index ? 'it needs its own answer' : `it needs the answer of ${name}, which comes after it`}: steps in a cycle never begin`,
        )
    }
    for (const where of [step.check, step.until])
      if (where !== undefined && !isPath(where)) wrong.push(`step ${step.id}: ${quoted(where)} is no path`)
    if (step.each === undefined && (step.until ?? step.report ?? step.atOnce) !== undefined)
      wrong.push(`step ${step.id}: until, report and atOnce are for a step with each`)
  }
  return wrong
}

function wrongResult({ steps, result }: Template): string[] {
  return pathsIn(result).flatMap((where) => {
    const [root, name = ''] = where.split('.')
    if (!isPath(where) || !['inputs', 'steps'].includes(root as string))
      return [`result: ${quoted(where)} is no path; it begins with inputs or steps`]
    return root === 'steps' && !steps.some(({ id }) => id === name) ? [`result: there is no step ${quoted(name)}`] : []
  })
}

/** A template that hands in runs would be a cycle that no order of steps shows. */
const ofRuns =
  /^(run_task_template|(get|list|cancel)_task_runs?|list_task_templates|get_artifact|get_runtime_profile|subscribe_task_run_events)$/

function unknownTools({ steps }: Template, offers: ((tool: string) => boolean) | undefined): string[] {
  const nested = steps.filter(({ tool }) => ofRuns.test(tool)).map(({ id, tool }) => `step ${id}: a run cannot call ${tool}`)
  if (!offers) return nested
  return nested.concat(unoffered(steps, offers))
}

function unoffered(steps: Template['steps'], offers: (tool: string) => boolean): string[] {
  return steps.filter(({ tool }) => !offers(tool)).map(({ id, tool }) => `step ${id}: there is no tool ${tool} here`)
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100))
