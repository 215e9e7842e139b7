/** A stretch of a text that is a secret, and of which kind. */
export interface Span {
  from: number
  to: number
  kind: string
}

/** One way to find secrets by where they stand. `gate` as for looks; without one it is always looked for. */
export interface PlaceRule {
  gate: readonly string[]
  find(text: string): Span[]
}

export function matches(text: string, pattern: RegExp, spanOf: (match: RegExpExecArray) => Span | Span[]): Span[] {
  const found: Span[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const one = spanOf(match)
    if (Array.isArray(one)) found.push(...one)
    else found.push(one)
    const end = found.at(-1)?.to ?? 0
    // Never back into what is hidden already.
    pattern.lastIndex = Math.max(match.index + Math.max(match[0].length, 1), end)
  }
  return found
}
