import { Config } from '../contracts/config.ts'
import { ToolError } from '../contracts/errors.ts'

const deepest = 8

interface Group {
  properties?: Record<string, Group>
}

/** The settings in a file. What could be read in two ways, or is not known, is refused: a safety setting must not be lost in silence. */
export function parseFile(file: { name: string; text: string }): Record<string, unknown> {
  const text = file.text.replace(/^\uFEFF/, '')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw bad(
      `${file.name} is not valid JSON: ${(cause as Error).message.slice(0, 200)}`,
      'Correct the file, or remove it to use the defaults.',
    )
  }
  if (!isRecord(value)) throw bad(`${file.name} must hold a JSON object`, 'See docs/reference/config.md for every field.')
  refuseOdd(text, file.name)
  refuseUnknown(value, Config as unknown as Group, file.name, '')
  return value
}

/** A name that is said twice, where readers and programs disagree which one counts, and depth that no setting has. */
function refuseOdd(text: string, file: string): void {
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '{' || sign === '[') {
      open.push(sign === '{' ? new Set() : undefined)
      if (open.length > deepest) throw bad(`${file} is nested more than ${deepest} deep`, 'See docs/reference/config.md.')
    } else if (sign === '}' || sign === ']') open.pop()
    else if (sign === '"') {
      const start = at++
      for (; text[at] !== '"'; at++) if (text[at] === '\\') at++
      let after = at + 1
      while (' \t\r\n'.includes(text[after] ?? '.')) after++
      if (text[after] !== ':') continue
      const key = JSON.parse(text.slice(start, at + 1)) as string
      if (open.at(-1)?.has(key)) throw bad(`${file} says "${key.slice(0, 100)}" twice`, 'Take one of the two out.')
      open.at(-1)?.add(key)
    }
  }
}

function refuseUnknown(value: Record<string, unknown>, schema: Group, file: string, prefix: string): void {
  for (const [name, child] of Object.entries(value)) {
    const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (!known)
      throw bad(
        `${file}: unknown setting "${prefix}${name.slice(0, 100)}"`,
        `Known here: ${Object.keys(schema.properties ?? {}).join(', ')}.`,
      )
    if (!known.properties) continue
    if (!isRecord(child)) throw bad(`${file}: "${prefix}${name}" must be an object`, 'See docs/reference/config.md.')
    refuseUnknown(child, known, file, `${prefix}${name}.`)
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function bad(message: string, hint: string): ToolError {
  return new ToolError('E_BAD_ARGS', message, { hint })
}
