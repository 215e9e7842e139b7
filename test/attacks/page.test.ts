import { createHash, createHmac, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signInKey } from '../../src/surfaces/person-auth.ts'
import { enter, keyFor, pressSignIn, signInByLink, visitAt } from '../support/person.ts'
import { serveInside } from '../support/inside.ts'
import { openServe } from '../support/serve.ts'
import { openWorld } from '../support/world.ts'
import {
  approve,
  args,
  close,
  open,
  decide,
  files,
  formToken,
  question,
  rooms,
  secretOf,
  served,
  signIn,
  state,
  visit,
  type Visit,
  world,
} from '../support/page.ts'

beforeAll(open)
afterAll(close)

/** A key or cookie, made by somebody who may not have the right secret or the right time. */
function seal(secret: string, use: string, until: number, nonce = randomBytes(12).toString('base64url')): string {
  const body = `${until.toString(36)}.${nonce}`
  const instance = world.runtime.servedPages.list().find(({ url }) => url === served.url)?.instance
  return `${body}.${createHmac('sha256', secret).update(`${use} ${instance} ${body}`).digest('base64url')}`
}

const hour = 3_600_000

test('what this file makes is good: a key signs in once, and the form decides', async () => {
  expect((await pressSignIn(served, seal(secretOf(world), 'link', Date.now() + hour))).status).toBe(303)
  const linked = await signInByLink(served, world.project)
  expect((await visitAt(served.port, `${linked.basePath}/approvals`, { headers: { Cookie: linked.cookie } })).status).toBe(200)
  const { id } = await question()
  const cookie = await signIn()
  const form = await formToken(id, cookie)
  const done = await approve(id, { form, note: 'fine' }, cookie)
  expect([done.status, done.headers.get('location')]).toEqual([303, `${rooms.get(served)}/approvals?after=${id}`])
  expect(world.runtime.approvals.get(id)).toMatchObject({ state: 'approved', decidedBy: 'person@page', note: 'fine' })
})

describe('nobody but the person', () => {
  test('without a cookie nothing is shown and nothing is decided', async () => {
    const { id, card } = await question()
    for (const path of ['/approvals', `/approvals/${id}`, '/approvals/', '/approvals/none'])
      for (const accept of ['*/*', 'text/html', 'application/json']) {
        const { status, text, headers } = await visit(path, { headers: { Accept: accept } })
        expect([path, accept, status]).toEqual([path, accept, accept === 'text/html' ? 303 : 401])
        if (status === 303) expect(headers.get('location')).toBe('/sign-in')
        expect(text).not.toContain(id)
        expect(text).not.toContain(card.title)
      }
    const basePath = (await enter(served, keyFor(served, world.runtime))).basePath
    for (const where of [`/approvals/${id}`, `${basePath}/approvals/${id}`])
      expect(
        (await visitAt(served.port, where, { method: 'POST', headers: { Origin: served.url }, body: 'decision=approve' })).status,
      ).toBe(401)
    const browser = await decide(id, { decision: 'approve' }, { Accept: 'text/html', Origin: served.url })
    expect([401, 303]).toContain(browser.status)
    expect(state(id)).toBe('pending')
  })

  test("an agent's token opens nothing here, alone or beside anything else", async () => {
    const { id } = await question()
    const bearer = { Authorization: `Bearer ${served.token}` }
    const cookies: string[] = [
      served.token,
      seal(served.token, 'cookie', Date.now() + hour),
      seal('', 'cookie', Date.now() + hour),
    ]
    await signIn()
    const tries: Record<string, string>[] = [
      bearer,
      ...cookies.map((value) => ({ ...bearer, Cookie: `handrail_person=${value}` })),
    ]
    for (const headers of tries) {
      for (const path of ['/approvals', `/approvals/${id}`]) expect([401, 429]).toContain((await visit(path, { headers })).status)
      const form = createHmac('sha256', served.token).update(`form ${cookies[1]}`).digest('base64url')
      expect([401, 429]).toContain((await decide(id, { form, decision: 'approve' }, headers)).status)
    }
    for (const key of [served.token, seal(served.token, 'link', Date.now() + hour), '']) {
      expect((await visit(`/sign-in?key=${key}`)).status).toBe(403)
      expect((await pressSignIn(served, key)).status).toBe(403)
    }
    expect(state(id)).toBe('pending')
  })

  test('a cookie that is forged, lapsed, cut, or of another project opens nothing', async () => {
    await using other = await openWorld({ files })
    await using serving = await serveInside(other.project, { args })
    const secret = secretOf(other)
    const good = (await signIn(serving, other)).split('=')[1] as string
    const forged: Record<string, string> = {
      'not there': '',
      noise: randomBytes(32).toString('base64url'),
      'a key': seal(secret, 'link', Date.now() + hour),
      'made of the secret, as it once was': seal(secret, 'cookie', Date.now() + hour),
      'of another project': (await signIn()).split('=')[1] as string,
      'cut short': good.slice(0, -1),
      'and more': `${good}A`,
      'other case': good.toUpperCase(),
      'its hash': createHash('sha256').update(good).digest('base64url'),
      'the secret': secret,
    }
    for (const [what, value] of Object.entries(forged))
      expect([
        what,
        (await visit('/approvals', { at: serving, headers: { Cookie: `handrail_person=${value}` } })).status,
      ]).toEqual([what, 401])
    for (const cookie of [
      `Handrail_Person=${good}`,
      `handrail_person =${good}`,
      `x=handrail_person=${good}`,
      `xhandrail_person=${good}`,
      good,
    ])
      expect([cookie, (await visit('/approvals', { at: serving, headers: { Cookie: cookie } })).status]).toEqual([cookie, 401])
    // What others on this machine planted beside it neither signs in nor locks out.
    for (const cookie of [`a=b; handrail_person=${good}; c=d`, `handrail_person=x; handrail_person=${good}; handrail_person=`])
      expect((await visit('/approvals', { at: serving, headers: { Cookie: cookie } })).status).toBe(200)
    // Nor does it count outside the room, at another name, or when the person has signed out.
    const Cookie = `handrail_person=${good}`
    expect((await visitAt(serving.port, '/approvals', { headers: { Cookie } })).status).toBe(401)
    for (const name of ['localhost', '[::1]'])
      expect((await visit('/approvals', { at: serving, headers: { Cookie, Host: `${name}:${serving.port}` } })).status).toBe(401)
    const out = await visit('/sign-out', { at: serving, method: 'POST', headers: { Cookie, Origin: serving.url }, body: '' })
    expect([out.status, out.headers.get('location')]).toEqual([303, '/sign-in'])
    expect((await visit('/approvals', { at: serving, headers: { Cookie } })).status).toBe(401)
  })

  test('a sign-in key that is lapsed, tampered with, or of another project or use buys no cookie', async () => {
    const secret = secretOf(world)
    await using other = await openWorld({ files })
    const instance = world.runtime.servedPages.list()[0]?.instance ?? ''
    const good = keyFor(served, world.runtime)
    const [until, nonce, mark] = good.split('.') as [string, string, string]
    const keys = [
      seal(secret, 'link', Date.now() - 1),
      seal(secret, 'cookie', Date.now() + hour),
      signInKey(secretOf(other), instance),
      signInKey(secret, ''),
      signInKey(secret, `${instance.slice(1)}x`),
      (await signIn()).split('=')[1] as string,
      `${(Date.now() + hour).toString(36)}.${nonce}.${mark}`,
      `${until}.${nonce}x.${mark}`,
      `${until}.${nonce}.${mark}x`,
      `${until}.${nonce}.${mark.slice(1)}`,
      `${until}.${nonce}`,
      `.${until}.${nonce}.${mark}`,
      ` ${good}`,
      'x'.repeat(5_000),
      '%00',
      '__proto__',
    ]
    for (const key of keys) {
      const looked = await visit(`/sign-in?key=${encodeURIComponent(key)}`)
      for (const { status, headers, text } of [looked, await pressSignIn(served, key === ` ${good}` ? '' : key)]) {
        expect([key, status, headers.get('set-cookie'), headers.get('location')]).toEqual([key, 403, null, null])
        expect(text).not.toContain(key.slice(0, 40) || 'x')
      }
    }
    // None of that has used the key up.
    expect((await pressSignIn(served, good)).status).toBe(303)
  })

  test('a sign-in key works once, however it is written the second time', async () => {
    const key = keyFor(served, world.runtime)
    expect((await pressSignIn(served, key)).status).toBe(303)
    const again = [
      key,
      `${key}.`,
      `${key}.x`,
      `${key}.x.y`,
      `${key}.${'x'.repeat(500)}`,
      `${key}%20`,
      `${key}%00`,
      `%20${key}`,
      key.replaceAll('.', '%2e'),
      `${key}&key=x`,
      `x&key=${key}`,
      key.toUpperCase(),
      `0${key}`,
      `+${key}`,
    ]
    const bought: string[] = []
    for (const one of again)
      for (const answer of [await visit(`/sign-in?key=${one}`), await pressSignIn(served, one)])
        if (answer.headers.has('set-cookie') || answer.headers.has('location')) bought.push(one.replace(key, 'KEY'))
    expect(bought).toEqual([])
  })

  test('whoever only looks at a link, as previews and scanners do, uses nothing up', async () => {
    const key = keyFor(served, world.runtime)
    const looks: Record<string, string>[] = [
      {},
      { Accept: 'text/html' },
      { 'Sec-Purpose': 'prefetch;prerender' },
      { 'Sec-Fetch-Dest': 'iframe' },
    ]
    for (const headers of looks)
      for (const method of ['GET', 'HEAD'])
        expect((await visit(`/sign-in?key=${key}`, { method, headers })).headers.has('set-cookie')).toBe(false)
    const body = new URLSearchParams({ key }).toString()
    const form = 'application/x-www-form-urlencoded'
    const sends: Record<string, string>[] = [
      { 'Content-Type': form },
      { 'Content-Type': form, Origin: 'null' },
      { 'Content-Type': form, Origin: 'http://127.0.0.1:3000' },
      { 'Content-Type': form, Origin: `http://localhost:${served.port}` },
      { 'Content-Type': form, Origin: served.url, 'Sec-Fetch-Site': 'same-site' },
      { 'Content-Type': 'text/plain', Origin: served.url },
    ]
    for (const headers of sends) expect([403, 415]).toContain((await visit('/sign-in', { method: 'POST', headers, body })).status)
    expect((await pressSignIn(served, key)).status).toBe(303)
  })

  test('a pass lets one browser in, once', async () => {
    const { headers } = await pressSignIn(served, keyFor(served, world.runtime))
    const way = headers.get('location') as string
    const on = way.replace('/way', '/on')
    expect((await visit(way)).text).toContain('/sign-in/seen?probe=')
    const both = await Promise.all([visit(on), visit(on), visit(on)])
    expect(both.filter((answer) => answer.headers.has('set-cookie'))).toHaveLength(1)
    for (const path of [way, on, '/sign-in/on', '/sign-in/way', '/sign-in/on?pass='])
      expect([path, (await visit(path)).status]).toEqual([path, 403])
  })

  test('of many who come with one key at once, one is let in', async () => {
    const key = keyFor(served, world.runtime)
    const answers = await Promise.all(Array.from({ length: 20 }, () => pressSignIn(served, key)))
    expect(answers.filter((answer) => answer.status === 303)).toHaveLength(1)
  })

  test('neither a key, used or not, nor a cookie is good after a restart: an open tab shows both to whoever takes the port', async () => {
    await using other = await openWorld({ files })
    let person
    let port = 0
    let [key, unused] = ['', '']
    {
      await using first = await openServe(other.project, { args })
      ;[key, unused] = [keyFor(first, other.runtime), keyFor(first, other.runtime)]
      port = first.port
      person = await enter(first, key)
      expect((await visitAt(port, `${person.basePath}/approvals`, { headers: { Cookie: person.cookie } })).status).toBe(200)
    }
    await using second = await openServe(other.project, { args: [...args, '--port', String(port)] })
    expect(second.port).toBe(port)
    for (const one of [key, unused]) expect((await pressSignIn(second, one)).status).toBe(403)
    const fresh = await enter(second, keyFor(second, other.runtime))
    expect(fresh.basePath).not.toBe(person.basePath)
    for (const { basePath } of [person, fresh])
      expect((await visitAt(port, `${basePath}/approvals`, { headers: { Cookie: person.cookie } })).status).toBe(401)
    const tab = await visitAt(port, `${person.basePath}/approvals`, { headers: { Cookie: person.cookie, Accept: 'text/html' } })
    expect([tab.status, tab.headers.get('location')]).toEqual([303, '/sign-in'])
  })

  test('the cookie is for this page only, out of reach of scripts, and other sites cannot send it', async () => {
    const { set: cookie, basePath } = await enter(served, keyFor(served, world.runtime))
    expect(cookie).toMatch(/; HttpOnly(;|$)/)
    expect(cookie).toMatch(/; SameSite=Strict(;|$)/)
    expect(cookie).toContain(`; Path=${basePath};`)
    expect(basePath).toMatch(/^\/p\/[a-z2-7]{27}$/)
    expect(cookie).not.toMatch(/domain=/i)
    expect(cookie).not.toContain(secretOf(world))
  })
})

describe('forms that were not made here', () => {
  test('CSRF: no token, a wrong one, one of another cookie, or one in the wrong place decides nothing', async () => {
    const { id } = await question()
    const [mine, theirs] = [await signIn(), await signIn()]
    const [own, foreign] = [await formToken(id, mine), await formToken(id, theirs)]
    expect(own).not.toBe(foreign)
    const headers = { Cookie: mine, Origin: served.url }
    const fields: (Record<string, string> | string)[] = [
      { decision: 'approve' },
      { form: '', decision: 'approve' },
      { form: foreign, decision: 'approve' },
      { form: own.slice(0, -1), decision: 'approve' },
      { form: `${own}x`, decision: 'approve' },
      { form: own.toLowerCase() === own ? own.toUpperCase() : own.toLowerCase(), decision: 'approve' },
      { form: 'undefined', decision: 'approve' },
      { Form: own, decision: 'approve' },
      `form=x&form=${own}&decision=approve`,
      `form[]=${own}&decision=approve`,
      JSON.stringify({ form: own, decision: 'approve' }),
      `--x\r\nContent-Disposition: form-data; name="form"\r\n\r\n${own}\r\n--x--`,
      `${'x'.repeat(20_000)}&form=${own}&decision=approve`,
    ]
    for (const one of fields) expect([one, (await decide(id, one, headers)).status]).toEqual([one, 403])
    const query = await visit(`/approvals/${id}?form=${own}&decision=approve`, { method: 'POST', headers, body: '' })
    expect(query.status).toBe(403)
    expect((await visit(`/approvals/${id}?form=${own}&decision=approve`, { headers })).status).toBe(200)
    expect(state(id)).toBe('pending')
  })

  test('CSRF: everything right but the Origin decides nothing', async () => {
    const { id } = await question()
    const cookie = await signIn()
    const form = await formToken(id, cookie)
    for (const origin of [
      'null',
      'https://evil.example',
      'http://127.0.0.1:3000',
      'http://localhost:3000',
      'http://127.0.0.1',
      `https://127.0.0.1:${served.port}`,
    ])
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
        const { status } = await decide(
          id,
          { form, decision: 'approve' },
          { Cookie: cookie, Origin: origin, 'Content-Type': type },
        )
        expect([origin, status]).toEqual([origin, 403])
      }
    expect(state(id)).toBe('pending')
  })

  test('a decision that is not one of the two, or both, is not a yes', async () => {
    const { id } = await question()
    const cookie = await signIn()
    const form = await formToken(id, cookie)
    for (const decision of [
      '',
      'Approve',
      'APPROVE',
      ' approve',
      'approve ',
      'yes',
      'true',
      '1',
      'approved',
      'approve\0',
      '__proto__',
    ])
      expect([decision, (await decide(id, { form, decision }, { Cookie: cookie })).status]).toEqual([decision, 400])
    expect((await decide(id, { form }, { Cookie: cookie })).status).toBe(400)
    expect((await decide(id, `form=${form}&decision=&decision=approve`, { Cookie: cookie })).status).toBe(400)
    expect((await decide(id, `form=${form}&Decision=approve`, { Cookie: cookie })).status).toBe(400)
    expect(state(id)).toBe('pending')
    await decide(id, `form=${form}&decision=decline&decision=approve`, { Cookie: cookie })
    expect(state(id)).not.toBe('approved')
  })

  test('HEAD, PUT and the rest neither show nor decide, with the cookie too', async () => {
    const { id } = await question()
    const cookie = await signIn()
    const form = await formToken(id, cookie)
    const body = new URLSearchParams({ form, decision: 'approve' }).toString()
    for (const method of ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])
      for (const path of [`/approvals/${id}`, '/approvals', '/sign-in']) {
        const init: Visit = method === 'HEAD' ? {} : { body }
        const { status, text } = await visit(path, {
          method,
          headers: { Cookie: cookie, 'X-HTTP-Method-Override': 'POST' },
          ...init,
        })
        expect([method, path, status]).toEqual([method, path, 405])
        expect(text).not.toContain(form)
      }
    expect((await visit('/approvals', { method: 'POST', headers: { Cookie: cookie }, body })).status).toBe(405)
    const headers: Record<string, string>[] = [
      { Origin: 'null' },
      { Origin: `http://localhost:${served.port}` },
      { 'Sec-Fetch-Site': 'same-site' },
      {},
    ]
    for (const header of headers)
      expect((await visit(`/approvals/${id}`, { method: 'POST', headers: { Cookie: cookie, ...header }, body })).status).toBe(403)
    const key = keyFor(served, world.runtime)
    for (const method of ['HEAD', 'POST'])
      expect((await visit(`/sign-in?key=${key}`, { method })).headers.get('set-cookie')).toBeNull()
    expect(state(id)).toBe('pending')
  })
})
