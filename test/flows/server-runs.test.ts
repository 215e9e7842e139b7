// @stage
import { expect, test } from 'vitest'
import { bounds } from '../../src/contracts/kept.ts'
import type { ServerRun } from '../../src/contracts/server-run.ts'
import { askLocal } from '../support/local-get.ts'
import { runInside } from '../support/inside.ts'
import { soon } from '../support/stage.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'

/** Dev servers are runs of their own kind: with a record, a list of their own, and an end that is told. */
const answering = (body = `response.end('up')`): string => `
  require('node:http').createServer((request, response) => { ${body} }).listen(0, () => console.log('listening'))`
const openProject = (source = answering()): Promise<World> =>
  openWorld({
    files: { 'package.json': JSON.stringify({ name: 'p', scripts: { dev: 'node dev.js' } }), 'dev.js': source },
    flags: { mode: 'developer' },
  })
const dev = (world: World, more: object = {}) =>
  world.call<{ running: boolean; urls: string[] }>('execute_command', { scriptName: 'dev', ...more })
const servers = async (world: World): Promise<ServerRun[]> =>
  (await runInside(world.project, ['runs', 'list', '--servers', '--json'])).out
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as ServerRun)
const newest = async (world: World): Promise<ServerRun> => (await servers(world))[0] as ServerRun
const events = (world: World, run: string) =>
  [...world.runtime.audit.lines()]
    .filter((line) => line.run === run)
    .map(({ event, by, details }) => [event, (details as { status: string }).status, by])

test('it is listed, shown and stopped from another terminal, and is in no list of contract 002', async () => {
  await using world = await openProject()
  const { urls } = await dev(world)
  const { runId } = await newest(world)
  expect(await soon(() => world.runtime.servers.get(runId)?.urls.length === 1)).toBe(true)
  expect(await newest(world)).toMatchObject({ status: 'running', urls, error: null, session: 'sess_test' })
  expect((await runInside(world.project, ['runs', 'list', '--servers'])).out).toContain(urls[0])
  expect((await runInside(world.project, ['runs', 'show', runId])).out).toContain('listening')
  expect(await dev(world), 'the same one').toMatchObject({ urls })
  expect(await servers(world)).toHaveLength(1)
  expect((await askLocal(urls[0] as string)).text).toBe('up')

  expect(await world.call('list_task_runs', {})).toMatchObject({ runs: [], total: 0 })
  expect(await world.fault('get_task_run', { runId })).toMatchObject({ reason: 'run-not-found' })
  expect((await runInside(world.project, ['runs', 'list'])).out).toContain('No runs.')

  expect(await runInside(world.project, ['runs', 'cancel', runId])).toMatchObject({ code: 0, out: 'Canceled.\n' })
  expect(await newest(world)).toMatchObject({ status: 'canceled', urls: [], error: { errorCode: 'RUN_CANCELED' } })
  // It really ends: the process that has it hears of it.
  const answers = (): Promise<boolean> =>
    askLocal(urls[0] as string).then(
      () => true,
      () => false,
    )
  while (await answers());
  expect((await runInside(world.project, ['runs', 'cancel', runId])).out).toMatch(/has its end already: canceled/)
  const retried = await runInside(world.project, ['runs', 'retry', runId])
  expect([retried.code, retried.err]).toEqual([1, expect.stringContaining(`runs show ${runId} --project ${world.project}`)])
  expect(events(world, runId)).toEqual([
    ['run.started', 'running', undefined],
    ['run.ended', 'canceled', expect.stringContaining('@cli')],
  ])

  await dev(world)
  const second = (await newest(world)).runId
  expect(second).not.toBe(runId)
  expect(await dev(world, { stop: true })).toMatchObject({ running: false })
  expect(await newest(world)).toMatchObject({ runId: second, status: 'succeeded', error: null })
  expect(await servers(world)).toHaveLength(2)
})

test('one that crashes has failed, with how and what it printed; watching it ends', async () => {
  await using world = await openProject(
    answering(`console.error('no more'); setTimeout(() => process.exit(7), 20); response.end()`),
  )
  const { urls } = await dev(world)
  const { runId } = await newest(world)
  const watched = runInside(world.project, ['runs', 'watch', runId])
  await askLocal(urls[0] as string)
  const end = await watched
  expect(end).toMatchObject({ code: 1 })
  for (const word of ['listening', 'no more', 'failed', 'exit code 7', `runs show ${runId} --project ${world.project}`])
    expect(end.out).toContain(word)
  expect(end.out.match(/listening/g), 'said once').toHaveLength(1)
})

test('what it prints is kept without secrets, bounded, and moves no terminal', async () => {
  const secret = `ghp_${'a1B2'.repeat(9)}`
  await using world = await openProject(`
    for (let n = 0; n < 5000; n++) console.log('line', n, 'token ${secret}')
    console.log('\\u001b[2Jcleared\\u0000 it')
    ${answering()}`)
  await dev(world)
  const { runId } = await newest(world)
  expect(await dev(world, { stop: true })).toMatchObject({ running: false })
  const { log } = world.runtime.servers.get(runId) as ServerRun
  expect(log.length).toBeLessThanOrEqual(bounds.servers.log)
  expect(log).toMatch(/^line \d+ token .*\n/)
  expect(log.endsWith('\u001b[2Jcleared\0 it\nlistening\n')).toBe(true)
  const { out } = await runInside(world.project, ['runs', 'show', runId])
  expect(out).toContain('line 4999')
  expect(out).not.toMatch(/[\0\u001b]/)
  for (const text of [log, out]) expect(text).not.toContain(secret.slice(4, 20))
})

test('closed with its process it has its end; killed with it, it is never shown running', async () => {
  await using world = await openProject()
  await dev(world)
  await world.reopen()
  expect(await newest(world)).toMatchObject({ status: 'succeeded' })
  const peer = await openStdio(world.project, { args: ['--mode', 'developer'] })
  await peer.call('execute_command', { scriptName: 'dev' })
  expect(await newest(world)).toMatchObject({ status: 'running' })
  process.kill(peer.pid, 'SIGKILL')
  await peer.client.close()
  const lost = await newest(world)
  expect(events(world, lost.runId)).toEqual([
    ['run.started', 'running', undefined],
    ['run.ended', 'failed', undefined],
  ])
  expect(lost).toMatchObject({ status: 'failed', urls: [], error: { message: expect.stringContaining('is gone') as string } })
  expect(await servers(world)).toHaveLength(2)
})
