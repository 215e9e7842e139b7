import { Config, type SettingOrigin, type Setting } from '../contracts/config.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Loosening } from '../contracts/project-settings.ts'
import { checkSettings, type Schema } from './check.ts'
import { isRecord, parseFile } from './parse.ts'
import { tighten, type Inside } from './tighten.ts'

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
  /** What the project's file tightens does not count; what it was trusted to loosen does. */
  untightened?: boolean | undefined
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
  schema: Schema
}

const schema = Config as unknown as Schema

/** Every setting, with its flag and variable. Leaf names are unique, so neither needs the group's name. */
export const leaves: readonly Leaf[] = collect(schema, [])

function collect(schema: Schema, path: string[]): Leaf[] {
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
  const refused: string[] = []
  const user = sources.user && inFile(sources.user)
  const project = sources.project && inFile(sources.project, refused)
  // An empty variable is an unset one: it must not lift a list of what is forbidden.
  const environment = inWords(
    (leaf) => sources.environment?.[leaf.env] || undefined,
    (leaf) => leaf.env,
  )
  const shown = leaves.find((leaf) => leaf.schema.secret && sources.flags?.[leaf.flag] !== undefined)
  if (shown)
    throw new Fault('bad-input', `--${shown.flag} would show a secret to every process of this machine`, {
      hint: `Set ${shown.key} in your own settings (~/.config/handrail/config.json), or ${shown.env} in the environment.`,
    })
  const flags = inWords(
    (leaf) => sources.flags?.[leaf.flag],
    (leaf) => `--${leaf.flag}`,
  )
  const config: Record<string, unknown> = {}
  const loosenings: Loosening[] = []
  const ignored: Loosening[] = []
  const settings = leaves.map((leaf): Setting => {
    let value = leaf.key === 'lang' ? languageOf(sources.environment, leaf.schema.default) : structuredClone(leaf.schema.default)
    let origin: SettingOrigin = 'default'
    const take = (layer: Layer | undefined, from: SettingOrigin): void => {
      const found = dig(layer, leaf.path)
      if (found === undefined) return
      value = found
      origin = from
    }
    take(user, 'user')
    const wanted = dig(project, leaf.path)
    if (wanted !== undefined) {
      const {
        value: tightened,
        loosening,
        whole,
      } = tighten(leaf.key, leaf.schema, value, wanted, sources.inside ?? (() => false))
      const granted = loosening !== undefined && (sources.trusted ?? []).some((one) => isSame(one, loosening))
      if (loosening) loosenings.push(loosening)
      if (loosening && !granted) ignored.push(loosening)
      const binds = leaf.schema.tighter === 'neutral' || sources.untightened !== true
      if (granted || (binds && (!loosening || JSON.stringify(tightened) !== JSON.stringify(value)))) origin = 'project'
      value = granted ? (whole ?? wanted) : binds ? tightened : value
    }
    take(environment, 'environment')
    take(flags, 'flag')
    put(config, leaf.path, value)
    return {
      key: leaf.key,
      flag: `--${leaf.flag}`,
      env: leaf.env,
      description: leaf.schema.description ?? '',
      // Whoever looks at the settings sees that there is one.
      value: leaf.schema.secret ? thatIs(value) : value,
      origin,
    }
  })
  return { config: config as Config, settings, loosenings, ignored, refused }
}

/** English where the system speaks it; a locale that names no language says nothing. */
function languageOf(environment: Sources['environment'], otherwise: unknown): unknown {
  const locale = environment?.['LC_ALL'] || environment?.['LC_MESSAGES'] || environment?.['LANG'] || ''
  return /^en(?![a-z])/i.test(locale) ? 'EN' : otherwise
}

/** That there is one, and of a table the names in it. */
function thatIs(secret: unknown): unknown {
  if (isRecord(secret)) return Object.keys(secret)
  return secret === '' ? secret : '(set)'
}

function isSame(one: Pick<Loosening, 'key' | 'from' | 'to'>, other: Loosening): boolean {
  const asText = ({ key, from, to }: typeof one): string => JSON.stringify([key, from, to])
  return asText(one) === asText(other)
}

/** What one layer says, checked. */
type Layer = Record<string, unknown>

/** What a file says. What only the person may say is taken out of a project's, and named. */
function inFile(file: { name: string; text: string }, refused?: string[]): Layer {
  const said = parseFile(file)
  // The commands' own section: they check it themselves (surfaces/cli/plane/config.ts), and it loosens nothing.
  if (refused) delete said['cli']
  for (const { key, path, schema: leaf } of refused ? leaves : []) {
    if (leaf.tighter !== 'person' || dig(said, path) === undefined) continue
    refused?.push(key)
    delete (dig(said, path.slice(0, -1)) as Layer)[path.at(-1) as string]
  }
  for (const { path, schema: leaf } of leaves) {
    const value = leaf.enum && dig(said, path)
    if (typeof value === 'string') put(said, path, spelled(leaf, value))
  }
  checkSettings(schema, said, (key) => `${file.name}: ${key}`)
  return said
}

/** What flags or variables say. */
function inWords(textOf: (leaf: Leaf) => string | boolean | undefined, nameOf: (leaf: Leaf) => string): Layer {
  const said: Layer = {}
  for (const leaf of leaves) {
    const value = fromText(leaf, textOf(leaf))
    if (value === undefined) continue
    checkSettings(leaf.schema, value, () => nameOf(leaf), leaf.key)
    put(said, leaf.path, value)
  }
  return said
}

/** A flag or variable as the leaf's type: lists are separated by commas, `--flag` alone is true. */
function fromText(leaf: Leaf, text: string | boolean | undefined): unknown {
  if (text === undefined || typeof text === 'boolean') return text
  const { type } = leaf.schema
  if (type === 'boolean')
    return text === '' || /^(1|true|yes|on)$/i.test(text) ? true : /^(0|false|no|off)$/i.test(text) ? false : text
  if (type === 'integer') return /^-?\d+$/.test(text.trim()) ? Number(text) : text
  if (type === 'object') return jsonIn(text)
  if (type === 'array')
    return text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean)
  return spelled(leaf.schema, text)
}

/** One of a few words, in whichever case it was written. */
function spelled({ enum: known = [] }: Schema, text: string): string {
  return (known.find((one) => typeof one === 'string' && one.toLowerCase() === text.toLowerCase()) as string | undefined) ?? text
}

/** A table as a variable says it; what cannot be read is told as what it is not. */
function jsonIn(text: string): unknown {
  try {
    return parseFile({ name: 'it', text })
  } catch {
    return text
  }
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
