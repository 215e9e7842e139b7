/** Deeper nesting than any contract has; beyond it, code that walks a value could run out of stack. */
const deepest = 200

export class TooDeep extends SyntaxError {}

/** JSON as it comes from outside: parsed, and no deeper than anything here can handle. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  if (depthOf(text) > deepest) throw new TooDeep(`JSON nested deeper than ${deepest}`)
  return JSON.parse(text)
}

/** How deep brackets nest; strings, which are most of a message, are jumped over. */
function depthOf(text: string): number {
  let depth = 0
  let most = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x22) index = endOfString(text, index)
    else if (code === 0x5b || code === 0x7b) most = Math.max(most, ++depth)
    else if (code === 0x5d || code === 0x7d) depth--
  }
  return most
}

function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return quote
  }
  return text.length
}
