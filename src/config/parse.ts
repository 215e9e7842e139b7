import { bad } from './check.ts'

const deepest = 8

/** What a file says. What could be read in two ways is refused: a safety setting must not be lost in silence. */
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

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
