import { createHash, hash as hashOf, type Hash } from 'node:crypto'
import { canonical } from '../text/canonical.ts'
import { byText, runInSlices, sorted, type Steps } from '../text/steps.ts'

/** Names a value: equal values have equal digests, whatever the order of their fields. */
export function digest(...values: unknown[]): string {
  return contentHash(canonical(values))
}

/** The same digest of values that hold very many, in small steps. */
export async function digestLong(...values: unknown[]): Promise<string> {
  const hash = createHash('sha256')
  await runInSlices(feed(hash, values, 2))
  return hash.digest('hex')
}

/** `canonical` of a value, its parts one by one down to a depth. */
function* feed(hash: Hash, value: unknown, depth: number): Steps<void> {
  yield
  if (depth === 0 || value === null || typeof value !== 'object') return void hash.update(canonical(value))
  const isList = Array.isArray(value)
  const record = value as Record<string, unknown>
  hash.update(isList ? '[' : '{')
  let first = true
  for (const key of isList ? value.keys() : yield* sorted(Object.keys(record), byText)) {
    if (!isList && record[key] === undefined) continue
    hash.update(`${first ? '' : ','}${isList ? '' : `${JSON.stringify(key)}:`}`)
    yield* feed(hash, record[key], depth - 1)
    first = false
  }
  hash.update(isList ? ']' : '}')
}

/** Names a content, or a text. */
export function contentHash(bytes: Uint8Array | string): string {
  return hashOf('sha256', bytes, 'hex')
}
