import { Config, personalSettings, type Origin, type Setting } from '../contracts/config.ts'
import { ToolError } from '../contracts/errors.ts'

/** One layer of settings as it was found: the parsed file, or texts by flag or variable name. */
export interface Sources {
  user?: { name: string; text: string } | undefined
  project?: { name: string; text: string } | undefined
  environment?: Record<string, string | undefined>
  flags?: Record<string, string | boolean | undefined>
}

export interface LoadedConfig {
  config: Config
  settings: Setting[]
}

interface Leaf {
  key: string
  path: string[]
  flag: string
  env: string
  schema: LeafSchema
}

interface LeafSchema {
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

/** Merges defaults ← user ← project ← environment ← flags and remembers where each value came from. */
export function loadConfig(sources: Sources): LoadedConfig {
  const user = sources.user && parseFile(sources.user)
  const project = sources.project && parseFile(sources.project)
  const config: Record<string, unknown> = {}
  const settings = leaves.map((leaf): Setting => {
    let value = structuredClone(leaf.schema.default)
    let origin: Origin = 'default'
    const take = (found: unknown, from: Origin, where: string): void => {
      if (found === undefined) return
      value = checkLeaf(leaf, found, where)
      origin = from
    }
    take(dig(user, leaf.path), 'user', `${sources.user?.name}: ${leaf.key}`)
    const ofProject = dig(project, leaf.path)
    if (ofProject !== undefined && personalSettings.includes(leaf.key)) throw notOfAProject(leaf, sources.project?.name ?? '')
    take(ofProject, 'project', `${sources.project?.name}: ${leaf.key}`)
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
  return { config: config as Config, settings }
}

function parseFile(file: { name: string; text: string }): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(file.text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    throw bad(
      `${file.name} is not valid JSON: ${(cause as Error).message}`,
      'Correct the file, or remove it to use the defaults.',
    )
  }
  if (!isRecord(value)) throw bad(`${file.name} must hold a JSON object`, 'See docs/reference/config.md for every field.')
  refuseUnknown(value, Config as unknown as LeafSchema, file.name, '')
  return value
}

/** A misspelt safety setting must not be ignored in silence. */
function refuseUnknown(value: Record<string, unknown>, schema: LeafSchema, file: string, prefix: string): void {
  for (const [name, child] of Object.entries(value)) {
    const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (!known)
      throw bad(`${file}: unknown setting "${prefix}${name}"`, `Known here: ${Object.keys(schema.properties ?? {}).join(', ')}.`)
    if (!known.properties) continue
    if (!isRecord(child)) throw bad(`${file}: "${prefix}${name}" must be an object`, 'See docs/reference/config.md.')
    refuseUnknown(child, known, file, `${prefix}${name}.`)
  }
}

function checkLeaf(leaf: Leaf, value: unknown, where: string): unknown {
  const { schema } = leaf
  const wrong = (want: string): ToolError =>
    bad(`${where} must be ${want}, not ${JSON.stringify(value)}`, `${leaf.key}: ${schema.description ?? ''}`)
  if (schema.const !== undefined && value !== schema.const) throw wrong(JSON.stringify(schema.const))
  if (schema.enum && !schema.enum.includes(value)) throw wrong(`one of ${schema.enum.join(', ')}`)
  if (schema.type === 'string' && typeof value !== 'string') throw wrong('a text')
  if (schema.type === 'boolean' && typeof value !== 'boolean') throw wrong('true or false')
  if (schema.type === 'integer' && (!Number.isSafeInteger(value) || (value as number) < (schema.minimum ?? 0)))
    throw wrong(`a whole number of at least ${schema.minimum ?? 0}`)
  if (schema.type === 'array') {
    const fits =
      Array.isArray(value) && value.every((item) => typeof item === 'string' && item.length >= (schema.items?.minLength ?? 0))
    if (!fits) throw wrong('a list of texts')
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

function notOfAProject({ key, flag }: Leaf, file: string): ToolError {
  return bad(
    `${file}: "${key}" names programs or folders of your machine, which a project may not`,
    `Take it out there. Where you want it, put it into your own settings file, or start Handrail with --${flag}.`,
  )
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(message: string, hint: string): ToolError {
  return new ToolError('E_BAD_ARGS', message, { hint })
}
