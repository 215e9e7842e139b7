import type { ErrorObject } from 'ajv/dist/2020.js'
import { Fault, type Reason } from '../contracts/faults/fault.ts'
import type { Tool } from '../contracts/tool.ts'
import { validatorOf } from '../text/validator.ts'
import { beyondBounds } from './bounds.ts'

/** The input as the contract wants it, or `bad-input` naming every field that does not fit. */
export function checkInput(tool: Tool, raw: unknown): unknown {
  const input = isRecord(raw) ? tool.normalizeInput(raw) : raw
  // What somebody else wrote is not compiled here; see `definition` in the tool form.
  const validate = tool.definition === undefined ? validatorOf(tool.input) : isAnObject
  if (validate(input)) {
    const { idempotencyKey: key } = input as { idempotencyKey?: unknown }
    if (typeof key === 'string' && (key.length > 256 || key.length === 0))
      throw badArgs(tool, [{ field: 'idempotencyKey', problem: 'must have 1 to 256 characters' }])
    const beyond = beyondBounds(tool, input)
    if (beyond.length) throw badArgs(tool, beyond, beyond.some(({ field }) => field === 'path') ? 'path-denied' : 'bad-input')
    return input
  }
  throw badArgs(tool, describe((validate.errors ?? []) as ErrorObject[]))
}

/** A tool that answers outside its contract is a fault of ours, never the caller's. */
export function checkOutput(tool: Tool, output: unknown): unknown {
  const validate = validatorOf(tool.output)
  if (validate(output)) return output
  throw new Fault('internal', `${tool.name} answered outside its contract`, {
    details: { fields: describe(validate.errors ?? []) },
    hint: 'This is a fault in Handrail; please report it.',
  })
}

/** In the place of a schema. */
const isAnObject: { (input: unknown): boolean; errors?: ErrorObject[] } = Object.assign((input: unknown) => isRecord(input), {
  errors: [{ instancePath: '', keyword: 'type', params: {}, message: 'must be object', schemaPath: '' }],
})

function badArgs(tool: Tool, fields: { field: string; problem: string }[], reason: Reason = 'bad-input'): Fault {
  const words = fields.map(({ field, problem }) => `${field} ${problem}`).join('; ')
  return new Fault(reason, `Bad arguments for ${tool.name}: ${words}`, {
    details: { fields },
    hint: (name) => `Fields of ${name(tool.name)}: ${fieldsOf(tool)}.`,
  })
}

function fieldsOf(tool: Tool): string {
  const { properties = {}, required = [] } = tool.input as { properties?: object; required?: string[] }
  const names = Object.keys(properties).map((name) => (required.includes(name) ? `${name} (required)` : name))
  return names.join(', ') || 'none'
}

function describe(errors: ErrorObject[]): { field: string; problem: string }[] {
  return errors.slice(0, 20).map((error) => {
    const { missingProperty, additionalProperty } = error.params as { missingProperty?: string; additionalProperty?: string }
    const named = missingProperty ?? additionalProperty
    const field = [...error.instancePath.split('/').slice(1), ...(named === undefined ? [] : [named])].join('.') || '(arguments)'
    if (missingProperty !== undefined) return { field, problem: 'is required' }
    if (additionalProperty !== undefined) return { field: field.slice(0, 100), problem: 'is not a known field' }
    if (error.keyword === 'enum')
      return { field, problem: `must be one of ${(error.params as { allowedValues: unknown[] }).allowedValues.join(', ')}` }
    return { field, problem: error.message ?? 'does not fit' }
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
