import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openInside, runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

const secret = 'TOKEN=canary-of-the-person\n'
const allow = (project: string, ...more: string[]) =>
  runInside(project, ['grants', 'allow', 'secret', '.env', '--for', '1h', ...more])

test('a grant does not go to whoever opened a session last: it is asked whose, and who was refused comes first', async () => {
  await using world = await openWorld({ files: { '.env': secret } })
  await using good = await openInside(world.project, { client: 'good' })
  expect(await good.call('read_file', { path: './.env' })).toMatchObject({ error: { code: 'E_DENY_PATH' } })
  await using evil = await openInside(world.project, { client: 'evil' })
  await evil.call('list_files', { path: '.' })
  const unsaid = await allow(world.project)
  expect(unsaid.code).toBe(2)
  expect((await evil.call('read_file', { path: '.env' })).error?.code).toBe('E_DENY_PATH')
  const [heading, first, second] = unsaid.err.split('\n')
  expect(heading).toMatch(/session.*client.*over.*last call/)
  expect(first).toMatch(/good.*mcp-stdio.*was refused it/)
  expect(second).toMatch(/evil.*mcp-stdio/)
  const session = /--session (sess_\w+)/.exec(unsaid.err)?.[1] ?? ''
  const given = await allow(world.project, '--session', session)
  expect(given).toMatchObject({ code: 0 })
  expect(given.out).toContain('good')
  expect(await good.call('read_file', { path: '.env' })).toMatchObject({ content: secret })
  expect((await evil.call('read_file', { path: '.env' })).error?.code).toBe('E_DENY_PATH')
})

test('the only session there is need not be named', async () => {
  await using world = await openWorld({ files: { '.env': secret } })
  await using good = await openInside(world.project, { client: 'good' })
  await good.call('list_files', { path: '.' })
  expect(await allow(world.project)).toMatchObject({ code: 0, out: expect.stringContaining('good') as string })
  expect(await good.call('read_file', { path: '.env' })).toMatchObject({ content: secret })
})

test('any number of newer sessions push nobody out of reach, nor out of what is offered', async () => {
  await using world = await openWorld({ files: { '.env': secret } })
  const { runtime } = world
  runtime.openSession({ id: 'sess_good', surface: 'mcp-stdio', client: 'good/1' })
  await world.fault('read_file', { path: '.env' }, { session: 'sess_good' })
  for (let n = 0; n < 300; n++) runtime.openSession({ id: `sess_evil_${n}`, surface: 'mcp-http', client: 'evil/1' })
  const unsaid = await allow(world.project)
  expect(unsaid.err.split('\n')[1]).toMatch(/sess_good.*was refused it/)
  expect(await allow(world.project, '--session', 'sess_good')).toMatchObject({ code: 0 })
  expect(await world.call('read_file', { path: '.env' }, { session: 'sess_good' })).toMatchObject({ content: secret })
})

test('a session is at work when it calls, not only when it comes', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  const { runtime } = world
  runtime.openSession({ id: 'sess_first', surface: 'mcp-stdio', client: 'first/1' })
  runtime.openSession({ id: 'sess_then', surface: 'mcp-stdio', client: 'then/1' })
  const came = runtime.sessions().find(({ id }) => id === 'sess_first')?.lastAt ?? 0
  while (Date.now() <= came + 1) await world.call('list_files', { path: '.' })
  await world.call('read_file', { path: 'a.txt' }, { session: 'sess_first' })
  expect(runtime.sessions()[0]?.id).toBe('sess_first')
})

test('of two with one name nobody is proposed: the agent knows its session, and says so', async () => {
  await using world = await openWorld({ files: { '.env': secret } })
  await using mine = await openInside(world.project, { client: 'claude-code' })
  const refusal = await mine.call('read_file', { path: '.env' })
  await using evil = await openInside(world.project, { client: 'claude-code' })
  await evil.call('read_file', { path: '.env' })
  const unsaid = await allow(world.project)
  expect(unsaid.code).toBe(2)
  expect(unsaid.err).not.toMatch(/--session sess_/)
  expect(unsaid.err).toContain('told the id of its session')
  const told = String(refusal.error?.details?.['session'])
  expect(await allow(world.project, '--session', told)).toMatchObject({ code: 0 })
  expect(await mine.call('read_file', { path: '.env' })).toMatchObject({ content: secret })
  expect((await evil.call('read_file', { path: '.env' })).error?.code).toBe('E_DENY_PATH')
})

test('a process is one row, with its program and number, however many sessions it opens', async () => {
  await using world = await openWorld({ files: { '.env': secret } })
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const peer = `process ${process.pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  const come = async (session: string, client: string, from: string): Promise<void> => {
    world.runtime.openSession({ id: session, surface: 'mcp-http', client })
    await world.fault('read_file', { path: '.env' }, { session, client, surface: 'mcp-http', peer: from })
  }
  await come('sess_mine', 'mine/1', peer)
  for (let n = 0; n < 12; n++) await come(`sess_evil_${n}`, 'evil/1', 'process 1 1')
  const rows = (await allow(world.project)).err.split('\n')
  expect(rows.filter((row) => row.includes('evil'))).toHaveLength(1)
  expect(rows.find((row) => row.includes('sess_mine'))).toMatch(new RegExp(`mcp-http +node\\S* ${process.pid} `))
})
