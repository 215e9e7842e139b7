import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { personCookie } from '../contracts/person-cookie.ts'

const linkMs = 10 * 60_000
const passMs = 2 * 60_000
const sessionMs = 12 * 3_600_000
const keyPrefix = 'hpk_'
/** Sign-ins that are kept at once; the oldest make room. Only the person's own keys make any. */
const most = 50

/** A key for one sign-in at one server, made by whoever can read the person's secret. */
export function signInKey(secret: string, instance: string): string {
  return seal(secret, instance, Date.now() + linkMs, randomBytes(12).toString('base64url'))
}

/**
 * A key for the person's own programs at one server. Like a sign-in it is good at that server alone and ends with it: whoever takes over the
 * port is shown a key that opens nothing.
 */
export function programKey(secret: string, instance: string): string {
  return keyPrefix + seal(secret, `key ${instance}`, Date.now() + sessionMs, randomBytes(12).toString('base64url'))
}

/** What only a server of this project can answer to a question nobody asked before; nobody else's port passes for it. */
export function proofOf(secret: string, instance: string, challenge: string): string {
  return createHmac('sha256', secret).update(`proof ${instance} ${challenge}`).digest('base64url')
}

/**
 * Tells the person from everybody else by a cookie that only a sign-in key buys. What it hands out is good at this process only: whoever
 * takes over its port when it has ended is shown that cookie by every tab left open, and can do nothing with it.
 */
export interface PersonAuth {
  /** Which server this is; see `ServedPage`. */
  readonly instance: string
  /**
   * The page's own host name, without the port. It cannot be guessed and is new in each process: whoever had the port before may have left
   * a service worker at every name it knew.
   */
  readonly name: string
  /** Where the person's pages are, below every host; told to nobody who is not signed in. */
  readonly basePath: string
  proof(challenge: string): string
  /** Whether the key was made for this server and has not lapsed; it may have been used. */
  isKey(key: string): boolean
  /** Uses the key up. What it gives lets a browser in once, at whichever host it can reach. */
  admit(key: string): string | undefined
  /** A word for the browser to bring to the page's own name, so that we see whether it gets there; undefined where the pass is not good. */
  probe(pass: string): string | undefined
  sawProbe(probe: string): void
  reachesName(pass: string): boolean
  /** The cookie to set, for this host alone. */
  enter(pass: string, host: string): string | undefined
  isPerson(request: IncomingMessage): boolean
  /** Whether a program of the person shows this, made by `programKey` for this server. */
  isProgramKey(key: string): boolean
  /** Signs out; the cookie that says so. */
  leave(request: IncomingMessage): string
  /** Goes into every form, so that no other page can send one in the person's name. */
  formToken(request: IncomingMessage): string
  /** Marks a text as ours, for this sign-in only. */
  mark(request: IncomingMessage, text: string): string
}

interface Session {
  host: string
  until: number
  form: string
  key: Buffer
}

interface Pass {
  until: number
  probe: string
  named: boolean
}

/** `spend` marks a word as used until a time, for every process on the project; false where it was used before. */
export function openPersonAuth(secret: string, consumeNonce: (word: string, until: number) => boolean): PersonAuth {
  const sessions = new Map<string, Session>()
  const passes = new Map<string, Pass>()
  const instance = randomBytes(16).toString('base64url')
  const basePath = `/p/${base32(randomBytes(17))}`
  const path = `HttpOnly; SameSite=Strict; Path=${basePath}`

  const keep = <T>(kept: Map<string, T>, name: string, value: T): void => {
    kept.set(hash(name), value)
    for (const oldest of kept.keys()) if (kept.size > most) kept.delete(oldest)
  }
  const passOf = (pass: string): Pass | undefined => {
    const found = passes.get(hash(pass))
    return found && found.until > Date.now() ? found : undefined
  }
  // Others on this machine can plant cookies of this name beside ours: each is looked at, and none but ours counts.
  const cookiesOf = ({ headers }: IncomingMessage): string[] =>
    (headers.cookie ?? '')
      .split(/; */)
      .filter((pair) => pair.startsWith(`${personCookie}=`))
      .map((pair) => hash(pair.slice(personCookie.length + 1)))
  const sessionOf = (request: IncomingMessage): Session | undefined => {
    for (const cookie of cookiesOf(request)) {
      const found = sessions.get(cookie)
      if (found && found.until > Date.now() && found.host === request.headers.host) return found
    }
    return undefined
  }

  return {
    instance,
    name: `handrail-${base32(randomBytes(10))}.localhost`,
    basePath,
    proof: (challenge) => proofOf(secret, instance, challenge),
    isKey: (key) => isSealed(secret, instance, key),
    admit(key) {
      const now = Date.now()
      if (!isSealed(secret, instance, key) || !consumeNonce(key.split('.')[1] as string, now + linkMs)) return undefined
      const pass = randomWord()
      keep(passes, pass, { until: now + passMs, probe: randomWord(), named: false })
      return pass
    },
    probe: (pass) => passOf(pass)?.probe,
    sawProbe(probe) {
      for (const pass of passes.values()) if (pass.probe === probe) pass.named = true
    },
    reachesName: (pass) => passOf(pass)?.named === true,
    enter(pass, host) {
      const good = passOf(pass) !== undefined
      passes.delete(hash(pass))
      if (!good) return undefined
      const cookie = randomWord()
      keep(sessions, cookie, { host, until: Date.now() + sessionMs, form: randomWord(), key: randomBytes(32) })
      return `${personCookie}=${cookie}; ${path}; Max-Age=${sessionMs / 1_000}`
    },
    isPerson: (request) => sessionOf(request) !== undefined,
    isProgramKey: (key) => key.startsWith(keyPrefix) && isSealed(secret, `key ${instance}`, key.slice(keyPrefix.length)),
    leave(request) {
      for (const cookie of cookiesOf(request)) sessions.delete(cookie)
      return `${personCookie}=; ${path}; Max-Age=0`
    },
    formToken: (request) => sessionOf(request)?.form ?? randomWord(),
    mark: (request, text) =>
      createHmac('sha256', sessionOf(request)?.key ?? randomBytes(32))
        .update(text)
        .digest('base64url'),
  }
}

function seal(secret: string, instance: string, until: number, nonce: string): string {
  const body = `${until.toString(36)}.${nonce}`
  return `${body}.${createHmac('sha256', secret).update(`link ${instance} ${body}`).digest('base64url')}`
}

const sealed = /^[0-9a-z]{1,12}\.[\w-]{16}\.[\w-]{43}$/

function isSealed(secret: string, instance: string, text: string): boolean {
  if (!sealed.test(text)) return false
  const [until = '', nonce = '', mark = ''] = text.split('.')
  const good = Buffer.from(seal(secret, instance, Number.parseInt(until, 36) || 0, nonce))
  const given = Buffer.from(`${until}.${nonce}.${mark}`)
  return good.length === given.length && timingSafeEqual(good, given) && Number.parseInt(until, 36) > Date.now()
}

/** Nobody guesses it, and it is looked up by its hash, so that nobody can measure their way to it either. */
function randomWord(): string {
  return randomBytes(32).toString('base64url')
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** In letters that a host name may have. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(five, 2)]).join('')
}
