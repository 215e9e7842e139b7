import { bridgeBounds } from '../../contracts/bridge.ts'
import { checkNames, type CheckName } from '../../contracts/diagnostic.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { isFields } from './request.ts'

type Fields = Readonly<Record<string, unknown>>

const mostWords = 512
const longestWord = 32_768

const wrong = (message: string, hint?: string): Fault => new Fault('bad-input', message, hint === undefined ? {} : { hint })

/** Params as an object. Fields that nobody here knows are left alone: newer clients may send more. */
export function fieldsIn(params: unknown): Fields {
  if (params === undefined) return {}
  if (!isFields(params)) throw wrong('params must be an object')
  return params
}

/** A whole number from 1 on; one beyond its bounds counts as the nearest of them. */
export function numberIn(
  fields: Fields,
  name: string,
  { least = 1, preset, most }: { least?: number; preset: number; most: number },
  of = 'params',
): number {
  const given = fields[name]
  if (given === undefined) return preset
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 1)
    throw wrong(`${of}.${name} must be a whole number from 1 to ${most}`)
  return Math.max(least, Math.min(given, most))
}

export function checksIn(fields: Fields): CheckName[] {
  const { checks } = fields
  if (!Array.isArray(checks)) throw wrong('params.checks must be an array')
  if (checks.length > 16) throw wrong('params.checks may name 16 checks at most')
  const unknown = checks.find((one) => !checkNames.includes(one as CheckName)) as unknown
  if (unknown !== undefined || checks.includes(undefined))
    throw wrong(`params.checks may hold ${checkNames.map((one) => `"${one}"`).join(', ')} only`)
  return checks as CheckName[]
}

/** The words of a command, without empty ones. */
export function argvIn({ argv }: Fields): string[] {
  if (!Array.isArray(argv) || argv.some((one) => typeof one !== 'string')) throw wrong('params.argv must be an array of texts')
  if (argv.length > mostWords || argv.some((one: string) => one.length > longestWord))
    throw wrong(`params.argv may have ${mostWords} words of ${longestWord} characters`)
  const words = (argv as string[]).map((one) => one.trim()).filter((one) => one !== '')
  if (words.some((one) => one.includes('\0'))) throw wrong('params.argv holds a NUL character')
  return words
}

export function switchIn(fields: Fields, name: string, preset: boolean): boolean {
  const given = fields[name] ?? preset
  if (typeof given !== 'boolean') throw wrong(`params.${name} must be true or false`)
  return given
}

export interface TraceAsked {
  maxBytes: number
  chunkBytes: number
}

/** How a trace is wanted; nothing where it is not. */
export function traceIn({ trace }: Fields): TraceAsked | undefined {
  if (trace === undefined) return undefined
  if (!isFields(trace)) throw wrong('params.trace must be an object')
  if (typeof trace['enabled'] !== 'boolean') throw wrong('params.trace.enabled must be true or false')
  const asked = {
    maxBytes: numberIn(trace, 'maxBytes', bridgeBounds.traceMaxBytes, 'params.trace'),
    chunkBytes: numberIn(trace, 'chunkBytes', bridgeBounds.traceChunkBytes, 'params.trace'),
  }
  return trace['enabled'] ? asked : undefined
}

export function targetIn({ targetRequestId: target }: Fields): string {
  if (typeof target !== 'string' || target === '' || target.length > 128)
    throw wrong('params.targetRequestId must be the id of a request')
  return target
}
