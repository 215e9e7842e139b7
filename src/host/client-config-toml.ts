import { isDeepStrictEqual } from 'node:util'
import { parse, stringify, TomlError } from 'smol-toml'
import type { Client, Entry, EntryValue } from '../contracts/clients.ts'
import { ownFields } from '../text/client-start.ts'
import { broken, renewed, unsafe, type EntryPlace } from './client-config-entry.ts'
import { readStatements, type TomlStatement } from './toml-statements.ts'

type Table = Record<string, unknown>

/** The text with the entry as a table of its own. Every other byte stays. */
export function putToml(place: EntryPlace, entry: Entry): string {
  const { text, client, name } = place
  const settings = readSettings(place, text)
  const servers = tableAt(settings, client.key)
  const old = tableAt(servers, name)
  const wanted = old ? renewed(old, entry, place) : { ...entry, ...client.extras }
  if (isDeepStrictEqual(old, wanted)) return text
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const fields = fieldsOf(readStatements(text), [client.key, name])
  const after =
    old && fields
      ? renewTable(text, fields, old, entry, client, eol)
      : append(text, `[${client.key}.${name}]${eol}${lines({ ...entry, ...client.extras }, eol)}`, eol)
  return checked(place, after, [{ ...settings, [client.key]: { ...servers, [name]: wanted } }])
}

/** The text without the entry's table and what hangs on it; the same text where it holds none. */
export function takeToml(place: EntryPlace): string {
  const { text, client, name } = place
  const settings = readSettings(place, text)
  const servers = tableAt(settings, client.key)
  if (!servers || !Object.hasOwn(servers, name)) return text
  const after = withoutTable(text, readStatements(text), [client.key, name])
  const { [name]: _, ...others } = servers
  const { [client.key]: __, ...rest } = settings
  // The table around it is gone with it where it had no header of its own.
  const gone = Object.keys(others).length === 0 ? [rest] : []
  return checked(place, after, [{ ...rest, [client.key]: others }, ...gone])
}

/** The entry as it stands, without what is between its lines; nothing where there is none. */
export function showToml(place: EntryPlace): string | undefined {
  const { client, name } = place
  const entry = tableAt(tableAt(readSettings(place, place.text), client.key), name)
  return entry && stringify({ [client.key]: { [name]: entry } }).trimEnd()
}

const isInside = (table: string[], path: string[]): boolean => path.every((name, index) => table[index] === name)

/** The header of a table and its fields, in order. */
function fieldsOf(statements: TomlStatement[], path: string[]): TomlStatement[] | undefined {
  const first = statements.findIndex((one) => one.header === 'table' && isDeepStrictEqual(one.table, path))
  if (first < 0) return undefined
  const next = statements.findIndex((one, index) => index > first && one.header)
  return statements.slice(first, next < 0 ? undefined : next)
}

/** Sets our fields inside a table that is there: in their old place, or after the last field. */
function renewTable(text: string, fields: TomlStatement[], old: Table, entry: Entry, client: Client, eol: string): string {
  const own = ownFields(client)
  const missing = Object.fromEntries(Object.entries(entry).filter(([field]) => !Object.hasOwn(old, field)))
  const { end } = fields.at(-1) as TomlStatement
  const parted = Object.keys(missing).length > 0 && !text.slice(0, end).endsWith('\n')
  let after = text.slice(0, end) + (parted ? eol : '') + lines(missing, eol) + text.slice(end)
  // From the back, so that the places of those before stay right.
  for (const { key, from, to, start, end } of fields.toReversed()) {
    const field = key?.[0]
    if (field === undefined || !own.includes(field) || isDeepStrictEqual(old[field], entry[field])) continue
    const value = entry[field]
    after =
      value === undefined
        ? after.slice(0, start) + after.slice(end)
        : `${after.slice(0, from)}${field} = ${literal(value)}${after.slice(to)}`
  }
  return after
}

function append(text: string, table: string, eol: string): string {
  if (text === '' || text === '\uFEFF') return text + table
  const ended = text.endsWith('\n') ? text : text + eol
  return `${ended}${/\n\r?\n$/.test(ended) ? '' : eol}${table}`
}

/** Runs of ours go from header to last field, with the one empty line before. Comments after the last field stay: they speak of what comes next. */
function withoutTable(text: string, statements: TomlStatement[], path: string[]): string {
  const runs: { start: number; end: number; last: number }[] = []
  statements.forEach(({ table, start, end }, index) => {
    if (!isInside(table, path)) return
    const open = runs.at(-1)
    if (open?.last === index - 1) Object.assign(open, { end, last: index })
    else runs.push({ start, end, last: index })
  })
  let after = text
  for (const { start, end } of runs.toReversed()) after = after.slice(0, start).replace(/(?<=\n)\r?\n$/, '') + after.slice(end)
  return after
}

const lines = (entry: Entry, eol: string): string =>
  Object.entries(entry)
    .map(([field, value]) => `${field} = ${literal(value)}${eol}`)
    .join('')

function literal(value: EntryValue): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'object')
    return `{ ${Object.entries(value)
      .map((pair) => pair.map(literal).join(' = '))
      .join(', ')} }`
  // JSON's string is TOML's basic string, but for one sign.
  return typeof value === 'string' ? JSON.stringify(value).replaceAll('\u007f', '\\u007f') : String(value)
}

function tableAt(table: Table | undefined, name: string): Table | undefined {
  return table && Object.hasOwn(table, name) ? (table[name] as Table) : undefined
}

function readSettings({ client, file, name }: EntryPlace, text: string): Table {
  const settings = parseToml(text, file)
  const servers = tableAt(settings, client.key)
  if (servers !== undefined && !isTable(servers)) throw broken(file, `${client.key} is not a table`)
  const entry = tableAt(servers, name)
  if (entry !== undefined && !isTable(entry)) throw broken(file, `${client.key}.${name} is not a table`)
  return settings
}

function parseToml(text: string, file: string): Table {
  try {
    // Copied, so that all objects are of one kind.
    return structuredClone(parse(text.replace(/^\uFEFF/, ''), { integersAsBigInt: 'asNeeded' }))
  } catch (cause) {
    if (cause instanceof TomlError) {
      const [why = ''] = cause.message.replace(/^Invalid TOML document: /, '').split('\n')
      throw broken(file, `line ${cause.line}, column ${cause.column}: ${why}`, cause)
    }
    if (cause instanceof RangeError) throw broken(file, 'it is nested too deep', cause)
    throw cause
  }
}

function isTable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** Nothing leaves here that does not say exactly what was wanted. */
function checked(place: EntryPlace, text: string, wanted: Table[]): string {
  let says: Table | undefined
  try {
    says = parseToml(text, place.file)
  } catch {
    // Not TOML any more: refused below.
  }
  if (wanted.some((one) => isDeepStrictEqual(says, one))) return text
  throw unsafe(place, `Only a table of its own, [${place.client.key}.${place.name}], is changed.`)
}
