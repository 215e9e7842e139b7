import type { Mount } from '../../contracts/mounts.ts'
import { isSecretName } from '../../text/redact/names.ts'

/** Short words are in everything. */
const shortest = 8
const schemes = /^(bearer|basic|token|apikey)\s+/i

/**
 * The words a mounted server is given to sign in with: what stands under a name that says so, in its address too, and what was taken from
 * a variable of the person's into a header. Servers repeat them, above all in their errors, and an agent must not read them there.
 */
export function signInWords({ headers = {}, env = {}, url }: Mount, filled: Readonly<Record<string, string>>): string[] {
  const found = Object.entries(filled).flatMap(([name, value]) => {
    const said = headers[name] ?? env[name] ?? ''
    const isSecret = /auth|cookie/i.test(name) || isSecretName(name) || (name in headers && said.includes('${'))
    return isSecret ? [value, value.replace(schemes, '')] : []
  })
  for (const [name, value] of url === undefined ? [] : new URL(url).searchParams)
    if (/^key$/i.test(name) || isSecretName(name)) found.push(value)
  // The longest first: what is part of another goes with it.
  return [...new Set(found)].filter((word) => word.length >= shortest).toSorted((one, other) => other.length - one.length)
}

/** The same value without these words, wherever a text of it has them. */
export function without<T>(words: readonly string[], value: T): T {
  if (words.length === 0) return value
  const strip = (one: unknown): unknown => {
    if (typeof one === 'string') return words.reduce((rest, word) => rest.replaceAll(word, '[secret]'), one)
    if (Array.isArray(one)) return one.map(strip)
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([name, field]) => [name, strip(field)]))
  }
  return strip(value) as T
}
