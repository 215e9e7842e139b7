import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { noBrowser } from '../support/chromium.ts'
import { ask, newSpace, openMachine, sites, startWorker, workInside } from '../support/cluster.ts'
import { handIn, putTemplates } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { isSoak } from '../support/soak.ts'
import type { World } from '../support/world.ts'

const space = newSpace()
let here: World
let there: World
beforeAll(async () => {
  ;[here, there] = [await openMachine(space), await openMachine(space)]
})
afterAll(async () => {
  for (const machine of [here, there]) await machine[Symbol.asyncDispose]()
})

/** Resolves with the question a run waits for. */
async function question(runId: string): Promise<string> {
  const found = new AbortController()
  let id = ''
  await (
    await here.runtime.runs()
  )
    .wait(runId, {
      signal: found.signal,
      onProgress({ waiting }) {
        if (!waiting) return
        id = waiting.approvalId
        found.abort()
      },
    })
    .catch(() => undefined)
  return id
}

test('a run that asks a person asks on the machine that carries it out, stays there, and goes on with the answer', async () => {
  await using worker = await startWorker(there, space)
  const { runId } = await handIn(here, 'sites', { items: ['https://example.org/', 'https://example.org/2'] }, { mode: 'async' })
  const id = await question(runId)
  expect(here.runtime.approvals.get(id)).toBeUndefined()
  expect(there.runtime.approvals.get(id)).toMatchObject({ state: 'pending' })
  const [row] = await ask<{ queue: string }>('SELECT queue FROM handrail.runs WHERE id = $1', [runId])
  expect(row?.queue).toMatch(/^@/)
  // Whoever takes the place of a worker that died takes its question up; nobody on another machine does.
  worker.signal('SIGKILL')
  await worker.ended
  await using _elsewhere = await workInside(here, space)
  await using _again = await workInside(there, space)
  there.runtime.approvals.decide(id, { approve: true, by: 'the person' })
  const runsApi = await here.runtime.runs()
  expect(await runsApi.wait(runId)).toMatchObject({ status: 'succeeded', progress: { doneSteps: 2 } })
  expect(here.runtime.audit.last(1_000, ({ tool }) => tool === 'allow_sites')).toEqual([])
})

test('a no on that machine ends it everywhere, with the words of the person', async () => {
  await using _worker = await workInside(there, space)
  const { runId } = await handIn(here, 'sites', { items: ['https://example.net/'] }, { mode: 'async' })
  there.runtime.approvals.decide(await question(runId), { approve: false, by: 'the person', note: 'not that one' })
  const runsApi = await here.runtime.runs()
  expect(await runsApi.wait(runId)).toMatchObject({
    status: 'failed',
    error: { errorCode: 'EXECUTION_ERROR', message: expect.stringContaining('not that one') as string },
  })
})

test('what a template hides is sealed for the machine it was handed in on, is carried out there, and is gone with its end', async () => {
  putTemplates(here.base, { hides: { ...sites, id: 'hides', secrets: ['word'] } })
  await using _worker = await workInside(there, space)
  const { runId } = await handIn(here, 'hides', { items: ['http://localhost/'], word: 'Linde-4-Segel' }, { mode: 'async' })
  const [row] = await ask<{ queue: string }>('SELECT queue FROM handrail.runs WHERE id = $1', [runId])
  expect(row?.queue).toMatch(/^@/)
  const runsApi = await here.runtime.runs()
  expect(await runsApi.wait(runId)).toMatchObject({ status: 'succeeded' })
  const [body] = await ask<{ body: string; secrets: null }>(
    'SELECT b::text AS body, secrets FROM handrail.run_bodies b WHERE run = $1',
    [runId],
  )
  expect(body?.secrets).toBeNull()
  expect(body?.body).not.toContain('Linde')
})

test('a run that this process took without hearing of it is given up and taken again, also where nobody else may carry it out', async () => {
  await using machine = await openMachine(newSpace())
  const runsApi = await machine.runtime.runs()
  const first = await handIn(machine, 'read_all', { items: ['a.txt'] }, { mode: 'async' })
  await runsApi.wait(first.runId)
  // Another worker of the place seems to be there, so that the next is left to it.
  await ask(
    `INSERT INTO handrail.workers (name, space, place, authority, kind, host, pid, version, slots, templates, draining, started_at, seen_at, lease_until)
       SELECT 'ghost-' || r.id, r.space, substr(r.queue, 2), r.authority, 'worker', '', 0, '', 1, NULL, false, 0, 0, handrail.now_ms() + 600000
         FROM handrail.runs r WHERE r.id = $1`,
    [first.runId],
  )
  const { runId } = await handIn(machine, 'read_all', { items: ['a.txt'] }, { mode: 'async' })
  // As a claim leaves it whose answer was lost on its way.
  const [taken] = await ask(
    `UPDATE handrail.runs SET status = 'running', owner = submitter, updated_at = handrail.now_ms() - 60000 WHERE id = $1 AND status = 'queued' RETURNING 1`,
    [runId],
  )
  expect(taken).toBeDefined()
  await ask('DELETE FROM handrail.workers WHERE name = $1', [`ghost-${first.runId}`])
  expect(await runsApi.wait(runId)).toMatchObject({ status: 'succeeded' })
})

// In `npm run soak` only: two browsers and a lease of ten seconds.
describe.skipIf(noBrowser !== undefined || !isSoak)('a browser session', () => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({
      '/login': html(
        '<form action="/enter" method="post"><label>Name <input name="n"></label><label>Password <input name="p" type="password"></label><button>Sign in</button></form>',
        'Login',
      ),
      '/enter': (_, response) => void response.writeHead(302, { Location: '/home', 'Set-Cookie': 'sid=open; HttpOnly' }).end(),
      '/home': (request, response) => {
        const known = request.headers.cookie?.includes('sid=open') === true
        response.writeHead(known ? 200 : 401, { 'Content-Type': 'text/html' }).end(html(known ? '<p>welcome</p>' : 'no', 'Home'))
      },
    })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  test('runs of a kept session go to the process that holds it; when that is gone, so is the session', async () => {
    // A step that may not be done twice is under way while a browser starts: on a busy machine that takes its time.
    const env = { HANDRAIL_LEASE_MS: '10000' }
    await using holder = await startWorker(here, space, { env })
    await using _other = await startWorker(there, space, { env })
    const inputs = {
      startUrl: `${site.url}/login`,
      credentials: { username: 'ann', password: 'Birke-3-Anker' },
      fields: { mode: 'semantic', usernameQuery: 'Name', passwordQuery: 'Password', submitQuery: 'Sign in' },
      successIndicator: { type: 'urlContains', value: '/home', timeoutMs: 5_000 },
    }
    const { runId, sessionId } = await handIn(here, 'login_keep_session', inputs, { mode: 'async' })
    here.runtime.approvals.decide(await question(runId), { approve: true, by: 'the person' })
    const runsApi = await here.runtime.runs()
    const login = await runsApi.wait(runId)
    expect(login, JSON.stringify(login.error)).toMatchObject({ status: 'succeeded' })
    const visit = {
      templateId: 'batch_extract_pages',
      sessionId,
      inputs: { urls: [`${site.url}/home`] },
      options: { mode: 'sync' },
    }
    const visited = await here.call<RunView>('run_task_template', visit)
    expect(visited).toMatchObject({ status: 'succeeded', sessionId })
    await expect(here.call('run_task_template', visit, { session: 'sess_stranger' })).rejects.toMatchObject({
      reason: 'session-not-found',
    })
    holder.signal('SIGKILL')
    await holder.ended
    const late = await here.call<RunView>('run_task_template', visit).catch((fault: { reason: string }) => fault)
    expect('reason' in late ? late.reason : late.error?.errorCode).toMatch(/^session-not-found$|^SESSION_NOT_FOUND$/)
  })
})
