import { createInterface } from 'node:readline/promises'

/** Where the person was shown what a question is about: said before on one of the two, in the question itself, or nowhere. */
export type ShownOn = 'stdout' | 'stderr' | 'question' | 'nowhere'

/**
 * A yes or no from the person at the terminal; nothing where there is none, or where what they would agree to went into a pipe or a
 * file: that was shown to nobody.
 */
export async function confirm(question: string, shownOn: ShownOn): Promise<boolean | undefined> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined
  if (shownOn === 'nowhere' || (shownOn === 'stdout' && process.stdout.isTTY !== true)) return undefined
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}

/** A command says what it is about on stdout, unless a program reads that. */
export const onStdout = (json: boolean): ShownOn => (json ? 'nowhere' : 'stdout')
