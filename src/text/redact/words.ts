/** A word of a command, by its place in the text; `from` and `to` leave the quotes out. */
export interface Word {
  from: number
  to: number
  text: string
  quoted: boolean
}

const blank = /\s/
const ends = new Set([';', '|', '&', '(', ')', '`', '\n'])

/** The words of the commands of a text, each command a list. Not a shell: enough of one to know which word follows which, in one pass. */
export function commandsIn(text: string, from = 0, to = text.length): Word[][] {
  const commands: Word[][] = []
  let words: Word[] = []
  const end = (): void => {
    if (words.length) commands.push(words)
    words = []
  }
  /** Quotes that are never closed are looked for once. */
  const open = new Set<string>()
  let at = from
  while (at < to) {
    const character = text[at] as string
    if (character === '\\' && text[at + 1] === '\n') at += 2
    else if (ends.has(character)) {
      end()
      at++
    } else if (blank.test(character)) at++
    else {
      const word = wordAt(text, at, to, open)
      words.push(word.word)
      at = word.next
    }
  }
  end()
  return commands
}

function wordAt(text: string, start: number, limit: number, open: Set<string>): { word: Word; next: number } {
  const dashed = text[start] === '-'
  let at = start
  let first = -1
  while (at < limit) {
    const character = text[at] as string
    if (blank.test(character) || (ends.has(character) && !(character === '&' && at > start && text[at + 1] !== '&'))) break
    if (character === '\\' && at + 1 < limit) at += text[at + 1] === '\n' ? 1 : 2
    else if ((character === '"' || character === "'") && !open.has(character) && opens(text, at, start, dashed)) {
      const close = closing(text, at, limit, character)
      if (close < 0) open.add(character)
      else if (first < 0) first = at
      at = close < 0 ? at + 1 : close + 1
    } else at++
  }
  at = Math.min(at, limit)
  // A word that is one quotation is what stands inside it.
  const whole = first === start && (text[at - 1] === '"' || text[at - 1] === "'") && at - start > 1
  const [from, to] = whole ? [start + 1, at - 1] : [start, at]
  return { word: { from, to, text: text.slice(from, to), quoted: first >= 0 }, next: Math.max(at, start + 1) }
}

/** An apostrophe inside a word of prose opens nothing. */
function opens(text: string, at: number, start: number, dashed: boolean): boolean {
  return at === start || dashed || '=:,@+$'.includes(text[at - 1] as string) || '"\''.includes(text[at - 1] as string)
}

function closing(text: string, at: number, limit: number, quote: string): number {
  for (let next = at + 1; next < limit; next++) {
    if (text[next] === '\\' && quote === '"') next++
    else if (text[next] === quote) return next
  }
  return -1
}
