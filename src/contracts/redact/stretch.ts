/** A stretch of a text that is a secret, and of which kind. */
export interface Stretch {
  from: number
  to: number
  kind: string
}

/** One way to find secrets by where they stand. `gate` as for looks; without one it is always looked for. */
export interface Place {
  gate: readonly string[]
  find(text: string): Stretch[]
}

export function matches(text: string, pattern: RegExp, judge: (match: RegExpExecArray) => Stretch | Stretch[]): Stretch[] {
  const found: Stretch[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const one = judge(match)
    if (Array.isArray(one)) found.push(...one)
    else found.push(one)
    const end = found.at(-1)?.to ?? 0
    // Never back into what is hidden already.
    pattern.lastIndex = Math.max(match.index + Math.max(match[0].length, 1), end)
  }
  return found
}
