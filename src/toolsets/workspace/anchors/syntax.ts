import type { Pos, Span } from '../../../contracts/anchors.ts'
import type { Syntax, SyntaxNode as Node } from '../../../host/source-parser.ts'

export type { Comment, Import, Syntax, SyntaxNode as Node } from '../../../host/source-parser.ts'

/** The parser, as the call that it works for has it. */
export type Parse = (file: string, text: string) => Syntax | Promise<Syntax>

/** Turns offsets of one text into places. */
export function placesIn(text: string): (start: number, end: number) => Span {
  const starts = [0]
  for (const match of text.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(match.index + match[0].length)
  const pos = (offset: number): Pos => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] as number) + 1, offset }
  }
  return (start, end) => ({ start: pos(start), end: pos(end) })
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Node).type === 'string' &&
  typeof (value as Node).start === 'number'

const wrappers = new Set([
  'TSSatisfiesExpression',
  'TSAsExpression',
  'TSTypeAssertion',
  'TSNonNullExpression',
  'ParenthesizedExpression',
])

/** Whether it stands for itself: `x satisfies T`, `x as const`, `(x)`. */
export function unwrapped(node: unknown): Node | undefined {
  let at = node
  while (isNode(at) && wrappers.has(at.type)) at = at['expression']
  return isNode(at) ? at : undefined
}

/** Every node below, parents first, in the order of the text; deep trees do not use up the stack. What lies below a node that `visit` passes over is left out. */
export function eachNode(root: Node, visit: (node: Node) => unknown): void {
  const todo = [root]
  for (let node = todo.pop(); node; node = todo.pop()) {
    if (visit(node) === 'pass') continue
    const from = todo.length
    for (const field in node) {
      const value = node[field]
      if (typeof value !== 'object' || value === null) continue
      if (Array.isArray(value)) {
        for (const one of value as unknown[]) if (isNode(one)) todo.push(one)
      } else if (isNode(value)) todo.push(value)
    }
    // The last is taken first.
    for (let low = from, high = todo.length - 1; low < high; low++, high--) {
      const one = todo[low] as Node
      todo[low] = todo[high] as Node
      todo[high] = one
    }
  }
}

/** A text that stands in the source as it is. */
export function literalText(node: unknown): string | undefined {
  const bare = unwrapped(node)
  if (bare?.type === 'Literal' && typeof bare['value'] === 'string') return bare['value']
  if (bare?.type !== 'TemplateLiteral') return undefined
  const quasis = bare['quasis'] as Node[]
  return quasis.length === 1 ? ((quasis[0] as Node)['value'] as { cooked: string }).cooked : undefined
}

export interface Properties {
  names: Map<string, Node>
  /** It has `...x`, so that nobody can say what is in it. */
  spread: boolean
  /** It has `[x]: …`, of which the same is true. */
  computed: boolean
}

/** What an object literal declares: methods, getters and setters too, and names that are worked out from a text. */
export function propertiesOf(object: Node): Properties {
  const found: Properties = { names: new Map(), spread: false, computed: false }
  for (const property of object['properties'] as Node[]) {
    if (property.type !== 'Property') {
      found.spread = true
      continue
    }
    const key = property['key'] as Node
    const name =
      property['computed'] === true
        ? literalText(key)
        : key.type === 'Identifier'
          ? (key['name'] as string)
          : key.type === 'Literal'
            ? String(key['value'])
            : undefined
    if (name === undefined) found.computed = true
    else found.names.set(name, property)
  }
  return found
}
