/** Sentences of ours, each from its first letter to its last, and how they read here. What others wrote in them goes through untouched. */
export type Patterns = readonly (readonly [RegExp, (...found: string[]) => string])[]

/** Undefined where none fits. */
export function translated(table: Patterns, text: string): string | undefined {
  for (const [pattern, says] of table) {
    const found = pattern.exec(text)
    if (found) return says(...found.slice(1).map((one) => one ?? ''))
  }
  return undefined
}
