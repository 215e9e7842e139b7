import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { openBareSessions, wantedBy } from '../support/bare-sessions.ts'
import { noBrowser } from '../support/chromium.ts'
import { handIn } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
beforeAll(async () => {
  site = await openSite({
    '/login': html(
      '<form action="/home" method="post"><label>Name <input></label><label>Password <input type="password"></label><button>Go</button></form>',
    ),
    '/home': html('<p>hi</p>', 'Home'),
  })
  world = await openWorld()
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

describe.skipIf(noBrowser !== undefined)('sessions of the browser, and another agent', () => {
  const handInLogin = () => {
    const fields = { mode: 'semantic', usernameQuery: 'Name', passwordQuery: 'Password', submitQuery: 'Go' }
    const credentials = { username: 'ann', password: 'Ahorn-7-Laterne' }
    return handIn(world, 'login_keep_session', { startUrl: `${site.url}/login`, credentials, fields }, { mode: 'async' })
  }
  const agreed = async (runId: string): Promise<RunView> =>
    (await world.runtime.runs()).wait(runId, {
      onProgress({ waiting }) {
        if (waiting && world.runtime.approvals.state(waiting.approvalId) === 'pending')
          world.runtime.approvals.decide(waiting.approvalId, { approve: true, by: 'the person' })
      },
    })
  const visit = (session: string, input: object = {}) =>
    world.call('visit_page', { url: `${site.url}/home`, ...input }, { session })

  test('who knows the id of a run does not take its session before it', async () => {
    const { runId } = await handInLogin()
    await expect(visit('sess_stranger', { session: runId.replace('run_', 'sess_') })).rejects.toMatchObject({
      reason: 'session-not-found',
    })
    await expect(visit('sess_stranger', { session: 'own sess_test' })).rejects.toMatchObject({ reason: 'session-not-found' })
    expect(await agreed(runId)).toMatchObject({ status: 'succeeded' })
  })

  test('a flood of sessions does not end a login that is kept', async () => {
    const { sessions, close } = openBareSessions()
    try {
      await sessions.withPage(wantedBy('sess_login', 'ann'), (page) => page.go(`${site.url}/home`))
      await sessions.keep('sess_login')
      // All the pages one client may have: with those that wait for another it begins sessions that take none.
      let letGo = (): void => undefined
      const held = new Promise<void>((done) => (letGo = done))
      const holding = Array.from({ length: 8 }, (_, n) => sessions.withPage(wantedBy(`sess_held${n}`, 'eve'), () => held))
      await expect.poll(() => sessions.count().contexts).toBe(9)
      for (let n = 0; n < 45; n++)
        await expect(
          sessions.withPage({ ...wantedBy(`sess_flood${n}`, 'eve'), signal: AbortSignal.abort() }, () => held),
        ).rejects.toThrow()
      expect(sessions.count().sessions).toBe(40)
      expect(await sessions.creatorOf('sess_login')).toBe('ann')
      letGo()
      await Promise.all(holding)
    } finally {
      await close()
    }
  })

  test.runIf(isSoak)('a flood of visits does not end a login that is kept', async () => {
    const { runId, sessionId } = await handInLogin()
    expect(await agreed(runId)).toMatchObject({ status: 'succeeded' })
    for (let n = 0; n < 45; n++) await visit(`sess_flood${n}`)
    expect(
      await world.call('run_task_template', {
        templateId: 'batch_extract_pages',
        sessionId,
        inputs: { urls: [`${site.url}/home`] },
        options: { mode: 'sync' },
      }),
    ).toMatchObject({ status: 'succeeded' })
  })
})
