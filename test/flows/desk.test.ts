import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hearOfUse } from '../../src/host/known-projects.ts'
import { leftOpen } from '../support/left-open.ts'
import { enter, signInByLink, typed, visitAt, type Answer, type Person } from '../support/person.ts'
import { openMcp, openServe, type McpConnection, type Served } from '../support/serve.ts'
import { openInside, runInside } from '../support/inside.ts'
import { patienceMs } from '../support/patience.ts'
import { cleanEnv, openStdio, openWorld, program, stateOf, type McpPeer, type World } from '../support/world.ts'

// One page for two projects at work, each with a real process of its own: `handrail mcp` on one, `handrail serve` on the other.

let world: World
let other: string
let mcp: McpPeer
let served: Served
let agent: McpConnection
let desk: Served & { link: string; end(): Promise<void> }
let person: Person

const settings = ['--approval-wait-ms', '0', '--write-requires-diff', 'false']
const secretOfOne = 'only-in-one'

async function openDesk(base = world.base, ...named: string[]): Promise<typeof desk> {
  const child = spawn(process.execPath, [program, 'desk', ...named, '--json'], {
    env: cleanEnv(base),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const gone = once(child, 'close')
  void gone.then(leftOpen(() => child.kill('SIGKILL')))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url, link, pid } = JSON.parse(line) as { url: string; link: string; pid: number }
  const end = async (): Promise<void> => {
    child.kill('SIGTERM')
    await gone
  }
  return { url, link, pid, port: Number(new URL(url).port), token: '', stderr: () => stderr, end, [Symbol.asyncDispose]: end }
}

beforeAll(async () => {
  world = await openWorld({ files: { 'package.json': '{ "name": "one" }\n' } })
  other = join(world.base, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'package.json'), '{ "name": "other" }\n')
  ;[mcp, served] = await Promise.all([openStdio(world.project, { args: settings }), openServe(other, { args: settings })])
  await mcp.call('write_to_file', { path: 'package.json', content: `{ "name": "${secretOfOne}" }\n`, dryRun: false })
  agent = await openMcp('http 2025', other, served)
  await askOther()
  await mcp.call('ask_followup_question', { question: 'Which of both?', options: ['this', 'that'] })
  desk = await openDesk()
  person = await enter(desk, new URL(desk.link).searchParams.get('key') ?? '')
})

afterAll(async () => {
  await desk?.end()
  await agent?.[Symbol.asyncDispose]()
  await mcp?.[Symbol.asyncDispose]()
  await served?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

/** An agent of the other project, at that project's own server. */
const askOther = (): Promise<unknown> =>
  agent.call('write_to_file', { path: 'package.json', content: '{ "name": "changed" }\n', dryRun: false })

const see = (path: string, at: Served = desk, who = person): Promise<Answer> =>
  visitAt(at.port, who.basePath + path, { headers: { Cookie: who.cookie } })
const idsIn = (text: string, project: string): string[] =>
  [...text.matchAll(/(appr_[0-9a-f]{32}|ask_[0-9a-f]{16})"><strong>.*?<code>(\w+)<\/code>/gs)]
    .filter(([, , name]) => name === project)
    .map(([, id]) => id as string)

test('both projects are on it, each card under its own name', async () => {
  const { text } = await see('/approvals')
  expect(text).toContain('<title>(3) Approvals · 2 projects · Handrail</title>')
  expect([idsIn(text, 'project').length, idsIn(text, 'other').length]).toEqual([2, 1])
  const [id] = idsIn(text, 'other')
  expect((await see(`/approvals/${id}`)).text).toContain(`<code>${other}</code>`)
})

test('an answer goes to the project that asked, into its own log and no other', async () => {
  const { text } = await see('/approvals')
  const [id = ''] = idsIn(text, 'other')
  const headers = { Cookie: person.cookie, Origin: desk.url, 'Content-Type': 'application/x-www-form-urlencoded' }
  const send = (path: string, body: URLSearchParams): Promise<Answer> =>
    visitAt(desk.port, person.basePath + path, { method: 'POST', headers, body: body.toString() })
  const form = /name="form" value="([^"]+)"/.exec((await see(`/approvals/${id}`)).text)?.[1] ?? ''
  const confirm = await send(`/approvals/${id}`, new URLSearchParams({ form, decision: 'approve' }))
  const done = await send(`/approvals/${id}`, typed(confirm.text))
  // What has waited longest is next, of whichever project.
  expect(done.headers.get('location')).toMatch(new RegExp(`^${person.basePath}/approvals/appr_\\w+\\?after=${id}$`))
  await askOther()
  expect(readFileSync(join(other, 'package.json'), 'utf8')).toBe('{ "name": "changed" }\n')
  expect((await runInside(other, ['audit', 'show', '--json'])).out).toMatch(/approval\.decided.*person@page/)
  expect((await runInside(world.project, ['audit', 'show', '--json'])).out).not.toContain(id)
  const question = idsIn(text, 'project').find((one) => one.startsWith('ask_')) ?? ''
  await send(`/questions/${question}`, new URLSearchParams({ form, choice: '1', shown: '1' }))
  expect(await mcp.call('ask_followup_question', { question: 'Which of both?', options: ['this', 'that'] })).toMatchObject({
    answer: 'that',
  })
})

test('no project sees another’s: not on its own page, and not with its agents’ token', async () => {
  const [id = ''] = idsIn((await see('/approvals')).text, 'project')
  const own = await signInByLink(served, other)
  const seen = await Promise.all(
    ['/approvals', `/approvals/${id}`, `/approvals/${id}/text?path=`].map((path) => see(path, served, own)),
  )
  expect(seen.map(({ status }) => status)).toEqual([200, 404, 404])
  for (const { text } of seen) expect(text).not.toContain(secretOfOne)
  for (const path of [
    '/mcp',
    '/sse',
    '/dev',
    '/agent/process',
    '/api/approvals',
    '/healthz',
    '/approvals',
    `${person.basePath}/approvals`,
  ]) {
    const Authorization = `Bearer ${served.token}`
    const { status, text } = await visitAt(desk.port, path, { headers: { Authorization } })
    expect([path, status]).toEqual([path, 401])
    expect(text).not.toContain(secretOfOne)
  }
  // A sign-in at one of the servers opens nothing at the desk, and a link opens once.
  expect((await see('/approvals', desk, { ...own, basePath: person.basePath })).status).toBe(401)
  await expect(enter(desk, new URL(desk.link).searchParams.get('key') ?? '')).rejects.toThrow('not let in')
  // Another link is to be had where the desk runs: the one of a project would lead elsewhere.
  const { text } = await visitAt(desk.port, '/sign-in')
  expect(text).toContain('`handrail desk`')
  expect(text).not.toContain('handrail approvals page')
})

test('a project that starts while it runs appears, and its first question with it', async () => {
  const third = join(world.base, 'third')
  mkdirSync(third)
  // The system tells of it: nobody has to look every so often.
  let stop = (): void => undefined
  const heard = new Promise<void>((resolve) => {
    stop = hearOfUse({ state: undefined, environment: cleanEnv(world.base) }, resolve, 2 ** 31 - 1)
  })
  await using peer = await openInside(third)
  await heard
  stop()
  await peer.call('ask_followup_question', { question: 'From a third?' })
  await expect.poll(async () => (await see('/approvals')).text, { timeout: patienceMs }).toContain('From a third?')
})

test('with more projects at work than there is room for that is said, and one that is named is on it in any case', async () => {
  await using apart = await openWorld({ files: {} })
  const { base } = apart
  const make = async (name: string, question?: string): Promise<string> => {
    mkdirSync(join(base, name))
    await using peer = await openInside(join(base, name))
    if (question !== undefined) await peer.call('ask_followup_question', { question })
    return join(base, name)
  }
  const oldest = await make('oldest', 'From the oldest?')
  for (let count = 0; count < 24; count++) await make(`p${count}`)
  const anHourAgo = Date.now() / 1_000 - 3_600
  utimesSync(join(stateOf(oldest), 'audit.jsonl'), anHourAgo, anHourAgo)
  await using one = await openDesk(base, oldest)
  const { text } = await see('/approvals', one, await enter(one, new URL(one.link).searchParams.get('key') ?? ''))
  expect(text).toMatch(/more projects? (?:is|are) at work and not shown: there is room for 24.*handrail desk DIR/)
  expect(text).toContain('From the oldest?')
})

test('what cannot be opened, leads elsewhere or is damaged is said and keeps nobody else off the page; what waits for days is on it', async () => {
  const make = async (name: string, question?: string): Promise<string> => {
    const project = join(world.base, name)
    mkdirSync(project)
    await using peer = await openInside(project)
    if (question !== undefined) await peer.call('ask_followup_question', { question })
    return project
  }
  const gone = await make('gone')
  const led = await make('led', 'Where am I led?')
  const never = join(world.base, 'never')
  const piped = await make('piped', 'Behind a pipe?')
  const late = await make('late', 'Since the day before yesterday?')
  const quiet = await make('quiet')
  await make('<img src=x onerror=alert(1)>', '<script>alert(1)</script>')
  rmSync(gone, { recursive: true })
  renameSync(led, `${led}-moved`)
  mkdirSync(never)
  symlinkSync(never, led)
  rmSync(join(stateOf(piped), 'manifest.json'))
  execFileSync('mkfifo', [join(stateOf(piped), 'manifest.json')])
  const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400
  for (const project of [late, quiet]) utimesSync(join(stateOf(project), 'audit.jsonl'), twoDaysAgo, twoDaysAgo)
  const second = await openDesk()
  const { basePath, cookie } = await enter(second, new URL(second.link).searchParams.get('key') ?? '')
  const { text } = await see('/approvals', second, { basePath, cookie, set: '' })
  expect(text).toContain('other')
  expect(text).toContain('Since the day before yesterday?')
  expect(text).not.toMatch(/Where am I led|Behind a pipe|<code>quiet<|<img|<script/)
  expect(text).toContain('&lt;script&gt;')
  expect(text).toContain('&lt;img')
  expect(second.stderr()).toContain('gone is not on the page')
  expect(second.stderr()).toMatch(/led is not on the page: It leads elsewhere/)
  // Nothing is made for a folder that never was a project.
  expect(existsSync(stateOf(never))).toBe(false)
  await second.end()
})
