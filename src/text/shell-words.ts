/** A command as one would type it into a shell: each word comes back as it is, whatever it holds. */
export function shellWords(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
