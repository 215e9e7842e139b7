import { lazy } from './lazy.ts'

const wide = lazy(
  () =>
    /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u,
)
const unseen = lazy(() => /[\p{Mn}\p{Me}\p{Cf}]/u)

/** Places a letter takes on a screen: none for a mark on the letter before, two for Chinese, Japanese, Korean and emoji. */
function placesOf(letter: string): number {
  if (letter <= '~') return 1
  return wide().test(letter) ? 2 : unseen().test(letter) ? 0 : 1
}

/** Places a text takes on one line of a screen. */
export function widthOf(text: string): number {
  let places = 0
  for (const letter of text) places += placesOf(letter)
  return places
}

/** With blanks behind it up to a width. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Cut to a width, with a sign where something is missing. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let cut = ''
  let used = 1
  for (const letter of text) {
    used += placesOf(letter)
    if (used > width) break
    cut += letter
  }
  return `${cut}…`
}
