/** `{{name}}` in what a skill gives a tool. */
const placeholder = /\{\{\s*([A-Za-z_]\w{0,63})\s*\}\}/g

/** The names of all places in a value. */
export function placeholdersIn(value: unknown): string[] {
  if (typeof value === 'string') return [...value.matchAll(placeholder)].map(([, name]) => name as string)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(placeholdersIn) : []
}

/** The value with its places filled, in one pass: a text that is nothing but a place becomes the value itself, of whatever kind. */
export function fillPlaceholders(value: unknown, given: Readonly<Record<string, unknown>>): unknown {
  if (typeof value === 'string') {
    const [, only] = /^\{\{\s*([A-Za-z_]\w{0,63})\s*\}\}$/.exec(value) ?? []
    if (only !== undefined && Object.hasOwn(given, only)) return given[only]
    return value.replace(placeholder, (whole, name: string) => {
      const found = Object.hasOwn(given, name) ? given[name] : undefined
      return found === undefined ? whole : typeof found === 'string' ? found : JSON.stringify(found)
    })
  }
  if (Array.isArray(value)) return value.map((one) => fillPlaceholders(one, given))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillPlaceholders(one, given)]))
}
