import type { Tool, Touch } from '../contracts/tool.ts'
import { contentHash } from './digest.ts'

const longest = 400
/** More than is kept, so that a key that begins before the cut is seen whole. */
const lookedAt = 1_000
const hidden = '[secret]'

/** What looks like a credential, wherever it stands. */
const secrets = [
  /(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}/g,
  /(?<![A-Za-z0-9])gh[oprsu]_[A-Za-z0-9]{16,}/g,
  /github_pat_[A-Za-z0-9_]{16,}/g,
  /(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{12,}/g,
  /xox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{12,}/g,
  /AIza[0-9A-Za-z_-]{20,}/g,
  /(?<![A-Za-z0-9])(?:npm|hf|dop_v1|shpat|pypi)[-_][A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,2}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /(?<![A-Za-z0-9])(?:Bearer|Basic)\s+[A-Za-z0-9+/._=-]{8,}/gi,
  /((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)["']?\s*[:=]\s*["']?)[^\s"'&,;]{4,}/gi,
]

/** Most texts hold none of these and need no closer look. */
const suspicious =
  /[spr]k[-_]|gh[oprsu]_|github_pat_|glpat-|xox|akia|asia|aiza|npm|hf[-_]|dop_v1|shpat|pypi|eyj|begin|bearer|basic|passw|pwd|secret|token|key/i

/** Text fit to be written down: no credentials, no endless strings. */
export function scrub(text: string): string {
  // Looked through before it is cut, so that no half of a key is left at the end.
  const clean = suspicious.test(text.slice(0, lookedAt))
    ? secrets.reduce(
        (left, secret) => left.replace(secret, (_, name: unknown) => `${typeof name === 'string' ? name : ''}${hidden}`),
        text.slice(0, lookedAt),
      )
    : text
  return clean.length > longest ? `${clean.slice(0, longest)}… (${text.length} characters)` : clean
}

/** The input with its private fields as size and digest: names the same input, costs little to compare, and holds no content. */
export function weighed(tool: Pick<Tool, 'private'>, input: unknown): Record<string, unknown> {
  const light: Record<string, unknown> = { ...(input as object) }
  for (const name of tool.private) if (Object.hasOwn(light, name)) light[name] = weigh(light[name])
  return light
}

/** A weighed input as the record keeps it: everything that is not weighed is scrubbed. */
export function recordable(tool: Pick<Tool, 'private'>, input: Record<string, unknown>): unknown {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, tool.private.includes(name) ? value : scrubDeep(value, 0)]),
  )
}

/** An input that did not fit the contract may hold anything anywhere, in its names too: only its outline is kept. */
export function outline(tool: Pick<Tool, 'input'>, raw: unknown): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return kindOf(raw)
  const { properties = {} } = tool.input as { properties?: object }
  return Object.fromEntries(
    Object.entries(raw)
      .slice(0, 20)
      .map(([name, value]) => [Object.hasOwn(properties, name) ? name : `(a name of ${name.length} characters)`, kindOf(value)]),
  )
}

export function scrubTouches(touches: readonly Touch[]): Touch[] {
  return touches.map((touch) =>
    'path' in touch
      ? { ...touch, path: scrub(touch.path) }
      : 'url' in touch
        ? { url: scrub(touch.url) }
        : { command: scrub(touch.command) },
  )
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`
  return Array.isArray(value) ? `list of ${value.length}` : value === null ? 'null' : typeof value
}

function weigh(value: unknown): { bytes: number; sha256: string } {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value ?? null))
  return { bytes: bytes.length, sha256: contentHash(bytes) }
}

/** What a flag or a name says of the value that follows it: `--api-key`, `GITHUB_TOKEN`. */
const secretName = /(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)$/i

/** Anything a tool writes down, without credentials and without end. */
export function scrubDeep(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > 4) return '…'
  if (Array.isArray(value))
    return value
      .slice(0, 50)
      .map((item: unknown, index) => (isSecretFlag(value[index - 1]) ? hidden : scrubDeep(item, depth + 1)))
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([name, item]) => [
        scrub(name),
        secretName.test(name) && typeof item === 'string' ? hidden : scrubDeep(item, depth + 1),
      ]),
  )
}

function isSecretFlag(word: unknown): boolean {
  return typeof word === 'string' && word.startsWith('-') && secretName.test(word)
}
