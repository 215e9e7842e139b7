import { assigned } from './assigned.ts'
import { flags, places } from './places.ts'
import { programNames } from './programs.ts'
import type { Span } from './span.ts'
import { mayHaveVerbs } from './verbs.ts'
import { besideAws, vendorPatterns, type VendorPattern } from './vendors.ts'

/** Most texts hold none of these and need no closer look. */
const suspicious = new RegExp(
  [
    'pass|pwd|pw["\'\\s]{0,3}[:=]|secret|token|key|auth|cred|private|cert|cookie|bearer|basic|jwt|otp|sid|://|%3a|-----begin|密码|口令|密钥|令牌',
    '@|\\d{8}:|q~|==|:\\d{4,5}:|identified|securestring|networkcredential|wifi:|psk|assertion|sk[0-9a-f]{32}|[0-9a-f]{32}[.-]|[012]/\\d{10}|mii|migh|mc4c|b3blbnnzac1',
    '密碼|パスワード|暗証番号|비밀번호|암호|пароль|токен|contraseña|passe|senha|hasło|parola|şifre|mật khẩu|kennwort',
    ...[...new Set(vendorPatterns.flatMap((pattern) => pattern.gate))].filter((word) => word.length > 2).map(escape),
  ].join('|'),
  'i',
)
/** A command is more than one word. */
const command = new RegExp(`(?:^|[\\s/\\\\"'(])(?:${programNames.map(escape).join('|')})(?:\\.exe)?\\s`, 'i')

function escape(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\-]/g, '\\$&')
}

/** Told apart from anything a text can hold, while it is worked on. */
const opened = '\uf8fe'
const closed = '\uf8ff'
const marks = /[\uf8fe\uf8ff]/g
const marked = /\uf8fe(\d+)\uf8ff/g
const alreadyHidden = /\[secret: [A-Za-z ]{1,40}, \d{1,9} characters\]/g

/** A text without its secrets: each is replaced by what it was and how long. Work grows with the length of the text, whatever it is. */
export function redact(text: string): string {
  if (!suspicious.test(text) && !command.test(text)) return text
  const hidden: string[] = []
  const mark = (words: string): string => `${opened}${hidden.push(words) - 1}${closed}`
  let left = text.replace(marks, '\ufffd').replace(alreadyHidden, mark)
  const lower = left.toLowerCase()
  const gated = (gate: readonly string[]): boolean => gate.length === 0 || gate.some((word) => lower.includes(word))
  const hide = (stretches: Span[]): void => {
    if (stretches.length === 0) return
    let made = ''
    let at = 0
    for (const { from, to, kind } of stretches.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
      if (from < at || to <= from) continue
      const secret = left.slice(from, to)
      if (/^\uf8fe\d+\uf8ff$/.test(secret)) continue
      made += left.slice(at, from) + mark(`[secret: ${kind}, ${lengthOf(secret, hidden)} characters]`)
      at = to
    }
    left = made + left.slice(at)
  }
  for (const place of places) if (place === flags ? mayHaveFlags(left) : gated(place.gate)) hide(place.find(left))
  const scan = ({ kind, gate, find }: VendorPattern): void => {
    if (gated(gate)) left = left.replace(find, (secret) => mark(`[secret: ${kind}, ${lengthOf(secret, hidden)} characters]`))
  }
  if (gated(besideAws.gate) && /(?:AKIA|ASIA)[0-9A-Z]{12}/.test(left)) scan(besideAws)
  vendorPatterns.forEach(scan)
  hide(assigned(left))
  return hidden.length === 0 ? text : unmark(left, hidden)
}

function mayHaveFlags(text: string): boolean {
  return (
    mayHaveVerbs.test(text) ||
    /[-/<]\w|\becho\b|\bprintf\b|\bsetx?\b|\bsetenv\b|\bENV\b|\bsecrets?\b|\bnet user?\b|\bconfig\b|htpasswd|vault/.test(text)
  )
}

/** Marks inside marks are unfolded: the outer one says what stood there. */
function unmark(text: string, hidden: readonly string[]): string {
  return text.replace(marked, (_, index: string) => hidden[Number(index)] ?? '')
}

function lengthOf(secret: string, hidden: readonly string[]): number {
  return secret.replace(marked, (_, index: string) => {
    const length = /, (\d+) characters\]$/.exec(hidden[Number(index)] ?? '')?.[1]
    return 'x'.repeat(Math.min(Number(length ?? 0), 100_000))
  }).length
}
