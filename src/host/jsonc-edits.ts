import type { Node } from 'jsonc-parser'

/** How a text is laid out: one level of indentation, and its line ends. */
export interface Layout {
  unit: string
  eol: string
}

/** As the text is written already, else two blanks. */
export function layoutOf(text: string): Layout {
  const indent = /^([ \t]+)[^\s/*]/m.exec(text)?.[1] ?? '  '
  return { unit: indent.startsWith('\t') ? '\t' : indent.slice(0, 8), eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

/** Adds a property as the last of an object. A comment beside the property before it stays beside it. */
export function insertProperty(text: string, object: Node, name: string, value: unknown, layout: Layout): string {
  const { eol, unit } = layout
  const [first, last] = [object.children?.[0], object.children?.at(-1)]
  const from = last ? endOf(last) : object.offset + 1
  const close = endOf(object) - 1
  const { comma, end } = between(text, from, close)
  const outer = indentOf(text, object.offset)
  const indent = first && startsLine(text, first.offset) ? indentOf(text, first.offset) : outer + unit
  const rest = text.slice(end, close)
  return [
    text.slice(0, from),
    last && comma === undefined ? ',' : '',
    text.slice(from, end),
    `${eol}${indent}${JSON.stringify(name)}: ${written(value, indent, layout)}`,
    last && comma !== undefined ? ',' : '',
    rest.includes('\n') ? rest : eol + outer,
    text.slice(close),
  ].join('')
}

/** Puts another value in a value's place. */
export function replaceValue(text: string, node: Node, value: unknown, layout: Layout): string {
  return text.slice(0, node.offset) + written(value, indentOf(text, node.offset), layout) + text.slice(endOf(node))
}

/** Takes a property out, with its comma and its lines. Comments around it stay. */
export function removeProperty(text: string, property: Node): string {
  const object = property.parent as Node
  const siblings = object.children ?? []
  const index = siblings.indexOf(property)
  const [before, next] = [siblings[index - 1], siblings[index + 1]]
  const { comma } = between(text, endOf(property), next ? next.offset : endOf(object) - 1)
  let left = withoutLines(text, property.offset, comma === undefined ? endOf(property) : comma + 1)
  // The last of several: the comma before it has nothing to part any more.
  const needless = before && comma === undefined ? between(text, endOf(before), property.offset).comma : undefined
  if (needless !== undefined) left = left.slice(0, needless) + left.slice(needless + 1)
  const close = left.length - (text.length - endOf(object)) - 1
  const empty = left.slice(object.offset + 1, close).trim() === ''
  return empty ? left.slice(0, object.offset + 1) + left.slice(close) : left
}

const endOf = (node: Node): number => node.offset + node.length

/** A value as text: objects over lines, lists on one. */
export function written(value: unknown, indent: string, layout: Layout): string {
  const { unit, eol } = layout
  if (Array.isArray(value)) return `[${value.map((item) => written(item, indent, layout)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = indent + unit
  const rows = Object.entries(value).map(([name, child]) => `${inner}${JSON.stringify(name)}: ${written(child, inner, layout)}`)
  return rows.length === 0 ? '{}' : ['{', rows.join(`,${eol}`), `${indent}}`].join(eol)
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function indentOf(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? ''
}

function startsLine(text: string, at: number): boolean {
  return text.slice(lineStart(text, at), at).trim() === ''
}

/** Whole lines where nothing else stands on them, else just the stretch itself. */
function withoutLines(text: string, start: number, end: number): string {
  const newline = text.indexOf('\n', end)
  const alone = startsLine(text, start) && newline >= 0 && text.slice(end, newline).trim() === ''
  return alone ? text.slice(0, lineStart(text, start)) + text.slice(newline + 1) : text.slice(0, start) + text.slice(end)
}

/** In a stretch of blanks, comments and at most one comma: where the comma is, and where the last of comma and comments ends. */
function between(text: string, from: number, to: number): { comma: number | undefined; end: number } {
  let comma: number | undefined
  let end = from
  for (const { 0: found, index } of text.slice(from, to).matchAll(/,|\/\/[^\r\n]*|\/\*[^]*?\*\//g)) {
    if (found === ',') comma = from + index
    end = from + index + found.length
  }
  return { comma, end }
}
