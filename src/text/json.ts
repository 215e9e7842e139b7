/** Deeper nesting than any contract has; beyond it, code that walks a value could run out of stack. */
const deepest = 200
/** More values than any message has; parsing and checking them would hold everybody up for seconds. */
const mostValues = 100_000

/** JSON that is well formed and still beyond what is read. */
export class TooMuchJson extends SyntaxError {}

/** JSON as it comes from outside: parsed, and no more of it than anything here can handle. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  weigh(text)
  return JSON.parse(text)
}

/** Counts brackets and commas before anything is made of them; strings, which are most of a message, are jumped over. */
function weigh(text: string): void {
  let depth = 0
  let values = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x22) index = endOfString(text, index)
    else if (code === 0x5d || code === 0x7d) depth--
    else if (code === 0x2c && ++values > mostValues) throw new TooMuchJson(`JSON with more than ${mostValues} values`)
    else if ((code === 0x5b || code === 0x7b) && ++depth > deepest) throw new TooMuchJson(`JSON nested deeper than ${deepest}`)
  }
}

/**
 * The same for JSON that comes in pieces and is parsed by others: `add` throws before the piece is handed on. Of a stream of events (`perEvent`) each is
 * weighed by itself; an event ends at an empty line, and no string goes beyond its line.
 */
export function openJsonScale(perEvent: boolean): {
  add(piece: Uint8Array): void
  /** So many came to their end. */ events(): number
} {
  let [depth, values, inString, escaped, emptyLine] = [0, 0, false, false, true]
  let [events, isBegun, last] = [0, false, 0]
  const endLine = (): void => {
    inString = escaped = false
    if (emptyLine && isBegun) events++
    if (emptyLine) {
      depth = values = 0
      isBegun = false
    }
    emptyLine = true
  }
  return {
    events: () => events,
    add(piece) {
      for (const code of piece) {
        // Lines end in either way, or in both together.
        if (perEvent && (code === 0x0a || code === 0x0d)) {
          if (code === 0x0d || last !== 0x0d) endLine()
          last = code
          continue
        }
        last = code
        emptyLine = false
        isBegun = true
        if (inString) {
          if (escaped) escaped = false
          else if (code === 0x5c) escaped = true
          else if (code === 0x22) inString = false
        } else if (code === 0x22) inString = true
        else if (code === 0x5d || code === 0x7d) depth--
        else if (code === 0x2c && ++values > mostValues) throw new TooMuchJson(`JSON with more than ${mostValues} values`)
        else if ((code === 0x5b || code === 0x7b) && ++depth > deepest)
          throw new TooMuchJson(`JSON nested deeper than ${deepest}`)
      }
    },
  }
}

function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return quote
  }
  return text.length
}
