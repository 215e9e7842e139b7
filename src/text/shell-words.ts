import { lazy } from './lazy.ts'

/** A command as one would type it into a shell: each word comes back as it is, whatever it holds. */
export function shellWords(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}

/**
 * The same for a person to paste into bash or zsh. What cannot be seen is written out: pasted as it is, an escape sequence in the name of a file or a test
 * presses keys.
 */
export function pastedWords(argv: readonly string[]): string {
  return argv.map((word) => (unseen().test(word) ? `$'${[...word].map(spelt).join('')}'` : shellWords([word]))).join(' ')
}

const unseen = lazy(() => /[\p{C}\p{Zl}\p{Zp}]/u)

function spelt(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`
  if (!unseen().test(character)) return character
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`
}
