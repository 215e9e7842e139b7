import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { noBrowser } from '../support/chromium.ts'
import { runInside } from '../support/inside.ts'
import { auditText } from '../support/records.ts'
import { answered, handIn, type Handed } from '../support/runs.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
/** What the site knows its one user by: another word after each visit. */
let known = 'Birke-0-Fenster'
beforeAll(async () => {
  site = await openSite({
    '/login': html(
      '<form action="/enter" method="post"><label>Name <input></label><label>Password <input type="password"></label><button>Go</button></form>',
    ),
    '/enter': (_, response) => void response.writeHead(302, { Location: '/home', 'Set-Cookie': `sid=${known}; HttpOnly` }).end(),
    '/home': (request, response) => {
      const isKnown = request.headers.cookie?.includes(`sid=${known}`) === true
      if (isKnown) known = known.replace(/\d+/, (n) => String(Number(n) + 1))
      response
        .writeHead(isKnown ? 200 : 401, {
          'Content-Type': 'text/html',
          ...(isKnown && { 'Set-Cookie': `sid=${known}; HttpOnly` }),
        })
        .end(html(isKnown ? '<p>welcome back</p>' : '<p>who?</p>', 'Home'))
    },
  })
  world = await openWorld()
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

/** The end of a run, with what a person was asked. */
async function ended(handed: Promise<Handed>, answer: 'yes' | 'no' = 'yes'): Promise<{ run: RunView; asked: string[] }> {
  const { run, cards } = await answered(world, (await handed).runId, { approve: answer === 'yes' })
  return { run, asked: cards.map(({ title, notes = [] }) => [title, ...notes].join('\n')) }
}
const login = async (more: object) => {
  const fields = { mode: 'semantic', usernameQuery: 'Name', passwordQuery: 'Password', submitQuery: 'Go' }
  const credentials = { username: 'ann', password: 'Ahorn-7-Laterne' }
  const handed = handIn(
    world,
    'login_keep_session',
    { startUrl: `${site.url}/login`, credentials, fields, ...more },
    { mode: 'async' },
  )
  return { ...(await ended(handed)), sessionId: (await handed).sessionId as string }
}
const home = (sessionId: string, caller: object = {}): Promise<Handed> =>
  world.call(
    'run_task_template',
    { templateId: 'batch_extract_pages', sessionId, inputs: { urls: [`${site.url}/home`] }, options: { mode: 'async' } },
    caller,
  )

describe.skipIf(noBrowser !== undefined)('a login that a person let be saved', () => {
  test('is used after a restart, by others only once a person agreed, and stands nowhere in plain text', async () => {
    const plain = await login({})
    expect(plain.run).toMatchObject({ status: 'succeeded' })
    expect(plain.run.result).not.toHaveProperty('saved')
    known = 'Birke-10-Fenster'
    const { run, asked, sessionId } = await login({ save: true })
    expect(run).toMatchObject({ status: 'succeeded', result: { success: true, cookiesSaved: true, saved: true } })
    expect(asked).toEqual([expect.stringContaining('The login is saved, encrypted')])
    const files = readdirSync(join(world.base, 'state'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    expect(files.filter((one) => /Birke-\d+-Fenster/.test(readFileSync(join(one.parentPath, one.name), 'latin1')))).toEqual([])

    await world.reopen()
    await expect(home(plain.sessionId), 'one that was only kept ends with its process').rejects.toMatchObject({
      reason: 'session-not-found',
    })
    const mine = await ended(home(sessionId))
    expect(mine).toMatchObject({ asked: [], run: { status: 'succeeded', ownsSession: false } })
    await world.reopen()
    const other = { session: 'sess_later' }
    const yes = await ended(home(sessionId, other))
    expect(yes.asked, JSON.stringify(yes.run.error)).toEqual([expect.stringContaining(`Use the login saved for ${site.url}`)])
    expect(yes.run, 'with the word that the site gave it last').toMatchObject({
      status: 'succeeded',
      result: { items: [{ title: 'Home' }] },
    })
    expect((await ended(home(sessionId, other))).asked, 'once for each client').toEqual([])
    // After the yes: a no holds for every session of the same client.
    const no = await ended(home(sessionId, { session: 'sess_refused' }), 'no')
    expect(no).toMatchObject({
      run: { status: 'failed' },
      asked: [expect.stringContaining(`Use the login saved for ${site.url}`)],
    })
    const remote = { surface: 'mcp-http', peer: 'address 192.0.2.7' }
    await expect(home(sessionId, remote)).rejects.toMatchObject({ reason: 'session-not-found' })
    await expect(
      world.call('visit_page', { url: `${site.url}/home`, session: sessionId }, { session: 'sess_stranger' }),
    ).rejects.toMatchObject({ reason: 'session-not-found' })
    expect(auditText(world)).not.toMatch(/Birke-\d+-Fenster|Ahorn/)

    const listed = await runInside(world.project, ['logins', 'list'])
    expect(listed.out).toContain(sessionId)
    expect((await runInside(world.project, ['logins', 'remove', 'sess_none'])).err).toContain('logins list')
    expect((await runInside(world.project, ['logins', 'remove', sessionId])).out).toContain(site.url)
    await expect(
      world.call('visit_page', { url: `${site.url}/home`, session: sessionId }, other),
      'one that is open ends as well',
    ).rejects.toMatchObject({ reason: 'session-not-found' })
    await expect(home(sessionId)).rejects.toMatchObject({ reason: 'session-not-found' })
    expect(auditText(world)).toContain('login.removed')
    expect((await runInside(world.project, ['logins', 'list'])).out).toContain('No login is saved')
  })
})
