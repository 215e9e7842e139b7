import type { Tool, Touch } from '../contracts/tool.ts'
import { isPlaceholder, isSecretName } from '../text/redact/names.ts'
import { secretsAmong } from '../text/redact/programs.ts'
import { lookedAt, scrub } from '../text/redact/scrub.ts'
import { createHmac, randomBytes } from 'node:crypto'
import { contentHash } from './digest.ts'

export { scrub }

/** The input with its private fields as size and digest: names the same input, costs little to compare, and holds no content. */
export function redactInput(tool: Pick<Tool, 'private'>, input: unknown): Record<string, unknown> {
  const redactedInput: Record<string, unknown> = { ...(input as object) }
  for (const name of tool.private)
    if (Object.hasOwn(redactedInput, name)) redactedInput[name] = sizeAndDigest(redactedInput[name])
  return redactedInput
}

/** A redacted input as the log keeps it: what is not left out already is scrubbed. */
export function recordable(tool: Pick<Tool, 'private'>, input: Record<string, unknown>): unknown {
  if (tool.private.length === 0) return scrubDeep(input)
  const open = Object.fromEntries(Object.entries(input).filter(([name]) => !tool.private.includes(name)))
  const clean = scrubDeep(open) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => (tool.private.includes(name) ? [name, value] : [name, clean[name]])),
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
        : 'host' in touch
          ? { host: scrub(touch.host) }
          : { command: scrub(touch.command) },
  )
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`
  return Array.isArray(value) ? `list of ${value.length}` : value === null ? 'null' : typeof value
}

/** A digest of something short could be guessed; this one is good for as long as the process, which is as long as calls are compared. */
const guessKey = randomBytes(32)

function sizeAndDigest(value: unknown): { bytes: number; sha256: string } | { secret: true; mac: string } {
  if (holdsSecret(value, 0))
    return { secret: true, mac: createHmac('sha256', guessKey).update(JSON.stringify(value)).digest('hex') }
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value ?? null))
  return { bytes: bytes.length, sha256: contentHash(bytes) }
}

/** Whether a field in it is named as secrets are. */
function holdsSecret(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > deepest) return false
  return Object.entries(value).some(([name, one]) => (isSecretName(name) && one !== null) || holdsSecret(one, depth + 1))
}

/** How deep, how many of one list and how many in all are looked at. What is not looked at is not written. */
const deepest = 4
const mostItems = 50
const mostValues = 1_000

/** Anything a tool writes down, without credentials and without end. */
export function scrubDeep(value: unknown): unknown {
  return scrubValue(value, 0, { left: mostValues })
}

function scrubValue(value: unknown, depth: number, budget: { left: number }): unknown {
  if (budget.left-- <= 0) return '…'
  if (typeof value === 'string') return scrub(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > deepest) return '…'
  if (Array.isArray(value)) return scrubList(value.slice(0, mostItems), depth, budget)
  const entries = Object.entries(value).slice(0, mostItems)
  // `{ name: 'TOKEN', value: '…' }` names a value as `TOKEN: '…'` does.
  const named = entries.some(([name, item]) => /^(?:name|key|header|variable)$/i.test(name) && isName(item))
  return Object.fromEntries(
    entries.map(([name, item]) => [
      scrub(name),
      isSecretName(name) || (named && /^(?:value|values|content)$/i.test(name))
        ? hideAll(item, depth, budget)
        : scrubValue(item, depth + 1, budget),
    ]),
  )
}

/** A list may be the words of a command, or a name and its value. */
function scrubList(list: unknown[], depth: number, budget: { left: number }): unknown[] {
  const words = list.map((item) => (typeof item === 'string' ? item.slice(0, lookedAt) : ''))
  const found = new Map(secretsAmong(words).map((one) => [one.word, one]))
  return list.map((item, index) => {
    const secret = found.get(index)
    if (typeof item === 'string' && secret)
      return scrub(item.slice(0, secret.from)) + hidden(secret.kind, item.length - secret.from)
    if (index === 1 && list.length === 2 && isName(list[0])) return hideAll(item, depth, budget)
    return scrubValue(item, depth + 1, budget)
  })
}

/** Everything below a secret name is a secret; that there is nothing may be said. */
function hideAll(value: unknown, depth: number, budget: { left: number }): unknown {
  if (value === null || typeof value === 'boolean' || value === '') return value
  if (typeof value === 'string') return isPlaceholder(value) ? value : hidden('value', value.length)
  if (typeof value !== 'object') return hidden('value', String(value).length)
  if (depth > deepest || budget.left-- <= 0) return '…'
  if (Array.isArray(value)) return value.slice(0, mostItems).map((item) => hideAll(item, depth + 1, budget))
  const entries = Object.entries(value).slice(0, mostItems)
  return Object.fromEntries(entries.map(([name, item]) => [scrub(name), hideAll(item, depth + 1, budget)]))
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 120 && isSecretName(value)
}

function hidden(kind: string, length: number): string {
  return `[secret: ${kind}, ${length} characters]`
}
