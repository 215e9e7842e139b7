import { PlaneFault } from './plane-fault.ts'
import { configKeys, kindOf } from './options.ts'

type Values = Record<string, unknown>

/** The section `cli` of handrail.config.json. */
export interface CliSection {
  schemaVersion: 1
  defaults?: Values
  profiles?: Record<string, Values>
}

export type ReadSection = { found: false } | { found: true; section: CliSection } | { found: true; wrong: string }

const isRecord = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the settings file says of the commands; wrong where anything in it is not known, writing above all. */
export function readSection(text: string | undefined): ReadSection {
  if (text === undefined) return { found: false }
  let file: unknown
  try {
    file = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    return { found: true, wrong: `handrail.config.json is not valid JSON: ${(cause as Error).message.slice(0, 120)}` }
  }
  const section = isRecord(file) ? file['cli'] : undefined
  if (section === undefined) return { found: false }
  const wrong = wrongIn(section)
  return wrong === undefined ? { found: true, section: section as unknown as CliSection } : { found: true, wrong }
}

function wrongIn(section: unknown): string | undefined {
  if (!isRecord(section)) return 'cli must be an object'
  if (section['schemaVersion'] !== 1) return 'cli.schemaVersion must be 1'
  const unknown = Object.keys(section).find((key) => !['schemaVersion', 'defaults', 'profiles'].includes(key))
  if (unknown !== undefined) return `Unknown key: cli.${unknown.slice(0, 60)}`
  const { defaults = {}, profiles = {} } = section
  if (!isRecord(profiles)) return 'cli.profiles must be an object'
  for (const [where, values] of [
    ['defaults', defaults],
    ...Object.entries(profiles).map(([name, one]) => [`profiles.${name}`, one] as const),
  ] as const) {
    if (!isRecord(values)) return `cli.${where} must be an object`
    for (const [key, value] of Object.entries(values)) {
      if (key === 'mode') return `cli.${where}.mode: writing is never switched on by a settings file`
      if (!configKeys.has(key)) return `Unknown key: cli.${where}.${key.slice(0, 60)}`
      if (!fits(key, value)) return `cli.${where}.${key} has a value it cannot have`
    }
  }
  return undefined
}

function fits(key: string, value: unknown): boolean {
  const kind = kindOf(key)
  if (kind === 'switch') return typeof value === 'boolean'
  if (kind === 'number') return Number.isInteger(value) && (value as number) >= 0
  return typeof value === 'string' || Array.isArray(value)
}

/** Settings become words that stand before those that were typed, so that the same rules hold for both and the last one wins. */
export function prefixOf(
  read: ReadSection,
  profile: string | undefined,
  takes: (key: string) => boolean,
): { prefix: string[]; layers: string[] } {
  if ('wrong' in read) throw new PlaneFault('CLI_INVALID_INPUT', read.wrong, 'Correct the section cli of handrail.config.json.')
  if (!read.found) {
    if (profile !== undefined) throw new PlaneFault('CLI_INVALID_INPUT', '--profile: handrail.config.json has no section cli')
    return { prefix: [], layers: [] }
  }
  const { defaults, profiles = {} } = read.section
  if (profile !== undefined && !Object.hasOwn(profiles, profile))
    throw new PlaneFault(
      'CLI_INVALID_INPUT',
      `No such profile: ${profile.slice(0, 60)}`,
      `There are: ${Object.keys(profiles).toSorted().join(', ') || 'none'}.`,
    )
  const words = (values: Values = {}): string[] =>
    Object.entries(values)
      .filter(([key]) => takes(key))
      .map(([key, value]) => `--${value === false ? `no-${key}` : key}${typeof value === 'boolean' ? '' : `=${asText(value)}`}`)
  return {
    prefix: [...words(defaults), ...words(profile === undefined ? undefined : profiles[profile])],
    layers: [...(defaults ? ['defaults'] : []), ...(profile === undefined ? [] : [`profile:${profile}`])],
  }
}

const asText = (value: unknown): string =>
  Array.isArray(value)
    ? value.every((one) => typeof one === 'string')
      ? value.join(',')
      : JSON.stringify(value)
    : String(value as string | number)
