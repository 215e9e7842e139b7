/**
 * How deep a text could be nested at most, as a share of what ends the process: the parser goes down the machine's own stack, and a file of a
 * hundred thousand brackets is a way to kill whoever reads it. Nothing is told apart, strings and comments count as well: what counts too much is
 * left out, and nobody can hide anything. Measured on a stack of 8 MB: brackets, templates and arrows end it beyond 10,000 levels (functions, which
 * have two, beyond 5,000), assignments, conditions, labels and words beyond 20,000, other signs beyond 40,000.
 */
const costs = new Float64Array(128)
for (const sign of '([{<`') costs[sign.charCodeAt(0)] = 1 / 10_000
for (const sign of '=?:*') costs[sign.charCodeAt(0)] = 1 / 20_000
for (const sign of '!~+-/%&|^.,@#') costs[sign.charCodeAt(0)] = 1 / 40_000

const words =
  /\b(?:new|typeof|void|delete|await|yield|else|keyof|unique|readonly|infer|extends|instanceof|as|satisfies|async|do|in|of)\b/g

/** Half of it is far from the end, on a stack of which half is in use or there. 1,000 to 2,000 lines of code are as much. */
export function isTooDeep(text: string): boolean {
  // So short that every sign of it may be a bracket.
  if (text.length < 2_500) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) depth += costs[text.charCodeAt(at)] ?? 0
  if (depth > 0.5) return true
  return depth + (text.match(words)?.length ?? 0) / 20_000 > 0.5
}
