import { isPlaceholder, isSecretName } from './names.ts'
import { matches, type PlaceRule, type Span } from './span.ts'

/** Secrets told by the words around them where no sign stands between name and value: in prose, markup, queries and logins. */

/** Whether this was made up rather than spoken: small and large letters and a digit, or signs among them. */
function isMadeUp(value: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^\w\s.,;:'"/()-]/].filter((kind) => kind.test(value)).length
  return value.length >= 6 && kinds >= 3
}

/** The last group of a match that is there. */
function last(match: RegExpExecArray, kind: string, holds = (value: string): boolean => !isPlaceholder(value)): Span[] {
  const value = match.slice(1).findLast((group) => group !== undefined) ?? ''
  const from = match.index + match[0].lastIndexOf(value)
  return value !== '' && holds(value) ? [{ from, to: from + value.length, kind }] : []
}

const place = (gate: string, pattern: RegExp, judge: (match: RegExpExecArray) => Span[]): PlaceRule => ({
  gate: gate.split(' '),
  find: (text) => matches(text, pattern, judge),
})

/** `name: DB_PASSWORD` with `value: …` beside it, as lists of settings have it. */
const pairs = place(
  'value',
  /(?<![\w-])(?:name|key|variable)\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?([\w.-]{1,120})\\?["']?\s{0,3},?\s{1,60}?\\?["']?value\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?([^\s"'\\<>,}]{1,4000})/gi,
  (match) => (isSecretName(match[1] ?? '') ? last(match, 'value of a setting') : []),
)
/** The same without a blank between. */
const closePairs = place(
  'value',
  /["'](?:name|key|variable)\\?["']\s{0,3}:\s{0,3}\\?["']([\w.-]{1,120})\\?["'],\\?["']value\\?["']\s{0,3}:\s{0,3}\\?["']([^\s"'\\]{1,4000})/gi,
  (match) => (isSecretName(match[1] ?? '') ? last(match, 'value of a setting') : []),
)

const elements = place(
  '</',
  /<([A-Za-z][\w.-]{0,60})(?:\s[^<>]{0,200})?>\s{0,20}([^<>\s][^<>]{2,4000}?)\s{0,20}<\/\1>/g,
  (match) => (isSecretName(match[1] ?? '') ? last(match, 'value of an element') : []),
)
const plists = place('<string>', /<key>([\w .-]{1,80})<\/key>\s{0,20}<string>([^<>]{3,4000})<\/string>/g, (match) =>
  isSecretName((match[1] ?? '').replaceAll(' ', '_')) ? last(match, 'value of an element') : [],
)

/** `password: |` with the value on the lines below, as far as they are further in. */
const blocks = place(
  '|\n >\n |- >- |+ >+ |\r >\r',
  /(?<![^\n])([ \t]{0,40}(?:- )?)["']?([\w.-]{1,120})["']?:[ \t]{1,3}[|>][-+\d]{0,2}[ \t]{0,3}\r?(?=\n)/g,
  ({ 0: all, 1: indent = '', 2: name = '', index, input }) => {
    if (!isSecretName(name)) return []
    let end = index + all.length
    while (end < input.length && deeper(input, end + 1, indent.length)) {
      const next = input.indexOf('\n', end + 1)
      end = next < 0 ? input.length : next
    }
    const from = index + all.length + 1
    return end > from ? [{ from, to: end, kind: 'value of a setting' }] : []
  },
)

function deeper(text: string, line: number, indent: number): boolean {
  const room = /[ \t]*/y
  room.lastIndex = line
  const length = room.exec(text)?.[0].length ?? 0
  const first = text[line + length]
  return length > indent && first !== undefined && first !== '\n'
}

/** `machine h login u password X`, also over several lines. */
const netrc = place(
  'password passwd',
  /(?<![\w-])(?:login|user|account)\s{1,20}\S{1,200}\s{1,20}passw(?:or)?d\s{1,20}["']?([^\s"']{3,400})/gi,
  (match) => last(match, 'password'),
)
const sql = place(
  'password identified',
  /(?<![\w-])(?:identified\s{1,5}(?:with\s{1,5}\S{1,60}\s{1,5})?(?:by|as)|(?:encrypted\s{1,5})?password)\s{1,5}'((?:[^'\n]|''){3,400})'/gi,
  (match) => last(match, 'password'),
)
/** What mail, file and key-value servers are told to let somebody in, and what is set for them. */
const logins = place(
  'auth requirepass securestring networkcredential wifi:',
  /(?<![\w-])(?:AUTH[ \t](?:PLAIN|LOGIN)[ \t]([\w+/=]{6,400})|requirepass[ \t]{1,5}(\S{3,400})|ConvertTo-SecureString[ \t]{1,5}(?:-String[ \t]{1,5})?["']([^"'\n]{3,400})|NetworkCredential\(["'][^"'\n]{0,100}["'],[ \t]{0,3}["']([^"'\n]{3,400})|WIFI:[^\n]{0,200}?;P:([^;\n]{3,100}))/g,
  (match) => last(match, 'password'),
)
/** `AUTH X` and `PASS X`, as servers are told; runners of tests say the second before a path. */
const told = place('auth pass', /(?<![^\n])(?:AUTH|PASS)[ \t]{1,5}([^\s/]{6,400})(?=\s|$)/g, (match) =>
  last(match, 'password', isMadeUp),
)
/** `host:5432:database:user:X`, a line of a file of logins. */
const pgpass = place(':', /(?<![\w.:/-])[\w.*-]{1,100}:\d{4,5}:[\w.*-]{1,60}:[\w.*-]{1,60}:([^\s:]{6,200})/g, (match) =>
  last(match, 'password', isMadeUp),
)

/** What somebody says: `the password is X`, `use the token X`, `Password for 'https://me@host': X`. */
const prose = place(
  'password passwort passphrase passcode kennwort token secret pwd',
  /(?<![\w-])(?:passwor[dt]|passphrase|passcode|kennwort|api[ -]key|token|secret|pwd)(?:\s{1,3}(?:is|was|are|ist|to|for (?:'[^'\n]{1,200}'|[^\s:']{1,120})))?[:,]?\s{1,3}["'`“]?([^\s"'`”<>]{6,400})/gi,
  (match) =>
    last(match, 'password', (value) => isMadeUp(value.replace(/[.,;:!?)]+$/, '')) && !/[(){}[\]<>$=]|:\/\/|^\W/.test(value)),
)
/** Names for them in other languages, with what is written in Latin letters behind. */
const languages = place(
  '密码 口令 密钥 令牌 密碼 パスワード 暗証番号 비밀번호 암호 пароль токен contraseña passe senha hasło parola şifre mật',
  /(?:密码|密碼|口令|密钥|令牌|パスワード|暗証番号|비밀번호|암호|пароль|токен|contraseña|mot de passe|senha|hasło|parola|şifre|mật khẩu)\s{0,3}(?:[:=：]|是|为|為|は|은|는|это|est|es|é)\s{0,3}["'“「『]?([\x21-\x26\x28-\x7e]{4,400})/gi,
  (match) => last(match, 'password', (value) => /\d|[^\w.,;!?-]/.test(value) && !isPlaceholder(value)),
)

/** Keys without the line that says so, and those of other makers. */
const bodies = place(
  'private-lines mii migh mc4c b3blbnnzac1',
  /Private-Lines:[ \t]\d{1,4}\r?\n((?:[\w+/=]{1,100}(?:\r?\n|$)){1,200})|(?<![\w+/])((?:MII[\w+/]{3}IBADANBgkqhkiG|MII[\w+/]{2}[\w+/]IBAAK|MI[GH][\w+/]AgE|MC4CAQAwBQYDK2V|b3BlbnNzaC1rZXktdjE)(?:[\w+/=]|\\n){24,8000})/g,
  (match) => last(match, 'private key'),
)

export const spoken: readonly PlaceRule[] = [
  pairs,
  closePairs,
  elements,
  plists,
  blocks,
  netrc,
  sql,
  logins,
  told,
  pgpass,
  bodies,
  languages,
  prose,
]
