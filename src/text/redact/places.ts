import { isPlaceholder, isSecretName } from './names.ts'
import { isHandedSecret, secretsAmong } from './programs.ts'
import { spoken } from './spoken.ts'
import { matches, type PlaceRule, type Span } from './span.ts'
import { commandsIn } from './words.ts'

const keys: PlaceRule = {
  gate: ['-----begin', '---- begin ssh2'],
  find: (text) =>
    matches(
      text,
      /-----BEGIN [A-Z0-9 ]{0,60}?PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----/g,
      ({ 0: all, index }) => {
        const dashes = all.endsWith('-----') ? '-----' : '----'
        const end = text.indexOf(dashes === '-----' ? '-----END' : '---- END', index + all.length)
        const line = end < 0 ? -1 : text.indexOf(dashes, end + 8)
        // Without its end it was cut: then nothing after it is trusted.
        return { from: index, to: line < 0 ? text.length : line + dashes.length, kind: 'private key' }
      },
    ),
}

/** Longer than any address; one that goes on is taken to hold a secret to its end. */
/** Longer than any header that holds a secret. */
const longestValue = 16_000
const longestUrl = 4_000

const urls: PlaceRule = {
  gate: ['://'],
  find: (text) =>
    matches(text, /[A-Za-z][A-Za-z0-9+.-]{0,30}:\/\//g, ({ 0: scheme, index }) => {
      const start = index + scheme.length
      const rest = wordAt(text, start, /[^\s"'`<>]*/y, longestUrl)
      return [...userInfo(rest, start), ...query(rest, start)]
    }),
}

function userInfo(rest: string, start: number): Span[] {
  const authority = rest.search(/[/?#\\]/)
  const host = authority < 0 ? rest : rest.slice(0, authority)
  let at = host.lastIndexOf('@')
  // `u:p/ss@host`: no port is written so, it is a password with a slash.
  if (at < 0 && /^[^:@[]*:(?!\d{1,5}$)[^:@]+$/.test(host)) at = rest.length >= longestUrl ? rest.length : rest.lastIndexOf('@')
  if (at < 0) return []
  const colon = rest.indexOf(':')
  if (colon >= 0 && colon < at) {
    const secret = rest.slice(colon + 1, at)
    return isPlaceholder(secret) && secret.length >= 3 ? [] : [{ from: start + colon + 1, to: start + at, kind: 'password' }]
  }
  // A name alone is harmless (`git@`); a token in its place is not.
  const mixed = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])\S{12,}$/
  const name = rest.slice(0, at)
  return (at >= 16 && /\d/.test(name)) || mixed.test(name) ? [{ from: start, to: start + at, kind: 'token' }] : []
}

const queryNames =
  /^(?:sig|signature|code|key|x-amz-(?:signature|credential|security-token)|x-goog-signature|x-oss-signature|token|st)$/i

function query(rest: string, start: number): Span[] {
  return matches(rest, /[?&;#]([\w.%[\]-]{1,60})=([^&;#\s]+)/g, ({ 0: all, 1: name = '', 2: value = '', index }) =>
    queryNames.test(name) || isSecretName(name)
      ? { from: start + index + all.length - value.length, to: start + index + all.length, kind: 'value of a query' }
      : [],
  )
}

/** The same inside another address, where it is written with percent signs. */
const encodedUrls: PlaceRule = {
  gate: ['%3a%2f%2f'],
  find: (text) =>
    matches(text, /%3A%2F%2F([^\s"'`<>&]{1,2000})/gi, ({ 0: all, 1: rest = '', index }) => {
      const start = index + all.length - rest.length
      const at = rest.search(/%40/i)
      const colon = rest.search(/%3A/i)
      return at > 0 && colon >= 0 && colon < at ? { from: start + colon + 3, to: start + at, kind: 'password' } : []
    }),
}

const notUsers =
  /^(?:npm|mailto|acct|sips?|xmpp|workspace|file|link|catalog|jsr|git|github|gitlab|patch|portal|http|https|ssh|sha256|sha512)$/i

/** `user:password@host` without a scheme. */
const logins: PlaceRule = {
  gate: ['@'],
  find: (text) =>
    matches(text, /(?<![^\s"'`=(,])([^\s"'`=(,:@/]{1,64}):([^\s"'`@]{1,200})@([A-Za-z0-9][A-Za-z0-9.-]{0,80}|\[)/g, (match) => {
      const { 0: all, 1: user = '', 2: secret = '', 3: host = '', index } = match
      const isHost = host.includes('.') || host === '[' || host === 'localhost' || host === 'tcp' || host === 'unix'
      const from = index + all.indexOf(':') + 1
      if (!isHost || /^\d+\.\d+\.\d+(?:-|$)/.test(host) || notUsers.test(user) || secret.startsWith('//')) return []
      return { from, to: from + secret.length, kind: 'password' }
    }),
}

/** Oracle's own way: a slash between the two. */
const oracle: PlaceRule = {
  gate: ['jdbc:oracle:'],
  find: (text) =>
    matches(text, /jdbc:oracle:\w{1,10}:[^\s/@"'`]{1,64}\/([^\s@"'`]{1,200})@/gi, ({ 0: all, 1: secret = '', index }) => {
      const to = index + all.length - 1
      return { from: to - secret.length, to, kind: 'password' }
    }),
}

const schemes = /(?:basic|bearer|token|apikey|api-key|key|negotiate|ntlm|digest|hmac|oauth|ghtoken)[ \t]+/iy

const headers: PlaceRule = {
  gate: ['authorization', 'cookie', 'x-', 'private-token', 'job-token', 'deploy-token', 'api-key', 'apikey', 'auth-token'],
  find: (text) =>
    matches(
      text,
      /(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie2?|x-[a-z0-9-]{0,40}?(?:key|token|secret|auth|password|signature)|private-token|job-token|deploy-token|api-?key|auth-token)(?:\\?["'])?\s{0,3}[:=]\s{0,3}(?:\\?["'])?/gi,
      ({ 0: all, 1: name = '', index }) => {
        const scheme = wordAt(text, index + all.length, schemes)
        const from = index + all.length + scheme.length
        // A cookie, and a signature of several parts, is all of its line; a token is one word.
        const several = /cookie/i.test(name) || wordAt(text, from, /(?:[\w-]{1,60} )?\w{1,60}=(?=[^\s=])/y) !== ''
        const value = wordAt(text, from, several ? /[^\r\n"'`\\]*/y : /[^\s"'`\\]*/y, longestValue)
        return isPlaceholder(value) ? [] : { from, to: from + value.trimEnd().length, kind: 'value of a header' }
      },
    ),
}

/** `Bearer X` and `Basic X` wherever they stand, where X is none of the words of a sentence. */
const bearers: PlaceRule = {
  gate: ['bearer', 'basic'],
  find: (text) =>
    matches(
      text,
      /(?<![A-Za-z])(bearer|basic)(?:\s|%20|\+){1,3}([A-Za-z0-9+/._~%-]{8,}={0,2})/gi,
      ({ 0: all, 1: scheme = '', 2: value = '', index }) => {
        const spoken = /^[a-z]+[.,]?$|^[A-Z]?[a-z]+(?:-[a-z]+)*[.,]?$/.test(value)
        const isBasic = scheme.toLowerCase() === 'basic'
        if (spoken || (isBasic && !isPair(value))) return []
        return { from: index + all.length - value.length, to: index + all.length, kind: isBasic ? 'password' : 'token' }
      },
    ),
}

/** Whether this is base64 of `user:password`. */
function isPair(value: string): boolean {
  try {
    return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(atob(decodeURIComponent(value)))
  } catch {
    return false
  }
}

const deepest = 3

/** Flags of commands, by position; also of commands inside quotes (`sh -c "…"`). */
export const flags: PlaceRule = {
  gate: [],
  find: (text) => flagsIn(text, 0, text.length, 0),
}

function flagsIn(text: string, start: number, end: number, depth: number): Span[] {
  const commands = commandsIn(text, start, end)
  return commands.flatMap((words, index) => {
    const texts = words.map((word) => word.text)
    const own = secretsAmong(texts).flatMap(({ word, from, kind }) => {
      const at = words[word]
      return at ? { ...unquoted(text, at.from + from, at.to), kind } : []
    })
    const next = commands[index + 1]?.map((word) => word.text)
    const first = words[1]
    if (first && isHandedSecret(texts, next))
      own.push({ ...unquoted(text, first.from, words.at(-1)?.to ?? first.to), kind: 'password' })
    const inner = depth < deepest ? words.filter(({ quoted, text: word }) => quoted && /\s/.test(word)) : []
    return [...own, ...inner.flatMap((word) => flagsIn(text, word.from, word.to, depth + 1))]
  })
}

/** Quotes around a value stay, so that the command can still be read. */
function unquoted(text: string, from: number, to: number): { from: number; to: number } {
  const quote = text[from]
  return (quote === '"' || quote === "'") && text[to - 1] === quote && to - from > 1
    ? { from: from + 1, to: to - 1 }
    : { from, to }
}

/** Strings that connect to a database or a queue: their passwords may hold anything but what ends them. */
const connections: PlaceRule = {
  gate: ['password', 'pwd', 'accountkey', 'accesskey', 'sharedaccesssignature'],
  find: (text) =>
    matches(
      text,
      /(?<![A-Za-z])(?:Password|Pwd|AccountKey|SharedAccessKey|SharedAccessSignature)\s?=\s?([^;"'\r\n]{1,400})/gi,
      ({ 0: all, 1: value = '', index }) =>
        (text[index + all.length] !== ';' && text[index - 1] !== ';') || isPlaceholder(value)
          ? []
          : { from: index + all.length - value.length, to: index + all.length, kind: 'password' },
    ),
}

export const places: readonly PlaceRule[] = [
  keys,
  urls,
  encodedUrls,
  logins,
  oracle,
  headers,
  bearers,
  flags,
  connections,
  ...spoken,
]

function wordAt(text: string, at: number, word: RegExp, most = text.length): string {
  // Looked through no further than it counts: a text of beginnings would be read to its end from each of them.
  const part = most < text.length ? text.slice(at, at + most) : text
  word.lastIndex = part === text ? at : 0
  return word.exec(part)?.[0] ?? ''
}
