// @stage
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noBrowser } from '../support/chromium.ts'
import { linesOf } from '../support/everywhere.ts'
import { openInside } from '../support/inside.ts'
import { askLocal } from '../support/local-get.ts'
import { isSoak } from '../support/soak.ts'
import { openStdio, openWorld, type Peer, type World } from '../support/world.ts'

/** A server that says when it was started and what it can read. */
const dev = `
  const fs = require('node:fs'), born = Math.random()
  const read = (path) => { try { return fs.readFileSync(path, 'utf8') } catch (fault) { return fault.code } }
  require('node:http').createServer((request, response) => response.end(born + ' ' + read('private/a.txt')))
    .listen(0, function () { console.log('listening on', this.address().port) })`

const project = {
  'package.json': JSON.stringify({ name: 'p', scripts: { dev: 'node dev.js' } }),
  'dev.js': dev,
  'private/a.txt': 'theirs\n',
}
const quick = { policies: { writeRequiresDiff: false } }

interface Serving {
  running: boolean
  urls: string[]
  logs: string[]
}

/** Two tests have the real program in `npm test`; in a soak all of them. */
const openSome: (project: string, how: { args: string[] }) => Promise<Peer> = isSoak ? openStdio : openInside

/** `handrail mcp` with the person's own settings, which a test edits while it runs. */
async function openEdited<P extends Peer>(
  open: (project: string, how: { args: string[] }) => Promise<P>,
  settings: object,
  args: string[] = [],
) {
  const world = await openWorld({ files: project, config: { ...quick, ...settings } })
  const peer = await open(world.project, { args })
  let edits = 0
  return {
    world,
    peer,
    /** Settles once the running program goes by it. */
    async edit(next: object): Promise<void> {
      const snapshotRetention = 30 + ++edits
      world.settings({ ...quick, ...next, limits: { ...(next as { limits?: object }).limits, snapshotRetention } })
      await until(async () => (await peer.call('get_runtime_info', {}))['snapshotRetention'] === snapshotRetention, 'the edit')
    },
    async [Symbol.asyncDispose]() {
      await peer[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let round = 0; round < 1_800; round++) {
    if (await holds()) return
    await pause(25)
  }
  throw new Error(`never came true: ${what}`)
}

const developer = ['--mode', 'developer']
const start = async (peer: Peer): Promise<Serving> =>
  (await peer.call('execute_command', { scriptName: 'dev' })) as unknown as Serving
const get = async (url: string): Promise<string> => (await askLocal(url)).text
const gone = (url: string): Promise<boolean> =>
  get(url).then(
    () => false,
    () => true,
  )

test('a running dev server survives an edit of the settings: it is the same one, it is found again, and it can be ended', async () => {
  await using edited = await openEdited(openStdio, {}, developer)
  const { peer, edit } = edited
  const [url = ''] = (await start(peer)).urls
  const before = await get(url)
  expect(before).toContain('theirs')
  await edit({ disabledTools: ['search_files'] })
  // What programs see is made anew by these; what it sees is not among what they hide.
  await edit({ policies: { ...quick.policies, forbiddenDirs: ['.git', 'node_modules', '.env', 'elsewhere'] } })
  expect(await get(url)).toBe(before)
  expect(await start(peer)).toMatchObject({ running: true, urls: [url] })
  expect(await get(url)).toBe(before)
  expect(await peer.call('execute_command', { scriptName: 'dev', stop: true })).toMatchObject({ running: false })
  expect(await gone(url)).toBe(true)
})

test('a dev server that sees what the settings hide by now, or that nobody could end any more, is ended', async () => {
  await using edited = await openEdited(openSome, { mode: 'developer' })
  const { peer, edit } = edited
  const [first = ''] = (await start(peer)).urls
  const hiding = { ...quick.policies, forbiddenDirs: ['.git', 'node_modules', '.env', 'private'] }
  await edit({ mode: 'developer', policies: hiding })
  await until(() => gone(first), 'the end of the one that could read it')
  const again = await start(peer)
  expect(again.logs.join('\n')).toContain('the settings are others now: programs no longer see private')
  const [second = ''] = again.urls
  expect(await get(second)).not.toContain('theirs')
  await edit({ mode: 'user', policies: hiding })
  await until(() => gone(second), 'the end of the one that nobody could end')
})

let server: Server
let base = ''
beforeAll(async () => {
  server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<button>a</button>'))
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  base = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close().closeAllConnections())

test.skipIf(noBrowser !== undefined)(
  'an open page survives an edit of the settings, and goes nowhere that they no longer allow',
  async () => {
    const hosts = { browserAllowedHosts: ['localhost'] }
    await using edited = await openEdited(openSome, { policies: { ...quick.policies, ...hosts } }, developer)
    const { peer, edit } = edited
    const act = (action: string, more: object = {}): Promise<unknown> => peer.call('browser_action', { action, ...more })
    expect(await act('open', { url: `${base}/one` })).toMatchObject({ ok: true })
    await edit({ policies: { ...quick.policies, ...hosts, batchMaxLines: 77 } })
    expect(await act('click', { selector: 'button' })).toMatchObject({ ok: true, url: `${base}/one` })
    await edit({ policies: { ...quick.policies, browserAllowedHosts: ['127.0.0.1'] } })
    expect(await act('open', { url: `${base}/two` })).toMatchObject({ error: { code: 'E_POLICY_VIOLATION' } })
    expect(await act('click', { selector: 'button' })).toMatchObject({ ok: true, url: `${base}/one` })
  },
)

test('a call that waits for a person survives an edit of the settings, and the same call made again under the new ones is not a second one', async () => {
  await using edited = await openEdited(openSome, {})
  const { world, peer, edit } = edited
  const write = { path: 'tools/package.json', content: '{"name":"tools"}\n', dryRun: false, idempotencyKey: 'one' }
  const first = peer.call('write_to_file', write)
  await until(() => world.runtime.approvals.count('pending') === 1, 'the question')
  await edit({ disabledTools: ['search_files'] })
  const second = peer.call('write_to_file', write)
  await edit({ policies: { ...quick.policies, forbiddenDirs: ['.git', 'node_modules', '.env', 'elsewhere'] } })
  const [question] = world.runtime.approvals.list('pending')
  world.runtime.approvals.decide(question?.id ?? '', { approve: true, by: 'test' })
  for (const answer of await Promise.all([first, second])) expect(answer).toMatchObject({ applied: true })
  expect(world.read(write.path)).toBe(write.content)
  expect(world.runtime.approvals.list()).toHaveLength(1)
})

test('calls that are under way end under what they were judged by; those that follow go by the new settings', async () => {
  await using edited = await openEdited(openSome, {})
  const { world, peer, edit } = edited
  const write = { path: 'tools/package.json', content: '{}\n', dryRun: false }
  const waits = peer.call('write_to_file', write)
  await until(() => world.runtime.approvals.count('pending') === 1, 'the question')
  await edit({ readOnly: true })
  expect(await peer.call('write_to_file', { ...write, path: 'b.txt' })).toMatchObject({ error: { code: 'E_POLICY_VIOLATION' } })
  world.runtime.approvals.decide(world.runtime.approvals.list('pending')[0]?.id ?? '', { approve: true, by: 'test' })
  expect(await waits).toMatchObject({ applied: true })
})

test('settings that are edited again and again leave nothing open behind them', async () => {
  await using edited = await openEdited(openStdio, {}, ['--enable-shell'])
  const { world, peer, edit } = edited
  const open = (): number =>
    readdirSync(`/proc/${peer.pid}/fd`).filter((fd) => isBelow(world, `/proc/${peer.pid}/fd/${fd}`)).length
  const round = async (name: string): Promise<void> => {
    await edit({ policies: { ...quick.policies, forbiddenDirs: ['.git', 'node_modules', '.env', name] } })
    await peer.call('shell', { command: 'true' })
    await peer.call('read_file', { path: 'dev.js' })
  }
  await round('first')
  const before = open()
  for (const name of ['second', 'third', 'fourth']) await round(name)
  await until(() => open() <= before, 'as many open files as before')
  expect(linesOf(world, ({ event }) => event === 'settings.changed')).toHaveLength(4)
})

function isBelow({ base: folder }: World, link: string): boolean {
  try {
    return readlinkSync(link).startsWith(folder)
  } catch {
    return false
  }
}
