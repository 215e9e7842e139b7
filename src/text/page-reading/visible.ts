import { lazy } from '../lazy.ts'

/** What nobody sees and a model reads: zero widths, directions, tags, fillers, letters of private fonts. The marks of a walk are none. */
const unseen = lazy(() => /(?![\u0001-\u0005])[\p{Cf}\p{Cc}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]/u)
const unseenRun = lazy(() => new RegExp(`(?:${unseen().source})+`, 'gu'))

/** Joiners that words of some languages, and many emoji, are made with; a selector that makes a picture of a sign. */
const joiner = /^(?:\u200c|\u200d|\ufe0e|\ufe0f)$/
const joins = lazy(
  () =>
    /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f#*0-9]/u,
)

/** Words as a person sees them, and how many characters nobody sees were among them. Lines stay; tabs become blanks. */
export function visibleWords(text: string): { text: string; unseen: number } {
  if (!unseen().test(text.replaceAll('\n', ''))) return { text, unseen: 0 }
  let count = 0
  const kept = text.replace(unseenRun(), (run, at: number) => {
    let rest = ''
    for (const character of run) {
      if (character === '\n') rest += '\n'
      else if (character === '\t' || character === '\r') rest += character === '\t' ? ' ' : ''
      else if (run.length === 1 && joiner.test(character) && joins().test(before(text, at)) && text.length > at + 1)
        return character
      else if (character === '\ufe0f' && joins().test(before(text, at))) rest += character
      else if (character === '\u200d' && rest === '\ufe0f') rest += character
      else count += 1
    }
    return rest
  })
  return { text: kept, unseen: count }
}

/** The character that ends where this one begins. */
function before(text: string, at: number): string {
  const unit = text.slice(at - 1, at)
  return /[\udc00-\udfff]/.test(unit) ? text.slice(at - 2, at) : unit
}
