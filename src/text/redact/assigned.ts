import { isPlaceholder, isSecretName } from './names.ts'
import type { Span } from './span.ts'

/** A name with a value: `X=…`, `"x": "…"`, `x: …`, also with its quotes escaped inside another string. */
const assignment = /(?<![\w$-])([A-Za-z_][\w.-]{0,120}|密码|口令|密钥|令牌)((?:\\{0,3}["'])?\s{0,3}(?::=|=>|[:=：]|%3D)\s{0,3})/gi

/** What code has on the right of its names: calls, members of what is known to have some. */
const code =
  /^(?:[A-Za-z_$][\w$.]*(?:\(|\[|<)|await |new |(?:this|self|process|os|env|config|settings|options|args|props|req|request|response|state|ctx)\.|\(|\[|\{|=|\/|\\[swdbn.])/
const member = /^[A-Za-z_$][\w$]*\.[A-Za-z_]/

/** Values that are secrets by the name they are given. */
export function assigned(text: string): Span[] {
  const found: Span[] = []
  assignment.lastIndex = 0
  for (let match = assignment.exec(text); match; match = assignment.exec(text)) {
    const from = match.index + match[0].length
    assignment.lastIndex = from
    const name = match[1] as string
    if (!isSecretName(name.slice(name.lastIndexOf('.') + 1)) && name.charCodeAt(0) < 0x80) continue
    // Judged by its beginning: to look for the end of what is none would be to read the text again for every name.
    const judged = valueAt(text.slice(from, from + enough), 0)
    const value = text.slice(from + judged.start, from + judged.end)
    if (isPlaceholder(value) || !isSecretValue(text, match, value, judged.quoted)) continue
    const { start, end } = valueAt(text, from)
    found.push({ from: start, to: end, kind: kindOf(name) })
    assignment.lastIndex = end
  }
  return found
}

function isSecretValue(text: string, match: RegExpExecArray, value: string, quoted: boolean): boolean {
  if (value.length < 4) return false
  const name = match[1] as string
  if (name.charCodeAt(0) >= 0x80) return /[\x21-\x7e]{4}/.test(value)
  if (quoted) return true
  if (code.test(value) || code.test(text.slice(match.index + match[0].length, match.index + match[0].length + 120))) return false
  // Around `=` in code there is room, and the right side may be another variable: letters alone are one.
  const roomy = /\s[:=]|[:=]\s/.test(match[2] as string)
  if (roomy && member.test(value)) return false
  return !roomy || /\d/.test(value) || value.length >= 24 || (/pass|pwd/i.test(name) && !/^[a-z]+[A-Z]/.test(value))
}

/** Where the value ends: at its closing quote, or where the word does. */
function valueAt(text: string, from: number): { start: number; end: number; quoted: boolean } {
  const opening = /\$?("""|'''|\\{0,3}["'`])|/y
  opening.lastIndex = from
  const match = opening.exec(text)
  const quote = match?.[1]
  if (quote !== undefined) {
    const start = from + (match?.[0].length ?? 0)
    const end = closingAt(text, start, quote)
    const line = text.indexOf('\n', start)
    return { start, end: end >= 0 ? end : line < 0 ? text.length : line, quoted: true }
  }
  const word = /[^\s"'`&;,<>|)}\]]*/y
  word.lastIndex = from
  return { start: from, end: from + (word.exec(text)?.[0].length ?? 0), quoted: false }
}

const enough = 200
const longestValue = 20_000

function closingAt(text: string, start: number, quote: string): number {
  const most = Math.min(text.length, start + longestValue)
  if (quote.length > 1) {
    const end = text.slice(start, most).indexOf(quote)
    return end < 0 ? -1 : start + end
  }
  for (let at = start; at < most; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === quote) return at
  }
  return -1
}

function kindOf(name: string): string {
  return /pass|pwd|密码|口令/i.test(name)
    ? 'password'
    : /token|jwt|令牌/i.test(name)
      ? 'token'
      : /key|密钥/i.test(name)
        ? 'key'
        : 'value'
}
