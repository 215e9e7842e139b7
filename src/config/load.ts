import { Config, type Origin, type Setting } from '../contracts/config.ts'
import type { ToolError } from '../contracts/errors.ts'
import type { Loosening } from '../contracts/project-settings.ts'
import { bad, isRecord, parseFile } from './parse.ts'
import { tighten, type Direction, type Inside } from './tighten.ts'

/** One layer of settings as it was found: the parsed file, or texts by flag or variable name. */
export interface Sources {
  user?: { name: string; text: string } | undefined
  project?: { name: string; text: string } | undefined
  environment?: Record<string, string | undefined>
  flags?: Record<string, string | boolean | undefined>
  /** What a person has let the project's file loosen, exactly as they saw it. */
  trusted?: readonly Pick<Loosening, 'key' | 'from' | 'to'>[]
  /** Looks at the folders themselves; without it none counts as inside another. */
  inside?: Inside
}

export interface LoadedConfig {
  config: Config
  settings: Setting[]
  /** What the project's file asks for beyond the rest, and what of it is not trusted and so does not count. */
  loosenings: Loosening[]
  ignored: Loosening[]
  /** What the project's file may not say at all. */
  refused: string[]
}

interface Leaf {
  key: string
  path: string[]
  flag: string
  env: string
  schema: LeafSchema
}

interface LeafSchema extends Direction {
  type?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  description?: string
  items?: { minLength?: number }
  properties?: Record<string, LeafSchema>
}

/** Every setting, with its flag and variable. Leaf names are unique, so neither needs the group's name. */
export const leaves: readonly Leaf[] = collect(Config as unknown as LeafSchema, [])

function collect(schema: LeafSchema, path: string[]): Leaf[] {
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== '$schema')
    .flatMap(([name, child]) => {
      const here = [...path, name]
      if (child.properties) return collect(child, here)
      const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      const env = `HANDRAIL_${words.replaceAll('-', '_').toUpperCase()}`
      return [{ key: here.join('.'), path: here, flag: words, env, schema: child }]
    })
}

/**
 * Merges defaults ← user ← project ← environment ← flags and remembers where each value came from. A project's file only tightens
 * what stands before it, save where a person has trusted it; what comes after it is the person's again.
 */
export function loadConfig(sources: Sources): LoadedConfig {
  const user = sources.user && parseFile(sources.user)
  const project = sources.project && parseFile(sources.project)
  const config: Record<string, unknown> = {}
  const loosenings: Loosening[] = []
  const ignored: Loosening[] = []
  const refused: string[] = []
  const settings = leaves.map((leaf): Setting => {
    let value = structuredClone(leaf.schema.default)
    let origin: Origin = 'default'
    const take = (found: unknown, from: Origin, where: string): void => {
      if (found === undefined) return
      value = checkLeaf(leaf, found, where)
      origin = from
    }
    take(dig(user, leaf.path), 'user', `${sources.user?.name}: ${leaf.key}`)
    const wanted = dig(project, leaf.path)
    if (wanted !== undefined && leaf.schema.tighter === 'person') refused.push(leaf.key)
    else if (wanted !== undefined) {
      checkLeaf(leaf, wanted, `${sources.project?.name}: ${leaf.key}`)
      const { value: tightened, loosening } = tighten(leaf.key, leaf.schema, value, wanted, sources.inside ?? (() => false))
      const granted = loosening !== undefined && (sources.trusted ?? []).some((one) => isSame(one, loosening))
      if (loosening) loosenings.push(loosening)
      if (loosening && !granted) ignored.push(loosening)
      if (!loosening || granted || JSON.stringify(tightened) !== JSON.stringify(value)) origin = 'project'
      value = granted ? wanted : tightened
    }
    // An empty variable is an unset one: it must not lift a list of what is forbidden.
    take(fromText(leaf, sources.environment?.[leaf.env] || undefined), 'environment', leaf.env)
    take(fromText(leaf, sources.flags?.[leaf.flag]), 'flag', `--${leaf.flag}`)
    put(config, leaf.path, value)
    return {
      key: leaf.key,
      flag: `--${leaf.flag}`,
      env: leaf.env,
      description: leaf.schema.description ?? '',
      value,
      origin,
    }
  })
  return { config: config as Config, settings, loosenings, ignored, refused }
}

function isSame(one: Pick<Loosening, 'key' | 'from' | 'to'>, other: Loosening): boolean {
  const asText = ({ key, from, to }: typeof one): string => JSON.stringify([key, from, to])
  return asText(one) === asText(other)
}

const longestList = 1_000
/** Longer than any name, address or path that somebody reads to its end. */
const longestEntry = 1_000
const longestText = 4_096

function checkLeaf(leaf: Leaf, value: unknown, where: string): unknown {
  const { schema } = leaf
  const wrong = (want: string): ToolError =>
    bad(`${where} must be ${want}, not ${JSON.stringify(value).slice(0, 200)}`, `${leaf.key}: ${schema.description ?? ''}`)
  if (schema.const !== undefined && value !== schema.const) throw wrong(JSON.stringify(schema.const))
  if (schema.enum && !schema.enum.includes(value)) throw wrong(`one of ${schema.enum.join(', ')}`)
  if (schema.type === 'string' && typeof value !== 'string') throw wrong('a text')
  if (typeof value === 'string' && value.length > longestText)
    throw bad(`${where} is ${value.length} characters long`, `It may have ${longestText}.`)
  if (schema.type === 'boolean' && typeof value !== 'boolean') throw wrong('true or false')
  if (schema.type === 'integer' && (!Number.isSafeInteger(value) || (value as number) < (schema.minimum ?? 0)))
    throw wrong(`a whole number of at least ${schema.minimum ?? 0}`)
  if (schema.type === 'array') {
    const fits =
      Array.isArray(value) && value.every((item) => typeof item === 'string' && item.length >= (schema.items?.minLength ?? 0))
    if (!fits) throw wrong('a list of texts')
    if (value.length > longestList) throw bad(`${where} has ${value.length} entries`, `It may have ${longestList}.`)
    const long = (value as string[]).find((item) => item.length > longestEntry)
    if (long !== undefined)
      throw bad(
        `${where} has an entry of ${long.length} characters`,
        `One may have ${longestEntry}; it begins ${JSON.stringify(long.slice(0, 60))}.`,
      )
  }
  return value
}

/** A flag or variable as the leaf's type: lists are separated by commas, `--flag` alone is true. */
function fromText(leaf: Leaf, text: string | boolean | undefined): unknown {
  if (text === undefined || typeof text === 'boolean') return text
  const { type } = leaf.schema
  if (type === 'boolean')
    return text === '' || /^(1|true|yes|on)$/i.test(text) ? true : /^(0|false|no|off)$/i.test(text) ? false : text
  if (type === 'integer') return /^-?\d+$/.test(text.trim()) ? Number(text) : text
  if (type === 'array')
    return text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean)
  return text
}

function dig(from: unknown, path: string[]): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), from)
}

function put(into: Record<string, unknown>, path: string[], value: unknown): void {
  const last = path.at(-1) as string
  let at = into
  for (const name of path.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>
  at[last] = value
}
