import type { ErrorObject } from 'ajv/dist/2020.js'
import { Fault } from '../contracts/faults/fault.ts'
import { nearest } from '../text/nearest.ts'
import { validatorOf } from '../text/validator.ts'
import type { Direction } from './tighten.ts'

/** A setting, or a group of them, as the contract has it. */
export interface Schema extends Direction {
  type?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  maxItems?: number
  description?: string
  /** It signs in somewhere: shown to nobody, and never a flag, which every process of the machine can read. */
  secret?: boolean
  items?: { minLength?: number; maxLength?: number; pattern?: string }
  properties?: Record<string, Schema>
}

/**
 * Holds what a layer says to the contract, or throws what is wrong with it. Group by group and setting by setting, so that only what is
 * said is compiled: most starts say nothing. `where` puts the name of a file before a setting, or gives its flag or variable.
 */
export function checkSettings(schema: Schema, said: unknown, where: (key: string) => string, key = ''): void {
  const validate = validatorOf(schema.properties ? namesOnly(schema) : schema)
  if (!validate(said)) {
    const { keyword, params, instancePath } = (validate.errors as ErrorObject[])[0] as ErrorObject
    const { additionalProperty: unknown } = params as { additionalProperty?: string }
    if (unknown !== undefined && schema.properties) throw unknownSetting(schema, unknown, where, key)
    if (schema.properties) throw bad(`${where(JSON.stringify(key))} must be an object`, 'See docs/reference/config.md.')
    if (schema.type === 'object') throw wrongIn(schema, validate.errors as ErrorObject[], where(key), key)
    throw wrong(schema, at(said, instancePath), keyword, where(key), key)
  }
  for (const [name, child] of Object.entries(schema.properties ?? {}))
    if (Object.hasOwn(said as object, name))
      checkSettings(child, (said as Record<string, unknown>)[name], where, key === '' ? name : `${key}.${name}`)
}

const shallow = new WeakMap<Schema, object>()

/** The same group, with nothing said of what its settings are. */
function namesOnly(schema: Schema): object {
  let found = shallow.get(schema)
  const properties = Object.fromEntries(Object.keys(schema.properties ?? {}).map((name) => [name, true]))
  if (!found) shallow.set(schema, (found = { type: 'object', additionalProperties: false, properties }))
  return found
}

/** The entry of a list that is wrong, or all of it. */
function at(said: unknown, instancePath: string): unknown {
  return instancePath === '' ? said : (said as unknown[])[Number(instancePath.slice(1))]
}

function unknownSetting({ properties = {} }: Schema, name: string, where: (key: string) => string, group: string): Fault {
  const known = Object.keys(properties)
  const near = nearest(name, known, Math.max(2, Math.floor(name.length / 3)))
  return bad(
    where(`unknown setting "${group === '' ? '' : `${group}.`}${name.slice(0, 100)}"`),
    `${near === undefined ? '' : `Did you mean ${near}? `}Known here: ${known.join(', ')}.`,
  )
}

function wrong(schema: Schema, said: unknown, keyword: string, where: string, key: string): Fault {
  if (keyword === 'maxItems') return bad(`${where} has ${(said as unknown[]).length} entries`, `It may have ${schema.maxItems}.`)
  if (keyword === 'maxLength') {
    const { length } = said as string
    return schema.type === 'array'
      ? bad(
          `${where} has an entry of ${length} characters`,
          `One may have ${schema.items?.maxLength}; it begins ${JSON.stringify((said as string).slice(0, 60))}.`,
        )
      : bad(`${where} is ${length} characters long`, `It may have ${schema.maxLength}.`)
  }
  const found = schema.secret ? 'what is there' : (JSON.stringify(said) ?? 'nothing').slice(0, 200)
  return bad(`${where} must be ${wanted(schema)}, not ${found}`, `${key}: ${schema.description ?? ''}`)
}

function wanted(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  switch (schema.type) {
    case 'boolean':
      return 'true or false'
    case 'integer':
      return (schema.maximum ?? Number.MAX_SAFE_INTEGER) < Number.MAX_SAFE_INTEGER
        ? `a whole number from ${schema.minimum ?? 0} to ${schema.maximum}`
        : `a whole number of at least ${schema.minimum ?? 0}`
    case 'array':
      if (schema.items?.pattern !== undefined) return 'a list of texts in the form that is described'
      return schema.items?.minLength ? 'a list of texts that are not empty' : 'a list of texts'
    default:
      if (schema.pattern !== undefined) return 'a text in the form that is described'
      return schema.minLength ? 'a text that is not empty' : 'a text'
  }
}

/** What is wrong in a table of others' making; what stands there may sign in somewhere, and is not told. */
function wrongIn({ description = '' }: Schema, errors: readonly ErrorObject[], where: string, key: string): Fault {
  const { instancePath, params, message = 'does not fit' } = errors[0] as ErrorObject
  const { additionalProperty, allowedValues } = params as { additionalProperty?: string; allowedValues?: unknown[] }
  const at = instancePath === '' ? '' : ` at ${instancePath.split('/').slice(1).join('.').slice(0, 200)}`
  const what =
    additionalProperty !== undefined
      ? `has "${additionalProperty.slice(0, 100)}"${at}, which it may not`
      : `${allowedValues ? `must be one of ${allowedValues.join(', ')}` : message}${at}`
  return bad(`${where} ${what}`, `${key}: ${description}`)
}

export function bad(message: string, hint: string): Fault {
  return new Fault('bad-input', message, { hint })
}
