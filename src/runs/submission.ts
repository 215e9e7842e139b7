import { Fault } from '../contracts/faults/fault.ts'
import type { SchemaProblem } from '../contracts/run-ports.ts'
import { runBounds, type Submission, type TrustLevel } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import { nearest } from '../text/nearest.ts'
import { at, isLarger } from './expressions.ts'
import { trustOf, type CatalogEntry, type TemplateCatalog } from './template-catalog.ts'

/** Inputs are kept with the run, and read whenever it is taken up. */
const mostInputs = 1_048_576

export async function entryFor(catalog: TemplateCatalog, templateId: string): Promise<CatalogEntry> {
  const found = await catalog.get(templateId)
  if (found) return found
  const all = await catalog.all()
  const ignored = catalog.ignored()?.says
  const meant = nearest(
    templateId,
    all.map(({ template }) => template.id),
    3,
  )
  throw new Fault('template-not-found', `There is no such template: ${templateId.slice(0, 100)}`, {
    details: { templateId: templateId.slice(0, 100), templates: all.map(({ template }) => template.id) },
    hint: (name) =>
      [
        ...(meant === undefined ? [] : [`Did you mean ${meant}?`]),
        `${name('list_task_templates')} shows what there is.`,
        ...(ignored === undefined ? [] : [ignored]),
      ].join(' '),
  })
}

export async function templateFor(
  catalog: TemplateCatalog,
  { templateId, templateVersion }: Submission,
  level: TrustLevel,
): Promise<CatalogEntry> {
  const found = await entryFor(catalog, templateId)
  const { template } = found
  if (templateVersion !== undefined && templateVersion !== template.version)
    throw new Fault(
      'template-version',
      `${template.id} exists in version ${template.version}, not in ${templateVersion.slice(0, 50)}`,
      {
        details: { templateId: template.id, version: template.version },
      },
    )
  if (!trustOf(template).includes(level))
    throw new Fault('trust-level', `${template.id} is not for callers from another machine`, {
      details: { templateId: template.id, trustLevel: level, trustLevelSupport: trustOf(template) },
    })
  return found
}

export function timeoutFor({ timeoutMs }: Submission, mode: 'sync' | 'async', { limits }: Template): number {
  const usual = mode === 'async' ? runBounds.asyncTimeoutMs : runBounds.syncTimeoutMs
  return Math.min(
    timeoutMs ?? limits?.timeoutMs ?? usual,
    limits?.timeoutMs ?? runBounds.asyncTimeoutMs,
    runBounds.asyncTimeoutMs,
  )
}

export async function inputsFor(
  template: Template,
  { inputs = {} }: Submission,
  problemsIn: (schema: object, value: unknown) => Promise<SchemaProblem[]>,
): Promise<Record<string, unknown>> {
  const wrong = (fields: { field: string; problem: string }[]): Fault =>
    new Fault(
      'bad-input',
      `Bad inputs for ${template.id}: ${fields.map(({ field, problem }) => `${field} ${problem}`).join('; ')}`,
      {
        details: { fields },
        hint: (name) => `${name('list_task_templates')} has the schema of its inputs.`,
      },
    )
  if (isLarger(inputs, mostInputs)) throw wrong([{ field: 'inputs', problem: `are larger than ${mostInputs} characters` }])
  const problems = await problemsIn(template.inputs, inputs)
  if (problems.length === 0) return inputs
  throw wrong(
    problems.map(({ at: where, says, named }) => ({
      field: ['inputs', ...where.split('/').slice(1), ...(named === undefined ? [] : [named])].join('.'),
      problem: says,
    })),
  )
}

/** What is secret is sealed before anything of it is kept. */
export function withoutSecrets(
  { secrets = [] }: Template,
  inputs: Record<string, unknown>,
  seal: (value: unknown) => string,
): Record<string, unknown> {
  const sealed = secrets.filter((name) => Object.hasOwn(inputs, name)).map((name) => [name, { sealed: seal(inputs[name]) }])
  return { ...inputs, ...Object.fromEntries(sealed) }
}

/** `auto` makes nobody wait long: for many items, or where the template expects more than half a minute, the caller is answered at once. */
export function modeFor({ mode = 'auto' }: Submission, template: Template, inputs: Record<string, unknown>): 'sync' | 'async' {
  if (mode !== 'auto') return mode
  const given = template.steps.map(({ each }) => (each === undefined ? undefined : at({ inputs }, each)))
  const items = Math.max(0, ...given.map((list) => (Array.isArray(list) ? list.length : 0)))
  // So many times at most: most often it is fewer.
  const times = Math.max(items, ...given.map((count) => (typeof count === 'number' ? count : 0)))
  const { ms = 0, msPerItem = 0 } = template.expects ?? {}
  const isLong = items > runBounds.autoSyncItems || ms + msPerItem * times > runBounds.autoSyncMs
  return isLong ? 'async' : 'sync'
}
