import type { CapturedOutput } from '../../contracts/stage.ts'

/** Most characters of an output in an answer. */
export const longest = 2_048
/** What must be kept of an output so that an excerpt can be cut from it, whatever its characters are. */
export const enoughBytes = 16_384

/** Both ends of an output in at most 2,048 characters; a character is never cut in two. */
export function excerpt({ text, bytes }: CapturedOutput): string {
  // No more is looked at than can be part of it: a character is one or two units.
  if (text.length <= 2 * longest && Array.from(text).length <= longest) return text
  const gap = `\n… ${bytes} bytes in all, the middle is left out …\n`
  const room = longest - gap.length
  const head = Array.from(text.slice(0, 2 * longest)).slice(0, Math.ceil(room / 2))
  const tail = Array.from(text.slice(-2 * longest)).slice(-Math.floor(room / 2))
  return [...head, gap, ...tail].join('')
}
