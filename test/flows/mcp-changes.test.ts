import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { someWays, ways, type Way } from '../support/serve.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, runCli, type World } from '../support/world.ts'
import { follow, type Follower, linesOf, names, openEverywhere, until } from '../support/everywhere.ts'

test.for([
  ['that can be used', {}],
  ['that cannot', { tools: 'no_such_thing' }],
] as const)('settings taken up again and again leave nothing open behind them: %s', async ([, flags]) => {
  await using world = await openWorld()
  // A closed database gives back its files when its statements are collected, which is no matter of ours.
  const open = (): string[] =>
    readdirSync('/proc/self/fd')
      .map((fd) => linkOf(`/proc/self/fd/${fd}`))
      .filter((path) => path.startsWith(world.project) && !path.includes('handrail.db'))
  const takeUp = async (): Promise<void> => {
    try {
      await openRuntime({ project: world.project, environment: {}, flags }).close()
    } catch (fault) {
      expect((fault as Error).message).toContain('no_such_thing')
    }
  }
  const before = open().sort()
  for (let times = 0; times < 3; times++) await takeUp()
  expect(open().sort()).toEqual(before)
})

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

// Most of what follows is waiting, so it waits together.
describe.concurrent('settings that change while it runs', () => {
  test('the list of tools follows, everybody is told, and calls under way go on', async () => {
    await using all = await openEverywhere(
      { files: { 'package.json': '{}\n' }, config: { policies: { writeRequiresDiff: false } } },
      someWays,
      { real: true },
    )
    const { world, served } = all
    const stderr = new Map<string, () => string>([['http', served.stderr]])
    for (const way of someWays.filter((one) => one.startsWith('stdio'))) {
      let said = ''
      const { transport } = all.on(way).client as unknown as { transport: { stderr: NodeJS.ReadableStream } }
      transport.stderr.on('data', (piece: Buffer) => (said += piece.toString()))
      stderr.set(way, () => said)
    }
    const followers = new Map<Way, Follower>()
    for (const [way, peer] of all.peers) followers.set(way, await follow(way, peer))
    const before = await names(all.on('stdio 2025').client)
    expect(before).toContain('search_files')
    const changes = (): AuditLine[] => linesOf(world, ({ event }) => event === 'settings.changed')
    const told = (times: number): Promise<boolean> =>
      until(() => [...followers.values()].every(({ tools }) => tools >= times), `notice ${times}`)
    const edit = (settings: object): void => world.write('handrail.config.json', JSON.stringify(settings))

    // Calls that wait for a person the whole time.
    const waiting = [...all.peers].map(([way, peer]) => ({
      path: `wait-${ways.indexOf(way)}/package.json`,
      done: peer.call('write_to_file', { path: `wait-${ways.indexOf(way)}/package.json`, content: `${way}\n`, dryRun: false }),
    }))
    await until(() => world.runtime.approvals.list('pending').length === someWays.length, 'a question of each')

    edit({ disabledTools: ['search_files'] })
    await told(1)
    for (const [way, { client, call }] of all.peers) {
      expect([way, await names(client)]).toEqual([way, before.filter((name) => name !== 'search_files')])
      expect([way, (await call('search_files', { path: '.', regex: 'x' })).error?.code]).toEqual([way, 'E_TOOL_DISABLED'])
    }
    // One process serves HTTP, and each client over stdio has its own. The notice does not wait for the line.
    const processes = stderr.size
    await until(() => changes().length >= processes, 'a line of each')
    expect(changes()).toHaveLength(processes)
    for (const line of changes()) expect(line.details).toEqual({ settings: ['disabledTools'] })

    // Settings that cannot be used change nothing, and say so.
    for (const [broken, word] of [
      ['{ "disabledTools": ', 'handrail.config.json'],
      ['{"disabledTools":"all"}', 'disabledTools'],
      ['{"tools":["no_such_thing"]}', 'no_such_thing'],
    ] as const) {
      world.write('handrail.config.json', broken)
      for (const [who, said] of stderr)
        await until(
          () => said().includes('old ones stay in force') && said().split('old ones stay in force').at(-1)?.includes(word),
          `${who} to say what is wrong with ${broken}`,
        )
    }
    for (const [way, { client }] of all.peers)
      expect([way, await names(client)]).toEqual([way, before.filter((name) => name !== 'search_files')])
    expect(changes()).toHaveLength(processes)

    edit({ tools: ['files'] })
    await told(2)
    for (const [way, { client }] of all.peers) {
      const listed = await names(client)
      expect([way, listed.includes('search_files'), listed.includes('get_runtime_info')]).toEqual([way, true, false])
    }
    await until(() => changes().length >= 2 * processes, 'another line of each')
    expect(changes()).toHaveLength(2 * processes)
    for (const line of changes().slice(processes))
      expect((line.details as { settings: string[] }).settings.sort()).toEqual(['disabledTools', 'tools'])

    // No file at all is as good as an empty one.
    rmSync(world.path('handrail.config.json'))
    await told(3)
    for (const [way, { client }] of all.peers) expect([way, await names(client)]).toEqual([way, before])

    for (const { path, done } of waiting) {
      const asked = world.runtime.approvals.list('pending').find(({ card }) => card.changes[0]?.path === path)
      world.runtime.approvals.decide(asked?.id ?? '', { approve: true, by: 'test' })
      expect([path, await done]).toMatchObject([path, { applied: true }])
    }
    expect(await runCli(world.project, ['audit', 'verify'])).toMatchObject({ code: 0 })
  })
})

describe.concurrent('subscriptions', () => {
  const uris = ['handrail://audit', 'handrail://snapshots']
  const write = (world: World, path: string): ReturnType<typeof runCli> =>
    runCli(world.project, [
      'call',
      'write_to_file',
      JSON.stringify({ path, content: `${path}\n`, dryRun: false }),
      '--write-requires-diff',
      'false',
    ])
  /** Longer than the server takes to look twice. */
  const quiet = 1_300
  /** Waits until nothing is added any more; fails where there is always more. */
  const rest = async (count: () => string): Promise<void> => {
    const counts = [count()]
    while (counts.length < 9 && counts.at(-1) !== counts.at(-2)) {
      await pause(quiet)
      counts.push(count())
    }
    expect(counts.at(-1), `updates only its own reading can have made: ${counts.join(', ')}`).toBe(counts.at(-2))
  }

  test('what another process writes is news, whoever reads it on every update comes to rest, and who unsubscribes hears no more', async () => {
    await using all = await openEverywhere({}, ways, { inside: !isSoak })
    const { world } = all
    const followers = new Map<Way, Follower>()
    const reads = new Map<Way, number>()
    for (const [way, peer] of all.peers) {
      followers.set(way, await follow(way, peer, uris))
      // The log is read again on every update of it.
      peer.client.setNotificationHandler('notifications/resources/updated', async ({ params: { uri } }) => {
        followers.get(way)?.updates.push(uri)
        if (uri !== 'handrail://audit') return
        reads.set(way, (reads.get(way) ?? 0) + 1)
        await peer.client.readResource({ uri })
      })
    }
    expect(await write(world, 'one.txt')).toMatchObject({ code: 0 })
    for (const [way, follower] of followers)
      await until(() => uris.every((uri) => follower.updates.includes(uri)), `news of both over ${way}`)
    await rest(() => [...followers].map(([way, { updates }]) => `${way} ${updates.length}`).join())
    for (const way of ways) expect([way, (reads.get(way) ?? 0) > 0]).toEqual([way, true])

    // The first of them stops listening; the last is the witness that there was news.
    const witness = followers.get('sse')
    for (const [way, follower] of followers) if (way !== 'sse') await follower.stop()
    for (const follower of followers.values()) follower.updates.splice(0)
    expect(await write(world, 'two.txt')).toMatchObject({ code: 0 })
    await until(() => uris.every((uri) => witness?.updates.includes(uri)), 'news for the witness')
    await pause(quiet)
    for (const [way, { updates }] of followers) if (way !== 'sse') expect([way, updates]).toEqual([way, []])
    for (const [way, peer] of all.peers)
      expect([way, (await peer.call('read_file', { path: 'two.txt' }))['content']]).toEqual([way, 'two.txt\n'])
  })

  test('only what was subscribed to is told', async () => {
    await using all = await openEverywhere({}, isSoak ? ['stdio 2025', 'http 2026', 'sse'] : someWays, { inside: !isSoak })
    const followers = new Map<Way, Follower>()
    for (const [way, peer] of all.peers) followers.set(way, await follow(way, peer, ['handrail://snapshots']))
    expect(await write(all.world, 'one.txt')).toMatchObject({ code: 0 })
    for (const [way, follower] of followers) await until(() => follower.updates.length > 0, `news over ${way}`)
    await pause(quiet)
    for (const [way, { updates }] of followers) expect([way, [...new Set(updates)]]).toEqual([way, ['handrail://snapshots']])
  })

  test('whoever reads all resources on every update comes to rest too', async () => {
    await using all = await openEverywhere({}, ['stdio 2025'], { inside: !isSoak })
    const { client } = all.on('stdio 2025')
    const follower = await follow('stdio 2025', all.on('stdio 2025'), uris)
    client.setNotificationHandler('notifications/resources/updated', async ({ params }) => {
      follower.updates.push(params.uri)
      for (const uri of uris) await client.readResource({ uri })
    })
    expect(await write(all.world, 'one.txt')).toMatchObject({ code: 0 })
    await until(() => uris.every((uri) => follower.updates.includes(uri)), 'news of both')
    await rest(() => String(follower.updates.length))
  })
})
