import { isDeepStrictEqual } from 'node:util'
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'
import type { Entry } from '../contracts/clients.ts'
import { ownFields } from '../text/client-start.ts'
import { broken, renewed, unsafe, type EntryPlace } from './client-config-entry.ts'
import { insertProperty, layoutOf, removeProperty, replaceValue, written } from './jsonc-edits.ts'

type Servers = Record<string, Record<string, unknown>>
type Settings = Record<string, Servers>

/** The text with the entry in it. Comments, order, indentation and everything of others stay to the byte. */
export function putJson(place: EntryPlace, entry: Entry): string {
  const { client, name } = place
  const { mark, body } = splitMark(place.text)
  const { tree, settings } = readSettings(place, body)
  const servers = settings[client.key] ?? {}
  const old = Object.hasOwn(servers, name) ? servers[name] : undefined
  const wanted = old ? renewed(old, entry, place) : { ...entry, ...client.extras }
  if (isDeepStrictEqual(old, wanted)) return place.text
  const after = old ? renewEntry(place, body, old, entry) : addEntry(place, body, tree, wanted)
  return mark + checked(place, after, { ...settings, [client.key]: { ...servers, [name]: wanted } })
}

/** The text without the entry; the same text where it holds none. */
export function takeJson(place: EntryPlace): string {
  const { client, name } = place
  const { mark, body } = splitMark(place.text)
  const { tree, settings } = readSettings(place, body)
  const property = tree && findNodeAtLocation(tree, [client.key, name])?.parent
  if (!property) return place.text
  const { [name]: _, ...others } = settings[client.key] as Servers
  return mark + checked(place, removeProperty(body, property), { ...settings, [client.key]: others })
}

/** The entry as it stands, without what is between its lines; nothing where there is none. */
export function showJson(place: EntryPlace): string | undefined {
  const { settings } = readSettings(place, splitMark(place.text).body)
  const servers = settings[place.client.key] ?? {}
  return Object.hasOwn(servers, place.name) ? JSON.stringify({ [place.name]: servers[place.name] }, undefined, 2) : undefined
}

function addEntry({ client, name }: EntryPlace, body: string, tree: Node | undefined, entry: Record<string, unknown>): string {
  const layout = layoutOf(body)
  const servers = tree && findNodeAtLocation(tree, [client.key])
  if (servers) return insertProperty(body, servers, name, entry, layout)
  if (tree) return insertProperty(body, tree, client.key, { [name]: entry }, layout)
  const fresh = written({ [client.key]: { [name]: entry } }, '', layout) + layout.eol
  return body.trim() === '' ? fresh : body.trimEnd() + layout.eol + fresh
}

/** Field by field, so that what a person wrote beside ours keeps its place. */
function renewEntry(place: EntryPlace, body: string, old: Record<string, unknown>, entry: Entry): string {
  const { client, name } = place
  const layout = layoutOf(body)
  let text = body
  for (const field of ownFields(client)) {
    if (isDeepStrictEqual(old[field], entry[field])) continue
    const tree = readSettings(place, text).tree as Node
    const node = findNodeAtLocation(tree, [client.key, name, field])
    if (!node) text = insertProperty(text, findNodeAtLocation(tree, [client.key, name]) as Node, field, entry[field], layout)
    else if (field in entry) text = replaceValue(text, node, entry[field], layout)
    else text = removeProperty(text, node.parent as Node)
  }
  return text
}

/** A byte order mark is kept, but is no part of JSON. */
function splitMark(text: string): { mark: string; body: string } {
  return text.startsWith('\uFEFF') ? { mark: '\uFEFF', body: text.slice(1) } : { mark: '', body: text }
}

/** What the text says. The last of two equal keys counts, as in every client. */
function readSettings({ client, file, name }: EntryPlace, text: string): { tree: Node | undefined; settings: Settings } {
  const errors: ParseError[] = []
  const tree = parse(text, errors, file)
  const [first] = errors
  // A file that holds nothing, or comments only.
  const empty = tree === undefined && first !== undefined && printParseErrorCode(first.error) === 'ValueExpected'
  if (first && !empty) throw broken(file, `${placeOf(text, first.offset)}: ${words(printParseErrorCode(first.error))}`)
  if (!tree) return { tree, settings: {} }
  if (tree.type !== 'object') throw broken(file, 'it holds no JSON object')
  for (const path of [[client.key], [client.key, name]]) {
    const node = findNodeAtLocation(tree, path)
    if (node && node.type !== 'object') throw broken(file, `"${path.join('.')}" is not an object`)
  }
  // Through JSON and back, so that all objects are of one kind and a key such as `__proto__` is a key.
  return { tree, settings: JSON.parse(JSON.stringify(getNodeValue(tree))) as Settings }
}

function parse(text: string, errors: ParseError[], file: string): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, disallowComments: false })
  } catch (cause) {
    // The parser calls itself for every level.
    if (cause instanceof RangeError) throw broken(file, 'it is nested too deep')
    throw cause
  }
}

function placeOf(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

/** `CommaExpected` as words. */
const words = (code: string): string => code.replace(/\B[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()

/** Nothing leaves here that does not say exactly what was wanted. */
function checked(place: EntryPlace, text: string, wanted: Settings): string {
  if (isDeepStrictEqual(readSettings(place, text).settings, wanted)) return text
  throw unsafe(place, 'Does a key stand twice in it?')
}
