import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'
import type { SchemaProblem } from '../contracts/run-ports.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { lookThrough } from '../text/template-schema.ts'
import { schemaRules, validatorOf } from '../text/validator.ts'
import { openWorkerPool } from './worker-pool.ts'

interface Job {
  code: string
  text: string
}

/** Values against schemas that somebody else wrote. What may take longer than a moment is done in one of a few threads, and has an end. */
export interface SchemaChecks {
  /** What does not fit, the first of it; nothing where all does. `client`: whose it is. */
  problems(schema: object, value: unknown, client: string): Promise<SchemaProblem[]>
  close(): void
}

/** What is done on the spot: so many schemas times characters are a few milliseconds, also where each of them finds fault with each value. */
const atOnce = 200_000
const limitMs = 1_000
const memoryMb = 512
/** Templates there are at a time, and some that were. */
const mostKnown = 500

/** The thread's whole program. A value may find fault with every schema in every item: only the first are told. */
const program = `
const { parentPort } = require('node:worker_threads')
const parts = {
  'ajv/dist/runtime/ucs2length': { default: (text) => { let length = 0; for (const _ of text) length++; return length } },
  'ajv/dist/runtime/equal': { default: require('node:util').isDeepStrictEqual },
}
const known = new Map()
parentPort.on('message', ({ code, text }) => {
  let validate = known.get(code)
  if (!validate) {
    const module = { exports: {} }
    new Function('module', 'exports', 'require', code)(module, module.exports, (name) => parts[name])
    known.clear()
    known.set(code, (validate = module.exports.default))
  }
  const first = ${first.toString()}
  parentPort.postMessage(validate(JSON.parse(text)) ? [] : first(validate.errors))
  validate.errors = null
})`

/** Nothing else of them is told: an error holds the whole schema. It refers to nothing outside itself. */
function first(errors: unknown): SchemaProblem[] {
  return (errors as { instancePath: string; message?: string; params: Record<string, unknown> }[])
    .slice(0, 20)
    .map(({ instancePath, message, params }) => {
      const named = params['missingProperty'] ?? params['additionalProperty'] ?? params['propertyName']
      return {
        at: instancePath.slice(0, 1_000),
        says: params['missingProperty'] === undefined ? (message ?? 'does not fit').slice(0, 500) : 'is required',
        ...(typeof named === 'string' && { named: named.slice(0, 100) }),
      }
    })
}

interface Known {
  schema: object
  /** How many characters of a value are looked at on the spot. */
  atOnce: number
  code?: string
}

/** How the schemas of mounted servers are understood, which were not written for us: what is not known there says nothing. */
export const lenient: Options = { ...schemaRules, strict: false, validateFormats: false, inlineRefs: false, logger: false }

/** `rules`: how they are understood where they are not plain. `whose`: what is told of one that is too much. */
export function openSchemaChecks(rules: Options = schemaRules, whose = 'the schema of its template'): SchemaChecks {
  const known = new Map<string, Known>()
  const pool = openWorkerPool<Job, SchemaProblem[]>(program, { memoryMb })

  /** A run brings its template as it was handed in, as text each time: schemas that are the same are compiled once. */
  const knownAs = (schema: object): Known => {
    const text = JSON.stringify(schema)
    let found = known.get(text)
    if (!found) {
      const { schemas, isPlain, wrong } = lookThrough(schema)
      found = { schema, atOnce: isPlain && wrong.length === 0 ? atOnce / schemas : 0 }
    }
    known.delete(text)
    known.set(text, found)
    if (known.size > mostKnown) known.delete(known.keys().next().value as string)
    return found
  }
  const codeOf = (one: Known): string => {
    if (one.code !== undefined) return one.code
    // One for each: two schemas of others may go by the same `$id`.
    const ajv = new Ajv2020({ ...rules, code: { source: true } })
    try {
      return (one.code = standalone.default(ajv, ajv.compile(one.schema)))
    } catch (cause) {
      throw new Fault('unsupported', `It cannot be compared with ${whose}: ${(cause as Error).message.slice(0, 300)}`, { cause })
    }
  }
  return {
    async problems(schema, value, client) {
      const one = knownAs(schema)
      const text = JSON.stringify(value)
      if (text.length <= one.atOnce) {
        const validate = validatorOf(one.schema)
        return validate(value) ? [] : first(validate.errors)
      }
      return pool.run({
        job: { code: codeOf(one), text },
        client,
        timeoutMs: limitMs,
        late: () => tooMuch(whose),
        broken: () => tooMuch(whose),
      })
    },
    close: pool.close,
  }
}

function tooMuch(whose: string): Fault {
  return new Fault('over-limit', `Comparing it with ${whose} took more than ${limitMs} ms, or too much memory`, {
    details: { limitMs },
    hint: 'Take less at once, or make the schema simpler: patterns with nested repetition such as (a+)+ have no end.',
  })
}
