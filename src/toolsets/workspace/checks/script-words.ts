/** The words of a script that is one plain command; nothing where sh would do more with it than split it. */
export function plainWords(script: string): string[] | undefined {
  if (/[&|;$()<>`\\\n*?[\]{}~#!]/.test(script.replace(/'[^']*'/g, "''"))) return undefined
  const words = [...script.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  )
  if (/["']/.test(script.replace(/'[^']*'|"[^"]*"/g, ''))) return undefined
  return words.length === 0 || words[0]?.includes('=') ? undefined : words
}

/** What stands before a tool to have it found. */
const starters: readonly (readonly string[])[] = [
  ['npx', '--no-install'],
  ['npx', '--no'],
  ['npx'],
  ['pnpm', 'exec'],
  ['pnpm'],
  ['yarn', 'exec'],
  ['yarn', 'run'],
  ['yarn'],
  ['bunx'],
]

/** The tool itself and its arguments. */
export function withoutStarter(words: readonly string[]): string[] {
  const starter = starters.find((one) => one.every((word, index) => words[index] === word))
  return words.slice(starter?.length ?? 0)
}

/** Takes options out: a name that ends with `=` has a value, after it or behind the sign. */
export function withoutOptions(args: readonly string[], options: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index < args.length; index++) {
    const word = args[index] as string
    const name = word.split('=')[0] as string
    const known = options.find((one) => one === name || one === `${name}=`)
    if (known === undefined) kept.push(word)
    else if (known.endsWith('=') && !word.includes('=')) index++
  }
  return kept
}
