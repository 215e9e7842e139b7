import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { personCookie } from '../contracts/names.ts'

const linkMs = 10 * 60_000
const cookieMs = 12 * 3_600_000

/** A key for one sign-in, made by whoever can read the person's secret. */
export function signInKey(secret: string): string {
  return seal(secret, 'link', Date.now() + linkMs, randomBytes(12).toString('base64url'))
}

/** Tells the person from everybody else by a cookie that only a sign-in key buys. */
export interface Doorman {
  /** The cookie to set, where the key is good and was not used before. */
  signIn(key: string): string | undefined
  isPerson(request: IncomingMessage): boolean
  /** Goes into every form, so that no other page can send one in the person's name. */
  formToken(request: IncomingMessage): string
}

/** `spend` marks a word as used until a time, for every process on the project; false where it was used before. */
export function openDoorman(secret: string, spend: (word: string, until: number) => boolean): Doorman {
  const cookieOf = ({ headers }: IncomingMessage): string =>
    (headers.cookie ?? '')
      .split(/; */)
      .find((pair) => pair.startsWith(`${personCookie}=`))
      ?.slice(personCookie.length + 1) ?? ''
  return {
    signIn(key) {
      const now = Date.now()
      if (!isSealed(secret, 'link', key) || !spend(key.split('.')[1] as string, now + linkMs)) return undefined
      const value = seal(secret, 'cookie', now + cookieMs, randomBytes(12).toString('base64url'))
      return `${personCookie}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${cookieMs / 1_000}`
    },
    isPerson: (request) => isSealed(secret, 'cookie', cookieOf(request)),
    formToken: (request) =>
      createHmac('sha256', secret)
        .update(`form ${cookieOf(request)}`)
        .digest('base64url'),
  }
}

function seal(secret: string, use: 'link' | 'cookie', until: number, nonce: string): string {
  const body = `${until.toString(36)}.${nonce}`
  return `${body}.${createHmac('sha256', secret).update(`${use} ${body}`).digest('base64url')}`
}

const sealed = /^[0-9a-z]{1,12}\.[\w-]{16}\.[\w-]{43}$/

function isSealed(secret: string, use: 'link' | 'cookie', text: string): boolean {
  if (!sealed.test(text)) return false
  const [until = '', nonce = '', mark = ''] = text.split('.')
  const good = Buffer.from(seal(secret, use, Number.parseInt(until, 36) || 0, nonce))
  const given = Buffer.from(`${until}.${nonce}.${mark}`)
  return good.length === given.length && timingSafeEqual(good, given) && Number.parseInt(until, 36) > Date.now()
}
