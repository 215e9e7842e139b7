import type { Tool } from '../contracts/tool.ts'
import { contentHash } from './digest.ts'

const longest = 400

/** What looks like a credential, wherever it stands. */
const secrets = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{30,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9+/._=-]{12,}/gi,
  /((?:password|passwd|secret|token|api[_-]?key|access[_-]?key)["']?\s*[:=]\s*["']?)[^\s"'&,;]{4,}/gi,
]

/** Most texts hold none of these and need no closer look. */
const suspicious = /sk-|pk-|rk-|gh[oprsu]_|github_pat_|xox|akia|aiza|npm_|eyj|begin|bearer|basic|pass|secret|token|key/i

/** Text fit to be written down: no credentials, no endless strings. */
export function scrub(text: string): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text
  if (!suspicious.test(cut)) return cut
  return secrets.reduce(
    (left, secret) => left.replace(secret, (_, name: unknown) => `${typeof name === 'string' ? name : ''}[secret]`),
    cut,
  )
}

/** The input as the record keeps it: private fields by size and digest only, everything else scrubbed. */
export function recordable(tool: Pick<Tool, 'private'>, input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return scrubDeep(input, 0)
  return Object.fromEntries(
    Object.entries(input)
      .slice(0, 50)
      .map(([name, value]) => [
        name.slice(0, 100),
        tool.private.includes(name) && typeof value === 'string' ? weigh(value) : scrubDeep(value, 0),
      ]),
  )
}

function weigh(text: string): { bytes: number; sha256: string } {
  const bytes = Buffer.from(text)
  return { bytes: bytes.length, sha256: contentHash(bytes) }
}

function scrubDeep(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > 4) return '…'
  if (Array.isArray(value)) return value.slice(0, 50).map((item) => scrubDeep(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([name, item]) => [scrub(name), scrubDeep(item, depth + 1)]),
  )
}
