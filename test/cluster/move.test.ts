import { expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { openDatabase, type Database } from '../../src/host/database.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { ask, database, sites, urls } from '../support/cluster.ts'
import { runInside } from '../support/inside.ts'
import { putTemplates } from '../support/runs.ts'
import { openWorld, type CliEnd } from '../support/world.ts'

test('one project from its own store to the shared one and back, by the commands of the guide: no run is lost on the way', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'hello\n', 'b.txt': 'there\n' } })
  await world.runtime.close()
  putTemplates(world.base)
  putTemplates(world.base, { sites })
  const alone = { HANDRAIL_DATABASE_URL: '' }
  const shared = { HANDRAIL_DATABASE_URL: database() }
  const cli = (words: string[], env: Record<string, string>): Promise<CliEnd> => runInside(world.project, words, { env })
  const run = async (template: string, inputs: object, env: Record<string, string>): Promise<RunView> => {
    const { out } = await cli(['run', template, '--input', JSON.stringify(inputs), '--json'], env)
    return JSON.parse(out.trim().split('\n').at(-1) as string) as RunView
  }
  const list = async (env: Record<string, string>): Promise<RunView[]> => {
    const { out } = await cli(['runs', 'list', '--json'], env)
    return out
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as RunView)
  }
  const contentOf = async ({ artifactIds }: RunView, env: Record<string, string>): Promise<string> =>
    (await cli(['artifacts', 'get', artifactIds[0] as string], env)).out

  const first = await run('read_all', { items: ['a.txt', 'none.txt'] }, alone)
  expect(first.status).toBe('partial_success')
  const content = await contentOf(first, alone)

  const there = await cli(['runs', 'move', '--to', 'shared'], shared)
  expect(there).toMatchObject({ code: 0, out: '1 run moved.\n' })
  expect(await list(alone)).toEqual([])
  expect((await list(shared)).map(({ runId, status }) => [runId, status])).toEqual([[first.runId, 'partial_success']])
  expect(await contentOf(first, shared)).toBe(content)
  const steps = async (id: string, env: Record<string, string>): Promise<unknown> => {
    const { out } = await cli(['runs', 'show', id, '--json'], env)
    return (JSON.parse(out) as { steps: unknown }).steps
  }
  const journal = await steps(first.runId, shared)

  const second = await run('sites', { items: urls(2) }, shared)
  expect(second.status).toBe('succeeded')
  // Asked about a run that is there, wherever it was made.
  const again = await cli(['runs', 'retry', first.runId, '--failed', '--json'], shared)
  const third = JSON.parse(again.out.trim().split('\n').at(-1) as string) as RunView
  expect(third.status).toBe('partial_success')

  const back = await cli(['runs', 'move', '--to', 'embedded'], shared)
  expect(back).toMatchObject({ code: 0, out: '3 runs moved.\n' })
  const home = await list(alone)
  expect(home.map(({ runId }) => runId).toSorted()).toEqual([first.runId, second.runId, third.runId].toSorted())
  expect(await contentOf(first, alone)).toBe(content)
  expect(await steps(first.runId, alone)).toEqual(journal)
  expect(await list(shared)).toEqual([])
  expect(await ask('SELECT 1 FROM handrail.artifacts WHERE run = ANY ($1)', [home.map(({ runId }) => runId)])).toEqual([])
  // And it goes on there.
  expect((await run('read_all', { items: ['b.txt'] }, alone)).status).toBe('succeeded')
  await world.reopen()
})

test('what others wrote into the shared store is not brought onto the machine, and what the store of the machine has is kept whole', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'hello\n' } })
  await world.runtime.close()
  putTemplates(world.base)
  putTemplates(world.base, { sites })
  const shared = { HANDRAIL_DATABASE_URL: database() }
  const alone = { HANDRAIL_DATABASE_URL: '' }
  const cli = (words: string[], env: Record<string, string> = shared): Promise<CliEnd> => runInside(world.project, words, { env })
  const run = async (template: string, items: string[], env: Record<string, string>): Promise<string> => {
    const { out } = await cli(['run', template, '--input', JSON.stringify({ items }), '--json'], env)
    return (JSON.parse(out.trim().split('\n').at(-1) as string) as RunView).runId
  }
  const local = <T>(act: (db: Database) => T): T => {
    const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
    try {
      return act(db)
    } finally {
      db.close()
    }
  }
  const schemaOf = (id: string): unknown => local((db) => db.get('SELECT output_schema AS it FROM run_bodies WHERE run = ?', id))
  const shaped = await run('read_all', ['a.txt'], alone)
  local((db) => db.run(`UPDATE run_bodies SET output_schema = '{"type":"object"}' WHERE run = ?`, shaped))
  expect(await cli(['runs', 'move', '--to', 'shared'])).toMatchObject({ out: '1 run moved.\n' })
  const forged = {
    origin: await run('sites', urls(1), shared),
    inputs: await run('sites', urls(1), shared),
    secrets: await run('read_all', ['a.txt'], shared),
    step: await run('read_all', ['a.txt'], shared),
  }
  await ask(`UPDATE handrail.runs SET origin = '{"surface":"cli","client":"person","session":"sess_person"}' WHERE id = $1`, [
    forged.origin,
  ])
  await ask(`UPDATE handrail.run_bodies SET inputs = '{"items":["https://example.org/"]}' WHERE run = $1`, [forged.inputs])
  await ask(`UPDATE handrail.run_bodies SET secrets = '{"items":["b.txt"]}' WHERE run = $1`, [forged.secrets])
  await ask(`UPDATE handrail.run_steps SET output = '"evil"' WHERE run = $1`, [forged.step])
  const { code, out } = await cli(['runs', 'move', '--to', 'embedded'])
  expect([code, out.split('\n')[0]]).toEqual([1, '1 run moved.'])
  expect(out).toContain('4 left where they are')
  expect(local((db) => db.all('SELECT id FROM runs'))).toEqual([{ id: shaped }])
  expect(schemaOf(shaped)).toEqual({ it: '{"type":"object"}' })
  await world.reopen()
})
