import { redact } from './redact.ts'

const longest = 400
/** Far more than is kept: what is cut off here is cut at a blank, so that no half of a secret is left. */
export const lookedAt = 8_000

/** Text fit to be written down: no credentials, no endless strings. What was not looked at is not kept. */
export function scrub(text: string): string {
  if (harmless.has(text)) return text
  const clean = redact(text.length > lookedAt ? firstWords(text) : text)
  if (clean.length > longest || text.length > lookedAt) return `${clean.slice(0, longest)}… (${text.length} characters)`
  return clean === text ? remember(text) : clean
}

/** Short texts that were looked at and hold nothing: the same paths and names come again and again. */
const harmless = new Set<string>()

function remember(text: string): string {
  if (text.length > 200) return text
  if (harmless.size >= 1_000) harmless.clear()
  harmless.add(text)
  return text
}

/** The beginning of a text, up to the last blank: a word that goes on was not seen whole. */
function firstWords(text: string): string {
  const seen = text.slice(0, lookedAt)
  return seen.slice(0, seen.search(/\s\S*$/) + 1)
}
