import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js'

// What a setting says of itself besides its type; see contracts/config.ts.
const vocabulary = ['tighter', 'loosens', 'emptyIsAll', 'secret']

/** How every schema is understood. A test holds those of the contracts to the rules of JSON Schema, so that no start has to. */
export const schemaRules: Options = {
  allErrors: true,
  strict: true,
  strictRequired: false,
  strictTypes: false,
  addUsedSchema: false,
  validateSchema: false,
}

const open = (): Ajv2020 => new Ajv2020(schemaRules).addVocabulary(vocabulary)

let ajv: Ajv2020 | undefined
const compiled = new WeakMap<object, ValidateFunction>()

/** Compiled when it is first asked for: most starts need few of them. */
export function validatorOf(schema: object): ValidateFunction {
  let found = compiled.get(schema)
  if (!found) compiled.set(schema, (found = (ajv ??= open()).compile(schema)))
  return found
}
