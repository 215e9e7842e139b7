import { spawn } from 'node:child_process'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { signInKey } from '../../src/surfaces/person.ts'
import { enter, pressSignIn, signInByLink, typed, visitAt, type Answer, type Visit as SupportVisit } from '../support/person.ts'
import { openServe, type Served } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'

// The page where a person answers, against everybody who is not that person.

const before = '{ "name": "game" }\n'
const files = { 'package.json': before, 'a.txt': 'a0\n' }
const args = ['--approval-wait-ms', '0', '--write-requires-diff', 'false']

let world: World
let served: Served

beforeAll(async () => {
  world = await openWorld({ files })
  served = await openServe(world.project, { args })
})

afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

interface Visit extends SupportVisit {
  at?: Served
}

/** Where the person's pages are, for each server at which somebody signed in. */
const rooms = new Map<Served, string>()

/** One visit; with a cookie it is to where the person's pages are, where else a cookie counts for nothing. */
function visit(path: string, { at = served, ...rest }: Visit = {}): Promise<Answer> {
  const inside = rest.headers?.['Cookie'] !== undefined && /^\/(approvals|sign-out)\b/.test(path)
  return visitAt(at.port, (inside ? (rooms.get(at) ?? '') : '') + path, rest)
}

const prefix = 'io.modelcontextprotocol/'

/** An agent's call that needs a person: the approval it left behind. */
async function propose(
  input: object,
  client: object = { name: 'agent', version: '1' },
  at = served,
  of = world,
): Promise<Approval> {
  const _meta = {
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientInfo`]: client,
    [`${prefix}clientCapabilities`]: {},
  }
  const response = await fetch(`${at.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${at.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'write_to_file',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { _meta, name: 'write_to_file', arguments: { path: 'package.json', dryRun: false, ...input } },
    }),
  })
  const text = await response.text()
  const id = /appr_[0-9a-f]{32}/.exec(text)?.[0] ?? ''
  const approval = of.runtime.approvals.get(id)
  if (!approval) throw new Error(`no approval in ${text.slice(0, 500)}`)
  return approval
}

let count = 0
/** A question of its own, about a change nobody else asks for. */
const question = (): Promise<Approval> => propose({ content: `{ "name": "game ${++count}" }\n` })

const secretOf = (of: World): string => of.runtime.token('person').token

/** The cookie that a fresh key buys. */
async function signIn(at = served, of = world): Promise<string> {
  const { cookie, room } = await enter(at, signInKey(secretOf(of)))
  rooms.set(at, room)
  return cookie
}

async function formToken(id: string, cookie: string, at = served): Promise<string> {
  const { status, text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie }, at })
  expect(status).toBe(200)
  return /name="form" value="([^"]+)"/.exec(text)?.[1] ?? ''
}

/** Sends the form as a browser does, with whatever is to be different. */
function decide(
  id: string,
  fields: Record<string, string> | URLSearchParams | string,
  headers: Record<string, string>,
  at = served,
): Promise<Answer> {
  const body = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString()
  return visit(`/approvals/${id}`, {
    at,
    method: 'POST',
    headers: { Origin: at.url, 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body,
  })
}

/** Both steps of a yes. */
async function approve(id: string, fields: Record<string, string>, Cookie: string, at = served): Promise<Answer> {
  const asked = await decide(id, { ...fields, decision: 'approve' }, { Cookie }, at)
  return asked.status === 200 ? decide(id, typed(asked.text), { Cookie }, at) : asked
}

const state = (id: string): string | undefined => world.runtime.approvals.get(id)?.state

/** A key or cookie, made by somebody who may not have the right secret or the right time. */
function seal(secret: string, use: string, until: number, nonce = randomBytes(12).toString('base64url')): string {
  const body = `${until.toString(36)}.${nonce}`
  return `${body}.${createHmac('sha256', secret).update(`${use} ${body}`).digest('base64url')}`
}

const hour = 3_600_000

/** Seconds of processor time it has used, which no other load on this machine can add to. */
function cpuSeconds({ pid }: Served): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

test('what this file makes is good: a key signs in once, and the form decides', async () => {
  expect((await pressSignIn(served, seal(secretOf(world), 'link', Date.now() + hour))).status).toBe(303)
  const linked = await signInByLink(served, world.project)
  expect((await visitAt(served.port, `${linked.room}/approvals`, { headers: { Cookie: linked.cookie } })).status).toBe(200)
  const { id } = await question()
  const cookie = await signIn()
  const form = await formToken(id, cookie)
  const done = await approve(id, { form, note: 'fine' }, cookie)
  expect([done.status, done.headers.get('location')]).toEqual([303, `${rooms.get(served)}/approvals/${id}`])
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
    const room = (await enter(served, signInKey(secretOf(world)))).room
    for (const where of [`/approvals/${id}`, `${room}/approvals/${id}`])
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
    await using serving = await openServe(other.project, { args })
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
    const good = signInKey(secret)
    const [until, nonce, mark] = good.split('.') as [string, string, string]
    const keys = [
      seal(secret, 'link', Date.now() - 1),
      seal(secret, 'cookie', Date.now() + hour),
      signInKey(secretOf(other)),
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
    const key = signInKey(secretOf(world))
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
    const key = signInKey(secretOf(world))
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
    const { headers } = await pressSignIn(served, signInKey(secretOf(world)))
    const way = headers.get('location') as string
    const on = way.replace('/way', '/on')
    expect((await visit(way)).text).toContain('/sign-in/seen?probe=')
    const both = await Promise.all([visit(on), visit(on), visit(on)])
    expect(both.filter((answer) => answer.headers.has('set-cookie'))).toHaveLength(1)
    for (const path of [way, on, '/sign-in/on', '/sign-in/way', '/sign-in/on?pass='])
      expect([path, (await visit(path)).status]).toEqual([path, 403])
  })

  test('of many who come with one key at once, one is let in', async () => {
    const key = signInKey(secretOf(world))
    const answers = await Promise.all(Array.from({ length: 20 }, () => pressSignIn(served, key)))
    expect(answers.filter((answer) => answer.status === 303)).toHaveLength(1)
  })

  test('neither a key that was used nor a cookie is good after a restart: an open tab shows both to whoever takes the port', async () => {
    await using other = await openWorld({ files })
    const key = signInKey(secretOf(other))
    let person
    let port = 0
    {
      await using first = await openServe(other.project, { args })
      port = first.port
      person = await enter(first, key)
      expect((await visitAt(port, `${person.room}/approvals`, { headers: { Cookie: person.cookie } })).status).toBe(200)
    }
    await using second = await openServe(other.project, { args: [...args, '--port', String(port)] })
    expect(second.port).toBe(port)
    expect((await pressSignIn(second, key)).status).toBe(403)
    const fresh = await enter(second, signInKey(secretOf(other)))
    expect(fresh.room).not.toBe(person.room)
    for (const { room } of [person, fresh])
      expect((await visitAt(port, `${room}/approvals`, { headers: { Cookie: person.cookie } })).status).toBe(401)
    const tab = await visitAt(port, `${person.room}/approvals`, { headers: { Cookie: person.cookie, Accept: 'text/html' } })
    expect([tab.status, tab.headers.get('location')]).toEqual([303, '/sign-in'])
  })

  test('the cookie is for this page only, out of reach of scripts, and other sites cannot send it', async () => {
    const { set: cookie, room } = await enter(served, signInKey(secretOf(world)))
    expect(cookie).toMatch(/; HttpOnly(;|$)/)
    expect(cookie).toMatch(/; SameSite=Strict(;|$)/)
    expect(cookie).toContain(`; Path=${room};`)
    expect(room).toMatch(/^\/p\/[a-z2-7]{27}$/)
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
    const key = signInKey(secretOf(world))
    for (const method of ['HEAD', 'POST'])
      expect((await visit(`/sign-in?key=${key}`, { method })).headers.get('set-cookie')).toBeNull()
    expect(state(id)).toBe('pending')
  })
})

describe('decisions', () => {
  test('a yes takes the number that the second page shows for this card, this answer and this sign-in', async () => {
    const [cookie, other] = [await signIn(), await signIn()]
    const [one, two] = [await question(), await question()]
    const form = await formToken(one.id, cookie)
    const note = 'a\r\nb \u202e "c" &amp;'
    const first = await decide(one.id, { form, decision: 'approve', note }, { Cookie: cookie })
    expect([first.status, state(one.id)]).toEqual([200, 'pending'])
    const good = typed(first.text)
    const changed = (change: Record<string, string>): URLSearchParams => {
      const fields = new URLSearchParams(good)
      for (const [name, value] of Object.entries(change)) fields.set(name, value)
      return fields
    }
    const number = String(((Number(good.get('number')) - 99) % 900) + 100)
    const [until = '', mark = ''] = (good.get('confirm') ?? '').split('.')
    const wrong: Record<string, string>[] = [
      { number },
      { number: '' },
      { confirm: '' },
      { confirm: `${until}.` },
      { confirm: `.${mark}` },
      { confirm: `${(Date.now() - 1).toString(36)}.${mark}` },
      { confirm: `zzzzzzzzzz.${mark}` },
      { along: '' },
      { along: Buffer.from('note=other').toString('base64url') },
      { note: 'more' },
    ]
    for (const change of wrong) {
      const again = await decide(one.id, changed(change), { Cookie: cookie })
      expect([change, again.status, again.text.includes('class="number"')]).toEqual([change, 200, true])
    }
    expect((await decide(two.id, good, { Cookie: cookie })).text).toContain('class="number"')
    const theirs = await formToken(one.id, other)
    expect((await decide(one.id, changed({ form: theirs }), { Cookie: other })).text).toContain('class="number"')
    expect([state(one.id), state(two.id)]).toEqual(['pending', 'pending'])
    expect((await decide(one.id, good, { Cookie: cookie })).status).toBe(303)
    expect(world.runtime.approvals.get(one.id)).toMatchObject({ state: 'approved', note })
  })

  test('the first one counts: twice, the other way round, and many at once', async () => {
    const cookie = await signIn()
    const one = await question()
    const form = await formToken(one.id, cookie)
    await approve(one.id, { form }, cookie)
    for (const decision of ['decline', 'approve'])
      expect((await decide(one.id, { form, decision, note: 'late' }, { Cookie: cookie })).status).toBe(303)
    expect(world.runtime.approvals.get(one.id)).toMatchObject({ state: 'approved' })
    expect(world.runtime.approvals.get(one.id)?.note).toBeUndefined()

    const two = await question()
    const second = await formToken(two.id, cookie)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2
          ? approve(two.id, { form: second, note: `n${index}` }, cookie)
          : decide(two.id, { form: second, decision: 'decline', note: `n${index}` }, { Cookie: cookie }),
      ),
    )
    const lines = [...world.runtime.audit.lines()].filter((line) => line.event === 'approval.decided' && line.approval === two.id)
    expect(lines).toHaveLength(1)
    expect(state(two.id)).toBe(lines[0]?.approved ? 'approved' : 'denied')
  })

  test('what was used, has lapsed or is unknown stays as it is', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project, { args: [...args, '--approval-ttl-ms', '3000'] })
    const cookie = await signIn(serving, other)
    const stateOf = (id: string): string | undefined => other.runtime.approvals.get(id)?.state
    const send = async (id: string, form: string): Promise<number> => (await approve(id, { form }, cookie, serving)).status
    const content = '{ "name": "used" }\n'
    const used = await propose({ content }, undefined, serving, other)
    const form = await formToken(used.id, cookie, serving)
    expect(await send(used.id, form)).toBe(303)
    await propose({ content }, undefined, serving, other).catch(() => undefined)
    expect([stateOf(used.id), other.read('package.json')]).toEqual(['used', content])
    expect(await send(used.id, form)).toBe(303)
    expect(stateOf(used.id)).toBe('used')

    const lapsed = await propose({ content: '{}\n' }, undefined, serving, other)
    while (stateOf(lapsed.id) === 'pending') await pause(50)
    expect(await send(lapsed.id, form)).toBe(303)
    expect(stateOf(lapsed.id)).toBe('expired')
    expect((await visit(`/approvals/${lapsed.id}`, { at: serving, headers: { Cookie: cookie } })).text).not.toContain('<form')

    for (const id of [
      '__proto__',
      'constructor',
      'toString',
      'appr_',
      `appr_${'0'.repeat(32)}`,
      '%2e%2e',
      '..%2fmcp',
      'x/../../mcp',
      '*',
      '%27%20OR%201=1%20--',
      '%00',
      '%0d%0aSet-Cookie:%20x=y',
      'a'.repeat(10_000),
      `${used.id}/`,
      `${used.id}%20`,
      used.id.toUpperCase(),
    ]) {
      const { status, headers, text } = await visit(`/approvals/${id}`, { at: serving, headers: { Cookie: cookie } })
      expect([id, status]).toEqual([id, 404])
      expect([headers.get('set-cookie'), headers.get('location')]).toEqual([null, null])
      expect(text).not.toContain(decodeURIComponent(id).slice(0, 30))
      expect([id, await send(id, form)]).toEqual([id, 404])
    }
    expect((await visit('/approvals/', { at: serving, headers: { Cookie: cookie } })).status).toBe(404)
  })

  test('a note that is too long, or holds what cannot be stored, breaks nothing', async () => {
    const cookie = await signIn()
    const notes = [
      'n'.repeat(5_000),
      `${'n'.repeat(999)}😀`,
      '😀'.repeat(600),
      'a\0b',
      '\ud800',
      '\u202e\u001b[31mred',
      '</textarea><script>x</script>',
      '   ',
      '\r\n\r\nx',
    ]
    for (const note of notes) {
      const { id } = await question()
      const form = await formToken(id, cookie)
      expect((await decide(id, { form, decision: 'decline', note }, { Cookie: cookie })).status).toBe(303)
      const kept = world.runtime.approvals.get(id)
      expect(kept?.state).toBe('denied')
      expect(kept?.note?.length ?? 0).toBeLessThanOrEqual(1_000)
      expect(kept?.note?.isWellFormed() ?? true).toBe(true)
      const { text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie } })
      expect(text).not.toMatch(/<script|<\/textarea>|[\0\u001b\u202e]/)
    }
    const { id } = await question()
    const form = await formToken(id, cookie)
    const huge = await decide(id, { form, decision: 'decline', note: 'n'.repeat(30 << 20) }, { Cookie: cookie })
    expect([303, 403, 413]).toContain(huge.status)
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
  })
})

const script = `<script>alert(1)</script>`
const image = `"><img src=x onerror=alert(1)>`

/** Everything that can be said by somebody else, and would be something in a page. */
async function poison(): Promise<Approval> {
  const content = [
    '{ "name": "game" }',
    script,
    image,
    `'><svg/onload=alert(1)>`,
    '</pre></b><form action="//evil.example"><button>Approve exactly this</button>',
    '<!-- &lt;b&gt; &#60;script&#62; -->',
    '<style>*{display:none}</style>',
    '{{7*7}} ${7*7} <%= 7 %>',
    `poison ${++count}`,
    '',
  ].join('\n')
  return propose({ path: `.github/${image.replaceAll('/', '')}'&amp;.md`, content }, { name: script, version: image })
}

test('XSS: titles, paths, diffs, notes and names of clients are text on every page', async () => {
  const approval = await poison()
  const cookie = await signIn()
  for (const path of ['/approvals', `/approvals/${approval.id}`]) {
    const { text } = await visit(path, { headers: { Cookie: cookie } })
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(text.match(/<(script|img|svg|iframe|object|embed|link|base|meta (?!charset|name="viewport"))/gi)).toBeNull()
    expect(text.match(/<form/g)?.length ?? 0).toBe(path === '/approvals' ? 0 : 1)
    expect(text.match(/<style/g)).toHaveLength(1)
    expect(text).not.toMatch(/<[^>]*\son\w+=/i)
  }
  const form = await formToken(approval.id, cookie)
  await decide(approval.id, { form, decision: 'decline', note: script + image }, { Cookie: cookie })
  const { text } = await visit(`/approvals/${approval.id}`, { headers: { Cookie: cookie } })
  expect(text).toContain('denied')
  expect(text.match(/<(script|img|svg)/gi)).toBeNull()
  const wrong = await visit(`/sign-in?key=${encodeURIComponent(script + image)}`)
  expect(wrong.text).not.toMatch(/<script|<img/)
})

test('clickjacking: no page may be framed, runs a script, loads anything, or is kept', async () => {
  const { id } = await question()
  const cookie = await signIn()
  const pages = [
    await visit('/', {}),
    await visit('/sign-in'),
    await visit('/sign-in?key=wrong'),
    await visit('/approvals', { headers: { Cookie: cookie } }),
    await visit(`/approvals/${id}`, { headers: { Cookie: cookie } }),
    await visit('/approvals/none', { headers: { Cookie: cookie } }),
  ]
  for (const { headers, text } of pages) {
    const policy = headers.get('content-security-policy') ?? ''
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(policy).toMatch(/default-src 'none'/)
    expect(policy).toMatch(/frame-ancestors 'none'/)
    expect(policy).toMatch(/form-action 'self'/)
    expect(policy).toMatch(/base-uri 'none'/)
    expect(policy).not.toMatch(/script-src|unsafe-eval|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(['same-origin', 'no-referrer', 'strict-origin']).toContain(headers.get('referrer-policy'))
    expect(text).not.toMatch(/<script|src=|javascript:|https?:\/\//i)
  }
})

describe('G07', () => {
  test('G07 what hides in a diff is shown, not obeyed', async () => {
    const hidden = {
      '\u202e': '\\u202e',
      '\u2066': '\\u2066',
      '\u200b': '\\u200b',
      '\u200d': '\\u200d',
      '\ufeff': '\\ufeff',
      '\u00ad': '\\u00ad',
      '\u001b[2K\u001b[1A': '\\u001b[2K\\u001b[1A',
      '\u0008': '\\u0008',
      '\u0000': '\\u0000',
      '\u007f': '\\u007f',
      '\u009b31m': '\\u009b31m',
      '\u2028': '\\u2028',
      '\u2029': '\\u2029',
      '\u{e0041}': '\\u{e0041}',
      '\ufe0f': '\\ufe0f',
      '\u{e0100}': '\\u{e0100}',
      '\u3164': '\\u3164',
      '\u115f': '\\u115f',
      '\r': '␍',
    }
    const content = `${Object.keys(hidden)
      .filter((one) => one !== '\u0000')
      .map((one, index) => `line ${index} ${one} end`)
      .join('\n')}\n`
    const name = 'evil\u202egnp.exe\u200b\u001b[0m'
    const { id } = await propose({ content }, { name, version: '\u2066' })
    const cookie = await signIn()
    for (const path of ['/approvals', `/approvals/${id}`]) {
      const { text } = await visit(path, { headers: { Cookie: cookie } })
      expect(text).not.toMatch(
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u115f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff]|\ufe0f|[\u{e0000}-\u{e01ef}]/u,
      )
      expect(text).toContain('evil\\u202egnp.exe')
    }
    const { text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie } })
    for (const [one, shown] of Object.entries(hidden)) if (one !== '\u0000') expect(text).toContain(shown)
  })

  test('G07 all of a change is there: very long lines to their end, every line, and lines that look like parts of the page', async () => {
    const tail = 'END-OF-THE-LINE'
    const lines = [
      `${' '.repeat(50_000)}evil()`,
      `${'x'.repeat(200_000)}${tail}`,
      '- a line that only looks like one that goes',
      '@@ line 1: 0 out, 0 in @@',
      ...Array.from({ length: 900 }, (_, index) => `n${index}.`),
    ]
    const { id } = await propose({ content: `${lines.join('\n')}\n` })
    const cookie = await signIn()
    const { text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie } })
    const rows = [...text.matchAll(/<b class="(in|out|place)">([^<]*)<\/b>/g)].map((row) => [row[1], row[2]] as const)
    // Long lines stand on several rows, each with its sign; long blanks are counted.
    const added = rows.flatMap(([kind, row]) => (kind === 'in' ? [row] : [])).join('\n')
    const there = new Set(
      added
        .replaceAll('\n+ … ', '')
        .replace('⟨50000 blanks⟩', ' '.repeat(50_000))
        .split('\n')
        .map((row) => row.slice(2)),
    )
    expect(lines.filter((line) => !there.has(line)).map((line) => line.slice(0, 50))).toEqual([])
    expect(rows.filter(([kind]) => kind === 'place').length).toBe(1)
    expect(rows.flatMap(([kind, row]) => (kind === 'out' ? [row] : []))).toEqual([`- ${before.trim().replaceAll('"', '&quot;')}`])
  })

  test("G07 lines of nothing but blanks, tabs and marks cost seconds of nobody's time, to ask about and to show", async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project, { args })
    const cookie = await signIn(serving, other)
    const began = cpuSeconds(serving)
    for (const unit of [' ', '\t', '\u202e', '<']) {
      const { id } = await propose({ content: `${unit.repeat(80_000)}x\n` }, undefined, serving, other)
      expect((await visit(`/approvals/${id}`, { at: serving, headers: { Cookie: cookie } })).status).toBe(200)
    }
    expect((await visit('/approvals', { at: serving, headers: { Cookie: cookie } })).status).toBe(200)
    expect(cpuSeconds(serving) - began).toBeLessThan(5)
  })
})

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path))

interface Browser {
  /** Opens an address in a page of its own and waits until it has settled. */
  open(url: string): Promise<Tab>
  [Symbol.asyncDispose](): Promise<void>
}

interface Tab {
  go(url: string): Promise<void>
  run<T>(expression: string): Promise<T>
  /** What each frame of the page shows in the end. */
  frames(): Promise<string[]>
  /** Dialogs a script has opened. */
  readonly dialogs: string[]
}

/** A real browser without a window, spoken to over two pipes. */
async function openBrowser(path: string, profile: string): Promise<Browser> {
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-extensions',
    '--disable-background-networking',
  ]
  const child = spawn(path, [...flags, `--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const gone = once(child, 'close')
  const [input, output] = [child.stdio[3] as Writable, child.stdio[4] as Readable]
  input.on('error', () => undefined)
  const waiting = new Map<number, { resolve: (result: never) => void; reject: (fault: Error) => void }>()
  const hearing = new Set<(message: { method?: string; params?: Record<string, unknown>; sessionId?: string }) => void>()
  let last = 0
  let rest = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\0')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const message = JSON.parse(part) as { id?: number; result?: unknown; error?: { message: string }; method?: string }
      const one = waiting.get(message.id ?? 0)
      waiting.delete(message.id ?? 0)
      if (message.error) one?.reject(new Error(message.error.message))
      else one?.resolve(message.result as never)
      for (const hear of hearing) hear(message)
    }
  })
  const send = <T>(method: string, params: object = {}, sessionId?: string): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      input.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`)
    })
  return {
    async open(url) {
      const { targetId } = await send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
      const { sessionId } = await send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
      const dialogs: string[] = []
      let loaded = 0
      hearing.add((message) => {
        if (message.sessionId !== sessionId) return
        if (message.method === 'Page.loadEventFired') loaded++
        if (message.method !== 'Page.javascriptDialogOpening') return
        dialogs.push(String(message.params?.['message']))
        void send('Page.handleJavaScriptDialog', { accept: true }, sessionId).catch(() => undefined)
      })
      await send('Page.enable', {}, sessionId)
      const tab: Tab = {
        dialogs,
        async go(address) {
          const seen = loaded
          await send('Page.navigate', { url: address }, sessionId)
          await until('the page', () => loaded > seen)
        },
        async run<T>(expression: string) {
          const { result } = await send<{ result: { value: T } }>(
            'Runtime.evaluate',
            { expression, returnByValue: true, awaitPromise: true },
            sessionId,
          )
          return result.value
        },
        async frames() {
          interface Tree {
            frame: { url: string; unreachableUrl?: string }
            childFrames?: Tree[]
          }
          const { frameTree } = await send<{ frameTree: Tree }>('Page.getFrameTree', {}, sessionId)
          return (frameTree.childFrames ?? []).map(({ frame }) => frame.url)
        },
      }
      await tab.go(url)
      return tab
    },
    async [Symbol.asyncDispose]() {
      await Promise.race([send('Browser.close').catch(() => undefined), pause(3_000)])
      const late = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), 5_000)
      await gone
      clearTimeout(late)
    },
  }
}

async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000
  while (!(await look())) {
    if (Date.now() > end) throw new Error(`never came: ${what}`)
    await pause(25)
  }
}

test.skipIf(!chromium)(
  'in a real browser: the page is text, cannot be framed, cannot be answered from another port, and can be answered',
  async () => {
    const approval = await poison()
    await using browser = await openBrowser(chromium as string, join(world.base, 'chromium'))
    const tab = await browser.open(`${served.url}/sign-in?key=${signInKey(secretOf(world))}`)
    await tab.run(`document.querySelector('button').click()`)
    await until('the list', () => tab.run<boolean>(`location.pathname.endsWith('/approvals')`))
    const address = `${await tab.run<string>('location.href')}/${approval.id}`
    expect(address).toMatch(/^http:\/\/handrail-[a-z2-7]{16}\.localhost:/)
    await tab.go(address)
    expect(await tab.run('document.querySelectorAll("script, img, svg, iframe, object, [onload], [onerror]").length')).toBe(0)
    expect(await tab.run('document.forms.length')).toBe(1)
    expect(await tab.run('document.querySelectorAll("main a, header a").length')).toBe(3)
    expect(await tab.run('document.body.innerText')).toContain(script)
    expect(await tab.run('document.cookie')).toBe('')

    // Another program on this machine, to whom the address was given away.
    const neighbour = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(
        request.url === '/frame'
          ? `<iframe src="${address}"></iframe><iframe src="${served.url}/sign-in"></iframe>`
          : `<iframe name="sink"></iframe><form method="post" target="sink" action="${address}"><input name="decision" value="approve"></form>
           <script>
             document.forms[0].submit()
             fetch('${address}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'decision=approve' }).catch(() => 0)
             fetch('${address}', { credentials: 'include' }).then((r) => r.text()).then((t) => (window.stolen = t), (e) => (window.stolen = String(e)))
             window.opened = window.open('${address}')
           </script>`,
      )
    })
    neighbour.listen(0, '127.0.0.1')
    await once(neighbour, 'listening')
    try {
      const near = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}`
      const framing = await browser.open(`${near}/frame`)
      expect([...new Set(await framing.frames())]).toEqual(['chrome-error://chromewebdata/'])
      const posting = await browser.open(`${near}/post`)
      await until('its answer', () => posting.run<boolean>('window.stolen !== undefined'))
      expect(await posting.run('window.stolen')).toMatch(/TypeError/)
      await pause(500)
      expect(state(approval.id)).toBe('pending')
    } finally {
      neighbour.close()
      neighbour.closeAllConnections()
    }

    await tab.go(address)
    await tab.run(`document.querySelector('textarea').value = '<b>no</b>'; document.querySelector('button.no').click()`)
    await until('the decision', () => state(approval.id) === 'denied')
    await until('the page that says so', async () => (await tab.run<string>('document.body?.innerText ?? ""')).includes('denied'))
    expect(world.runtime.approvals.get(approval.id)).toMatchObject({ decidedBy: 'person@page', note: '<b>no</b>' })
    expect(tab.dialogs).toEqual([])
  },
)
