import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repository } from '../support/world.ts'

// The driver keeps no time for these, and a browser may answer none of them: each says here what ends the wait for it. One that is not
// in the list needs an answer to that first; `test/attacks/browser-frozen.test.ts` shows that they hold.

const waits: Record<string, string> = {
  'host/browser/browser.ts newContext': 'answered',
  'host/browser/close-page.ts newCDPSession': 'nobody waits for it',
  'host/browser/launch.ts launchPersistentContext': 'inTime',
  'host/browser/page-session.ts newPage': 'answered',
  'host/browser/page-session.ts count': 'watched',
  'host/browser/page-worlds.ts newCDPSession': 'answered around openTab; inTime around readPage',
  'host/browser/page-worlds.ts detach': 'inTime around readPage',
  'host/browser/send-guard.ts addInitScript': 'answered around openTab',
  'host/browser/send-guard.ts newPage': 'answered around openTab',
  'host/browser/send-guard.ts route': 'the time of a call: withPage, withTab',
  'host/browser/send-guard.ts unroute': 'the time of a call: withPage, withTab',
  'host/browser/session-state.ts storageState': 'inTime',
  'host/browser/sessions.ts addInitScript': 'answered',
  'host/browser/agent-tabs.ts title': 'inTime',
  'host/browser/leased-page.ts evaluate': 'the time of a call: withPage',
  'host/browser/leased-page.ts title': 'the time of a call: withPage',
  'host/browser/locate.ts count': 'the time of a call: withPage',
  'host/preview/open-scene.ts addInitScript': 'the time of a call: Browser.withPage',
  'host/preview/open-scene.ts evaluate': 'the time of a call: Browser.withPage',
  'host/preview/play-game.ts addInitScript': 'the time of a call: Browser.withPage',
  'host/preview/play-game.ts evaluate': 'the time of a call: Browser.withPage',
  'host/preview/play.ts evaluate': 'the time of a call: Browser.withPage',
  'toolsets/browser/page-navigate.ts title': 'the time of a call: withTab',
  'toolsets/browser/page-screenshot.ts title': 'the time of a call: withTab',
}

const asked =
  /\.(newPage|newContext|storageState|addInitScript|newCDPSession|newBrowserCDPSession|launch\w*|route|unroute|evaluate\w*|count|title|cookies|addCookies|clearCookies|content|detach)\(/g
const filesIn = (folder: string): string[] =>
  readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
const read = (file: string): string => readFileSync(join(repository, file), 'utf8')

test('nothing is asked of the driver without an end to the wait', () => {
  const found = ['src/host/browser', 'src/host/preview', 'src/toolsets/browser']
    .flatMap(filesIn)
    .filter((file) => !file.endsWith('.test.ts') && !/\/in-page[^/]*$/.test(file))
    .flatMap((file) => [...read(file).matchAll(asked)].map(([, what]) => `${file.replace('src/', '')} ${what}`))
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(waits).toSorted())
})

test('pages are closed in the one way that does not hang, here and in tests', () => {
  const closing = /\b(?:\w*[pP]age|popup|stranger)\.close\(\)/
  const files = [...filesIn('src'), ...filesIn('test')].filter((file) => file !== 'src/host/browser/close-page.ts')
  expect(files.filter((file) => closing.test(read(file)))).toEqual([])
})
