import { eachNode, propertiesOf, type Comment, type Node, type Parse, type Syntax } from './syntax.ts'
import { lazy } from '../../../text/lazy.ts'

/** One insertion into a text. */
export interface Edit {
  at: number
  text: string
}

export interface Wanted {
  name: string
  valueCode: string
}

export type Verdict = { decision: 'write'; edits: Edit[] } | { decision: 'skip' | 'fail'; reason: string }

/** A text in which something shall be added: what is asked again for each addition is worked out once. */
export interface Manuscript {
  file: string
  text: string
  comments: readonly Comment[]
  /** The line ends and the step of indentation it is written with. */
  eol: string
  unit: string
  /** The object literals that stand exactly there. */
  objectsAt(start: number, end: number): readonly Node[]
}

export function openManuscript(file: string, text: string, { program, comments }: Syntax): Manuscript {
  let objects: Map<string, Node[]> | undefined
  const all = (): Map<string, Node[]> => {
    const found = new Map<string, Node[]>()
    eachNode(program, (node) => {
      if (node.type !== 'ObjectExpression') return
      const place = `${node.start}:${node.end}`
      found.set(place, [...(found.get(place) ?? []), node])
    })
    return found
  }
  return {
    file,
    text,
    comments,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    unit: unitOf(text),
    objectsAt: (start, end) => (objects ??= all()).get(`${start}:${end}`) ?? [],
  }
}

/** What adding a property to an object literal comes to: which texts go where, or why it is not done. */
export async function addProperty(into: Manuscript, object: Node, wanted: Wanted, parse: Parse): Promise<Verdict> {
  const { names, spread, computed } = propertiesOf(object)
  if (names.has(wanted.name)) return { decision: 'skip', reason: 'rewriter.property.already_declared' }
  if (spread) return { decision: 'fail', reason: 'rewriter.target.object_has_spread' }
  if (computed) return { decision: 'fail', reason: 'rewriter.target.object_has_computed_name' }
  if (!(await isExpression(into.file, wanted.valueCode, parse)))
    return { decision: 'fail', reason: 'rewriter.value.not_an_expression' }
  const edits = insertion(into, object, wanted)
  return edits ? { decision: 'write', edits } : { decision: 'fail', reason: 'rewriter.value.multi_line' }
}

/** One expression and nothing else: no text that closes the object and goes on behind it. */
async function isExpression(file: string, code: string, parse: Parse): Promise<boolean> {
  const { program, broken, comments } = await parse(file, `(${code}\n)`)
  const body = program['body'] as Node[]
  const expression = body[0]?.['expression'] as Node | undefined
  // A comment at its end would swallow the comma that follows.
  if (broken || body.length !== 1 || comments.some(({ type, end }) => type === 'Line' && end >= code.length)) return false
  return (
    expression?.type === 'ParenthesizedExpression' &&
    expression.end === code.length + 3 &&
    (expression['expression'] as Node).type !== 'SequenceExpression'
  )
}

const identifier = lazy(() => /^[\p{ID_Start}$_][\p{ID_Continue}$\u200C\u200D]*$/u)

function insertion({ text, comments, eol, unit }: Manuscript, object: Node, { name, valueCode }: Wanted): Edit[] | undefined {
  const close = object.end - 1
  const properties = object['properties'] as Node[]
  const last = properties.at(-1)
  const isLong = /[\n\r]/.test(text.slice(object.start, object.end))
  const key = identifier().test(name) ? name : `'${name.replace(/['\\]/g, String.raw`\$&`).replace(/[\n\r\u2028\u2029]/g, ' ')}'`
  const value = valueCode.trim()
  if (!isLong && /[\n\r]/.test(value)) return undefined
  const from = last?.end ?? object.start + 1
  const inside = comments.filter(({ start, end }) => start >= from && end <= close)
  const hasComma = last !== undefined && commaAfter(text, from, close, inside)
  /** Behind the last thing that is not blank. */
  const behind = Math.max(from, hasComma === false ? 0 : hasComma, ...inside.map(({ end }) => end))
  const comma: Edit[] = last !== undefined && hasComma === false ? [{ at: last.end, text: ',' }] : []
  if (!isLong) {
    const gap = last === undefined || /\s$/.test(text.slice(object.start + 1, close)) || inside.length > 0 ? ' ' : ''
    const end = hasComma === false ? '' : ','
    // `{}` becomes `{ a: 1 }`, `{a: 1}` becomes `{a: 1, b: 2}`.
    const blank = /\s/.test(text.charAt(behind)) && behind < close ? '' : last === undefined || inside.length > 0 ? gap : ''
    return [...comma, { at: behind, text: ` ${key}: ${value}${end}${blank}` }]
  }
  const outer = indentAt(text, close)
  const first = properties[0]
  const startsLine = first !== undefined && /^[ \t]*$/.test(text.slice(lineStart(text, first.start), first.start))
  const indent = startsLine ? text.slice(lineStart(text, first.start), first.start) : outer + unit
  const lines = value.split(/\r\n|\n|\r/).join(eol)
  const end = last === undefined || hasComma !== false ? ',' : ''
  // Where the bracket stands behind the last property, it gets a line of its own only if it had one.
  const closesLine = /[\n\r]/.test(text.slice(behind, close))
  return [...comma, { at: behind, text: `${eol}${indent}${key}: ${lines}${end}${closesLine ? '' : `${eol}${outer}`}` }]
}

/** Where the comma behind the last property ends; false where there is none. What comments hold does not count. */
function commaAfter(text: string, from: number, close: number, comments: readonly Comment[]): number | false {
  for (let at = from; at < close; at++) {
    const comment = comments.find(({ start }) => start === at)
    if (comment) at = comment.end - 1
    else if (text[at] === ',') return at + 1
  }
  return false
}

const lineStart = (text: string, at: number): number =>
  Math.max(text.lastIndexOf('\n', at - 1), text.lastIndexOf('\r', at - 1)) + 1
const indentAt = (text: string, at: number): string => /^[ \t]*/.exec(text.slice(lineStart(text, at)))?.[0] ?? ''
const unitOf = (text: string): string => (/^\t/m.test(text) ? '\t' : (/^( +)\S/m.exec(text)?.[1]?.slice(0, 8) ?? '  '))

/** The text with all of it in place. Two that go to one place stay in their order. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let at = 0
  const pieces = edits
    .toSorted((a, b) => a.at - b.at)
    .flatMap((edit) => {
      const before = text.slice(at, edit.at)
      at = edit.at
      return [before, edit.text]
    })
  return pieces.join('') + text.slice(at)
}
