import type { Finding } from '../finding.ts'
import { lazy } from '../../../text/lazy.ts'

/** A value that holds `{variable}` is known only while the game runs. */
export function isOpen(value: string | number | boolean): boolean {
  return typeof value === 'string' && /(?<!\\)\{[^{}":]*\}/.test(value)
}

export const stringsIn = /"[^"]*"|'[^']*'|`[^`]*`/g

const fullwidth = /[＝＞＜！＆｜（）＋－＊／“”‘’＂＇，、]/g

/** The engine takes an expression it cannot work out for false, and says nothing. */
export function checkExpression(expression: string, line: number): Finding | undefined {
  const bare = expression.replace(stringsIn, '0')
  const signs = [...new Set(bare.match(fullwidth))].join(' ')
  if (signs !== '') return { line, code: 'fullwidth-expression', about: { expression, signs } }
  if (/(?<![=!<>])=(?!=)/.test(bare)) return { line, code: 'single-equals', about: { expression } }
  const [, word] = / (and|or) [^&|]*?(?:==|!=|[<>])/i.exec(bare.slice(0, 1_000)) ?? []
  if (word !== undefined) {
    const instead = word.toLowerCase() === 'and' ? '&&' : '||'
    return { line, code: 'word-in-expression', about: { expression, word, instead } }
  }
  const depth = [...bare].reduce((open, sign) => (open < 0 ? open : open + (sign === '(' ? 1 : sign === ')' ? -1 : 0)), 0)
  return depth !== 0 || /["'`]/.test(bare) ? { line, code: 'broken-expression', about: { expression } } : undefined
}

export const variableName = lazy(() => /[\p{L}_$][\p{L}\p{N}_$]*(?:\.[\p{L}\p{N}_$]+)*/gu)
export const notVariables = new Set(['true', 'false', 'null', 'undefined', 'random', 'NaN', 'Infinity'])

/** Variables an expression looks at. What stands right of a comparison may be a bare word and does not count. */
export function variablesIn(expression: string): string[] {
  const bare = expression.replace(stringsIn, ' ').replace(/[=!<>]=?=?\s*[\p{L}_$][\p{L}\p{N}_$]*(?!\s*[(.])/gu, ' ')
  return [...bare.matchAll(variableName())]
    .map(([found]) => found)
    .filter((found) => !notVariables.has(found) && !found.startsWith('$'))
}

/** `\frac{d}{dx}`, `x^{n}`: what stands in braces there is no variable. */
const formula = /\\[A-Za-z]+\s*\{|[\^_]\{/

/** Variables a text shows as `{name}`. */
export function variablesShown(text: string): string[] {
  if (!text.includes('{') || formula.test(text)) return []
  return [...text.matchAll(/(?<!\\)\{([\p{L}_][\p{L}\p{N}_]*)\}/gu)].map(([, found]) => found as string)
}
