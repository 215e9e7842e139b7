/**
 * How deep a text could be nested at most, as a share of what ends a stack of 8 MB: the parser goes down the machine's own stack, and a file of a
 * hundred thousand brackets is a way to kill whoever reads it. Nothing is told apart, strings and comments count as well: nobody can hide a
 * bracket from it, since what a bracket is would be for a second parser to say. Measured: brackets, templates and arrows end that stack beyond
 * 10,000 levels (functions, which have two, beyond 5,000), assignments, conditions, labels and words beyond 20,000, other signs beyond 40,000.
 */
const costs = new Float64Array(128)
for (const sign of '([{<`') costs[sign.charCodeAt(0)] = 1 / 10_000
for (const sign of '=?:*') costs[sign.charCodeAt(0)] = 1 / 20_000
for (const sign of '!~+-/%&|^.,@#') costs[sign.charCodeAt(0)] = 1 / 40_000

const words =
  /\b(?:new|typeof|void|delete|await|yield|else|keyof|unique|readonly|infer|extends|instanceof|as|satisfies|async|do|in|of)\b/g

/** 1,000 to 2,000 lines of code come to a half, however flat they are. */
export function nestingOf(text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) depth += costs[text.charCodeAt(at)] ?? 0
  // Spared where they could not change anything: as many as there is room for.
  return depth + text.length / 3 / 20_000 < 0.5 ? depth : depth + (text.match(words)?.length ?? 0) / 20_000
}
