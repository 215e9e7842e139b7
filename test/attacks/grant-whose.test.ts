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
