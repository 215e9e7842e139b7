import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withoutSecrets } from '../../src/text/without-secrets.ts'
import { noBrowser } from '../support/chromium.ts'
import { handIn } from '../support/runs.ts'
import { draws } from '../support/seed.ts'
import { html, openSite, type Site } from '../support/site.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

let site: Site
let world: World
beforeAll(async () => {
  site = await openSite()
  world = await openWorld()
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

const password = 'Ahorn 7+Laterne&93'
const username = 'ann.winter'
const said = [password, 'Laterne', username, 'winter']

describe.skipIf(noBrowser !== undefined)('a site that tells what it was signed in with', () => {
  const form = (action: string, more = '') =>
    html(
      `<form action="${action}"><label>Name <input name="n"></label><label>Password <input name="p"></label><button>Sign in</button></form>${more}`,
    )
  const echo = (status: number) => (request: { url?: string }, response: import('node:http').ServerResponse) => {
    const { searchParams } = new URL(request.url ?? '', site.url)
    response
      .writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' })
      .end(`<title>Welcome ${searchParams.get('n')}, ${searchParams.get('p')?.replace('&', '&amp;')}</title>hi`)
  }
  const cases: Record<string, [action: string, status: string, indicator?: object]> = {
    'in its address and title': ['/home', 'succeeded'],
    'in the address of an error': ['/no', 'failed'],
    'in the address of a page that is not the one waited for': [
      '/home',
      'failed',
      { type: 'urlContains', value: '/never', timeoutMs: 300 },
    ],
    'in an address that is not allowed': ['http://elsewhere.example/', 'failed'],
    'in an address that leads to another': ['/on', 'succeeded'],
  }
  /** Where it is told in other places, half of them in `npm test`, others with every seed. */
  const half = draws('places that tell a password')(2)
  const some = Object.entries(cases).filter((_, at) => isSoak || at === 0 || at % 2 === half)
  test.each(some)('%s', async (_, [action, status, successIndicator]) => {
    site.pages.set('/login', form(action))
    site.pages.set('/home', echo(200))
    site.pages.set('/no', echo(401))
    site.pages.set('/on', ({ url = '' }, response) => {
      response.writeHead(302, { Location: `/home/${encodeURIComponent(encodeURIComponent(url))}` }).end()
    })
    site.pages.set('*', html('<p>hi</p>', 'Home'))
    const inputs = {
      startUrl: `${site.url}/login`,
      credentials: { username, password },
      fields: { mode: 'semantic', usernameQuery: 'Name', passwordQuery: 'Password', submitQuery: 'Sign in' },
      ...(successIndicator && { successIndicator }),
    }
    const { runId } = await handIn(world, 'login_keep_session', inputs, { mode: 'async' })
    const run = await (
      await world.runtime.runs()
    ).wait(runId, {
      onProgress({ waiting }) {
        if (waiting && world.runtime.approvals.state(waiting.approvalId) === 'pending')
          world.runtime.approvals.decide(waiting.approvalId, { approve: true, by: 'the person' })
      },
    })
    expect(run.status).toBe(status)
    for (const word of said) expect(JSON.stringify(run)).not.toContain(word)
    // A field that is no password field shows what stands in it.
    const artifacts = await (await world.runtime.runs()).artifacts(runId)
    expect(artifacts.filter(({ mimeType }) => mimeType.startsWith('image/'))).toEqual([])
    const files = readdirSync(join(world.base, 'state'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    const holding = files.filter((one) => {
      const bytes = readFileSync(join(one.parentPath, one.name))
      return said.some((word) => bytes.includes(word))
    })
    expect(holding.map(({ name }) => name)).toEqual([])
  })
})

test('secrets go in every spelling, and what is none stays', () => {
  const tell = withoutSecrets([password, 'ann'])
  expect(tell('http://planning.example/annual?page=2#top')).toBe('http://planning.example/annual?page=2#top')
  expect(tell('http://x/home?n=bob&p=Ahorn+7%2BLaterne%2693')).toBe('http://x/home?…')
  expect(tell('http://x/%41horn%207%2bLaterne%2693/z')).toBe('…')
  expect(tell('http://x/users/ann?tab=1')).toBe('http://x/users/…?tab=1')
  expect(tell('http://x/on?to=%2Fhome%3Fp%3DAhorn%2B7%252BLaterne%252693')).toBe('http://x/on?…')
  expect(tell(`Welcome ann, ${password}!`)).toBe('Welcome …, …!')
})
