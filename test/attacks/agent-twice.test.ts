import { expect, test } from 'vitest'
import type { TurnEvent } from '../../src/contracts/turn.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { caller, openAgentWorld } from '../support/agent.ts'
import { cleanEnv } from '../support/world.ts'

test('a conversation that one process has in hand is not gone on with by another: no call is made twice', async () => {
  const asks = { name: 'write_to_file', input: { path: '.vscode/tasks.json', content: '{}\n', dryRun: false } }
  await using at = await openAgentWorld([{ calls: [asks, { name: 'list_files', input: { path: '.' } }] }, { text: 'Done.' }])
  const other = openRuntime({
    project: at.world.project,
    environment: { ...cleanEnv(at.world.base), HANDRAIL_KEYRING: 'off' },
    flags: {},
  })
  try {
    const { taker } = await other.agent()
    /** The other process goes on with it, as `handrail chat --continue` does. */
    const goOn = async (): Promise<TurnEvent[]> => {
      const events: TurnEvent[] = []
      const turn = { speaker: { session_id: 's', user_id: 'u', channel: 'test' }, messages: [], caller: caller('chat_x') }
      await taker.take(turn, (event) => events.push(event), new AbortController().signal)
      return events
    }
    let second: Promise<TurnEvent[]> | undefined
    const { events, end } = await at.ask('do it', {
      session: 'chat_x',
      mode: 'act',
      person: (id) => {
        second = goOn().finally(() => at.world.runtime.approvals.decide(id, { approve: true, by: 'me' }))
      },
    })
    expect(await second).toMatchObject([{ type: 'failed', error: { details: { reason: 'busy' } } }])
    const results = events.flatMap((one) => (one.type === 'tool_result' ? [`${one.name} ${String(one.result['ok'])}`] : []))
    expect([end.type, results]).toEqual(['completed', ['write_to_file true', 'write_to_file true', 'list_files true']])
    expect(at.model.asked.length).toBe(2)
    // Once it is over, whoever comes may go on.
    expect((await goOn()).at(-1)).toMatchObject({ type: 'failed', error: { message: 'Nothing was asked' } })
  } finally {
    await other.close()
  }
})
