import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { enter, keyFor, typed, visitAt, type Answer, type Visit as SupportVisit } from './person.ts'
import { openServe, type Served } from './serve.ts'
import { openWorld, type World } from './world.ts'
import { patienceMs } from './patience.ts'

// The page where a person answers, against everybody who is not that person.

export const before = '{ "name": "game" }\n'
export const files = { 'package.json': before, 'a.txt': 'a0\n' }
export const args = ['--approval-wait-ms', '0', '--write-requires-diff', 'false']

/** One project and one server for all tests of a file: `beforeAll(open)`, `afterAll(close)`. */
export let world: World
export let served: Served

export async function open(): Promise<void> {
  world = await openWorld({ files })
  served = await openServe(world.project, { args })
}

export async function close(): Promise<void> {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
}

export interface Visit extends SupportVisit {
  at?: Served
}

/** Where the person's pages are, for each server at which somebody signed in. */
export const rooms = new Map<Served, string>()

/** One visit; with a cookie it is to where the person's pages are, where else a cookie counts for nothing. */
export function visit(path: string, { at = served, ...rest }: Visit = {}): Promise<Answer> {
  const inside = rest.headers?.['Cookie'] !== undefined && /^\/(approvals|sign-out)\b/.test(path)
  return visitAt(at.port, (inside ? (rooms.get(at) ?? '') : '') + path, rest)
}

const prefix = 'io.modelcontextprotocol/'

/** An agent's call that needs a person: the approval it left behind. */
export async function propose(
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
/** A number nobody had yet, so that no two questions are the same. */
export const nextCount = (): number => ++count
/** A question of its own, about a change nobody else asks for. */
export const question = (): Promise<Approval> => propose({ content: `{ "name": "game ${nextCount()}" }\n` })

export const secretOf = (of: World): string => of.runtime.token('person').token

/** The cookie that a fresh key buys. */
export async function signIn(at = served, of = world): Promise<string> {
  const { cookie, basePath } = await enter(at, keyFor(at, of.runtime))
  rooms.set(at, basePath)
  return cookie
}

export async function formToken(id: string, cookie: string, at = served): Promise<string> {
  const { status, text } = await visit(`/approvals/${id}`, { headers: { Cookie: cookie }, at })
  expect(status).toBe(200)
  return /name="form" value="([^"]+)"/.exec(text)?.[1] ?? ''
}

/** Sends the form as a browser does, with whatever is to be different. */
export function decide(
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
export async function approve(id: string, fields: Record<string, string>, Cookie: string, at = served): Promise<Answer> {
  const asked = await decide(id, { ...fields, decision: 'approve' }, { Cookie }, at)
  return asked.status === 200 ? decide(id, typed(asked.text), { Cookie }, at) : asked
}

export const state = (id: string): string | undefined => world.runtime.approvals.get(id)?.state

export async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + patienceMs
  while (!(await look())) {
    if (Date.now() > end) throw new Error(`never came: ${what}`)
    await pause(25)
  }
}

/** A page without the one picture of its own that a form has, as it is written to the letter: whatever else is one came from elsewhere. */
export const withoutOwnPicture = (text: string): string =>
  text.replace(/<img class="elsewhere" loading="lazy" alt="" src="\/p\/[a-z2-7]+\/elsewhere\/(?:appr|ask)_[0-9a-f]+" \/>/, '')
