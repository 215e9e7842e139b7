import type { Definition } from '../contracts/mounts.ts'
import { risks, type Risk } from '../contracts/tool.ts'
import { canonical } from './canonical.ts'
import { printable } from './printable.ts'

/** What a server may define. */
export const definitionBounds = {
  tools: 512,
  /** One of them, as JSON. */
  characters: 65_536,
  depth: 24,
  /** Objects and lists in its schema, each of which may be tried on every value. */
  parts: 2_000,
  name: 200,
  description: 16_384,
} as const

/** Why a definition cannot be offered at all; nothing where it can. */
export function whyUnusable(definition: unknown): string | undefined {
  if (!isRecord(definition)) return 'it is no definition'
  const { name, inputSchema, description } = definition
  if (typeof name !== 'string' || name === '' || name.length > definitionBounds.name) return 'it has no name that can be used'
  if (description !== undefined && typeof description !== 'string') return 'its description is no text'
  if ((description ?? '').length > definitionBounds.description)
    return `its description has more than ${definitionBounds.description} characters`
  if (!isRecord(inputSchema) || inputSchema['type'] !== 'object') return 'its input is not described as an object'
  const weight = weigh(inputSchema)
  if (weight !== undefined) return weight
  return JSON.stringify(definition).length > definitionBounds.characters
    ? `it is longer than ${definitionBounds.characters} characters`
    : undefined
}

function weigh(schema: object): string | undefined {
  let parts = 0
  const left: { one: object; depth: number }[] = [{ one: schema, depth: 1 }]
  for (let next = left.pop(); next; next = left.pop()) {
    const { one, depth } = next
    if (depth > definitionBounds.depth) return `its input is nested deeper than ${definitionBounds.depth}`
    if (++parts > definitionBounds.parts) return `its input has more than ${definitionBounds.parts} parts`
    for (const [word, value] of Object.entries(one)) {
      if (/^\$(ref|dynamicRef|recursiveRef)$/.test(word) && !String(value).startsWith('#'))
        return 'its input refers to something outside of it'
      if (typeof value === 'object' && value !== null) left.push({ one: value as object, depth: depth + 1 })
    }
  }
  return undefined
}

/** Names a definition, whatever the order of its fields. */
export const canonicalDefinition = (definition: Definition): string => canonical(definition)

/** Words of a schema that are for readers only: there, what nobody sees is written out. All else must stay as it is. */
const words = new Set(['description', 'title', '$comment', 'markdownDescription'])

/** A schema as it is handed on. */
export function readableSchema(schema: unknown, word = ''): unknown {
  if (typeof schema === 'string') return words.has(word) ? printableWords(schema) : schema
  if (Array.isArray(schema)) return schema.map((one) => readableSchema(one))
  if (!isRecord(schema)) return schema
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, readableSchema(value, name)]))
}

/** Text of others for people and models alike: what cannot be seen is shown; lines stay lines. */
export const printableWords = (text: string): string => text.split(/\r?\n/).map(printable).join('\n')

/** Hands at a screen: whatever anybody says of such a tool, a person is asked. */
const desktop =
  /(^|[_.\-/\s])(desktop|computer|mouse|keyboard|click|double_?click|drag|type_?text|press_?key|key_?press|hotkey|send_?keys|screen|screenshot|window|cursor)([_.\-/\s]|$)/i

/** What acts on the person's own screen: it is asked about, and leaves a picture where the server returns one. */
export function actsOnScreen({ name, title }: Definition): boolean {
  const plain = `${name} ${typeof title === 'string' ? title : ''}`.replace(/([a-z])([A-Z])/g, '$1_$2')
  return desktop.test(plain)
}

/** The risk of a tool: what the person says of it, else R2; what the server says of it may only raise that. */
export function mountedRisk(definition: Definition, said: Readonly<Record<string, Risk>> = {}): Risk {
  const own = Object.hasOwn(said, definition.name) ? said[definition.name] : Object.hasOwn(said, '*') ? said['*'] : undefined
  const { annotations } = definition
  const hints = isRecord(annotations) ? annotations : {}
  const atLeast: Risk = hints['destructiveHint'] === true || actsOnScreen(definition) ? 'R2' : 'R0'
  return risks[Math.max(risks.indexOf(own ?? 'R2'), risks.indexOf(atLeast))] as Risk
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
