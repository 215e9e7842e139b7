import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/contracts/call.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { openServe } from '../support/serve.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** One agent asks for more than a person will ever answer; the next one's question still gets a place. */

const flags = { 'write-requires-diff': 'false' }

/** Asks about a file that runs; gives the question's id, or what was said instead. */
async function asks(world: World, path: string, caller: Partial<Caller>): Promise<{ id?: string; says: string }> {
  const whole: Caller = { surface: 'mcp-http', client: 'test/1', session: 'sess_test', role: 'agent', ...caller }
  try {
    await world.runtime.call('write_to_file', { path, content: '{}', dryRun: false }, whole, { approvalWaitMs: 0 })
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    const id = fault.details?.['approvalId']
    return { says: fault.message, ...(typeof id === 'string' && { id }) }
  }
  throw new Error('nobody was asked')
}

/** Fills every place there is, with a new session after each hundred questions, and says what was said at the end. */
async function flood(world: World, caller: (session: number) => Partial<Caller>): Promise<string> {
  let last: Awaited<ReturnType<typeof asks>> = { says: '' }
  for (let session = 0; session < 7; session++)
    for (let at = 0; at < 100; at++) {
      last = await asks(world, `${session}/${at}/package.json`, { session: `sess_flood_${session}`, ...caller(session) })
      if (!isSoak && session >= 5 && last.id === undefined) return last.says
    }
  return last.says
}

const otherVersions = (session: number): Partial<Caller> => ({ client: `flood/${session}` })
const floods: [string, (session: number) => Partial<Caller>][] = [
  ['another name each time, from one process', (session) => ({ client: `flood-${session}/1`, peer: 'process 1' })],
]
// What an asker gets does not hang on how they are known to be one: the test below shows that of these.
if (isSoak) floods.push(['another version each time', otherVersions], ['the same name', () => ({ client: 'flood/1' })])

test('sessions under one name count together where no process is known, whatever version they say; another name is another asker', async () => {
  await using world = await openWorld({ flags })
  const callers = [otherVersions(1), otherVersions(2), { client: 'editor/1' }]
  for (const [at, caller] of callers.entries()) await asks(world, `${at}/package.json`, { session: `sess_${at}`, ...caller })
  const askerOf = (at: number): string | undefined =>
    world.runtime.approvals.list('pending').find(({ client }) => client === callers[at]?.client)?.asker
  expect(askerOf(0)).toBeTruthy()
  expect(askerOf(1)).toBe(askerOf(0))
  expect(askerOf(2)).not.toBe(askerOf(0))
})

describe.each(floods)('a flood of sessions under %s', (_, caller) => {
  test('is refused in words, and takes no place from others', async () => {
    await using world = await openWorld({ flags })
    expect(await flood(world, caller)).toMatch(/500 questions wait for a person already/)
    const honest: Partial<Caller> = { client: 'editor/1', session: 'sess_editor', peer: 'process 2' }
    const places: string[] = []
    for (let at = 0; at < 5; at++) {
      const { id, says } = await asks(world, `mine-${at}/package.json`, honest)
      expect(id, says).toBeDefined()
      places.push(id as string)
    }
    expect(world.runtime.approvals.count('pending')).toBe(500)
    // It does not get them back, however often it tries.
    for (let at = 0; at < sweep(20, 5); at++) {
      const again = await asks(world, `again-${at}/package.json`, { session: `sess_again_${at}`, ...caller(at) })
      expect(again.says).toMatch(/500 questions wait/)
    }
    for (const id of places) expect(world.runtime.approvals.get(id)?.state).toBe('pending')
    // What gave way is in the log as that, oldest first, and the person finds no card of it that could still be answered.
    const gone = world.runtime.audit.last(1_000, ({ event, by }) => event === 'approval.decided' && by === 'room for others')
    expect(gone).toHaveLength(5)
    const [first] = gone
    expect(world.runtime.approvals.get(first?.approval ?? '')?.state).toBe('expired')
    expect(() => world.runtime.approvals.decide(first?.approval ?? '', { approve: true, by: 'test' })).toThrow(/already expired/)
  })
})

test('over HTTP all sessions of one process count together, whatever they call themselves', async () => {
  await using world = await openWorld({ flags })
  await using served = await openServe(world.project, { args: ['--write-requires-diff', 'false'] })
  for (const name of ['one', 'two']) {
    const client = new Client({ name, version: '1' })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${served.port}/mcp`), {
        requestInit: { headers: { Authorization: `Bearer ${served.token}` } },
      }),
    )
    const input = { path: `${name}/package.json`, content: '{}', dryRun: false }
    const answer = client.callTool({ name: 'write_to_file', arguments: input }).catch(() => undefined)
    while (world.runtime.approvals.list('pending').every((one) => !one.client.startsWith(name)))
      await new Promise((resolve) => setTimeout(resolve, 20))
    await client.close()
    await answer
  }
  const askers = world.runtime.approvals.list('pending').map(({ asker }) => asker)
  expect(askers).toHaveLength(2)
  expect(askers[0]).toBe(askers[1])
})
