/** What stands at a keyword of JSON Schema. */
type Kind =
  | 'schema'
  | 'schemas'
  | 'named schemas'
  | 'types'
  | 'number'
  | 'count'
  | 'text'
  | 'texts'
  | 'named texts'
  | 'switch'
  | 'list'
  | 'any'

const keywords = new Map<string, Kind>(
  Object.entries({
    schema: 'items additionalProperties propertyNames contains not if then else',
    schemas: 'allOf anyOf oneOf prefixItems',
    'named schemas': 'properties patternProperties dependentSchemas',
    types: 'type',
    number: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    count: 'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains',
    text: 'pattern title description $comment $schema',
    texts: 'required',
    'named texts': 'dependentRequired',
    switch: 'uniqueItems deprecated readOnly writeOnly',
    list: 'enum examples',
    any: 'const default',
  }).flatMap(([kind, words]) => words.split(' ').map((word) => [word, kind as Kind])),
)

/** Far more than a template needs; each of them may be tried on every value. */
const mostSchemas = 100
const deepest = 20
const told = 10

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isList = (value: unknown, fits: (one: unknown) => boolean): boolean => Array.isArray(value) && value.every(fits)
const isText = (value: unknown): boolean => typeof value === 'string'
const isSchema = (value: unknown): boolean => isRecord(value) || typeof value === 'boolean'
const typeNames = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const isType = (value: unknown): boolean => typeNames.includes(value as string)

const fits: Record<Kind, (value: unknown) => boolean> = {
  schema: isSchema,
  schemas: (value) => isList(value, isSchema) && (value as unknown[]).length > 0,
  'named schemas': (value) => isRecord(value) && Object.values(value).every(isSchema),
  types: (value) => isType(value) || (isList(value, isType) && (value as unknown[]).length > 0),
  number: (value) => typeof value === 'number',
  count: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  text: isText,
  texts: (value) => isList(value, isText),
  'named texts': (value) => isRecord(value) && Object.values(value).every((one) => isList(one, isText)),
  switch: (value) => typeof value === 'boolean',
  list: Array.isArray,
  any: () => true,
}

/** What somebody else's schema makes of the work of checking a value. */
export interface SchemaWeight {
  /** Schemas in it, itself included: each may be tried on every value. */
  schemas: number
  /** Every value is looked at once for each of them. Not so with patterns, or where each item is compared with every other. */
  isPlain: boolean
}

/**
 * Looks through a schema that somebody else wrote, before anything is made of it. Without references it has an end, and its work can be
 * told beforehand.
 */
export function lookThrough(schema: unknown): SchemaWeight & { wrong: string[] } {
  const wrong: string[] = []
  let schemas = 0
  let isPlain = true
  const left: { one: unknown; at: string; depth: number }[] = [{ one: schema, at: '', depth: 0 }]
  for (let next = left.pop(); next !== undefined && wrong.length < told; next = left.pop()) {
    const { one, at, depth } = next
    if (++schemas > mostSchemas) wrong.push(`it has more than ${mostSchemas} schemas in it`)
    if (depth > deepest) wrong.push(`it is nested deeper than ${deepest}`)
    if (schemas > mostSchemas || depth > deepest) break
    if (!isRecord(one)) continue
    for (const [word, value] of Object.entries(one)) {
      const here = `${at}/${word}`.slice(0, 200)
      const kind = keywords.get(word)
      if (kind === undefined) wrong.push(`${here} is not used in templates`)
      else if (!fits[kind](value)) wrong.push(`${here} is not what stands there in a JSON Schema`)
      else {
        if (/^(pattern|patternProperties|uniqueItems)$/.test(word)) isPlain = false
        for (const [name, child] of childrenOf(kind, value)) left.push({ one: child, at: here + name, depth: depth + 1 })
      }
    }
  }
  return { schemas, isPlain, wrong: wrong.slice(0, told) }
}

function childrenOf(kind: Kind, value: unknown): [name: string, child: unknown][] {
  if (kind === 'schema') return [['', value]]
  if (kind !== 'schemas' && kind !== 'named schemas') return []
  return Object.entries(value as object).map(([name, child]) => [`/${name}`, child])
}
