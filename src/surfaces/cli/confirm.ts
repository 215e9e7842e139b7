import { createInterface } from 'node:readline/promises'
import { Interrupted } from './interrupted.ts'

/** Where the person was shown what a question is about: said before on one of the two, in the question itself, or nowhere. */
export type ShownOn = 'stdout' | 'stderr' | 'question' | 'nowhere'

/**
 * A yes or no from the person at the terminal; nothing where there is none, or where what they would agree to went into a pipe or a
 * file: that was shown to nobody.
 */
export async function confirm(question: string, shownOn: ShownOn): Promise<boolean | undefined> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined
  if (shownOn === 'nowhere' || (shownOn === 'stdout' && process.stdout.isTTY !== true)) return undefined
  return /^y(es)?$/i.test((await answerTo(`${question} [y/N] `)).trim())
}

/** A line typed at the terminal; an end of input is an empty one, Ctrl-C ends the command. */
export function answerTo(question: string, signal?: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise<string>((resolve, reject) => {
    lines.once('SIGINT', () => reject(new Interrupted()))
    lines.once('close', () => resolve(''))
    signal?.addEventListener('abort', () => resolve(''), { once: true })
    lines.question(question).then(resolve, reject)
  }).finally(() => lines.close())
}

/** A command says what it is about on stdout, unless a program reads that. */
export const onStdout = (json: boolean): ShownOn => (json ? 'nowhere' : 'stdout')
