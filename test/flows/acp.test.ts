import { PassThrough, Readable, Writable } from 'node:stream'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import type { AgentCaller } from '../../src/contracts/gate.ts'
import type { Turn, TurnTaker } from '../../src/contracts/turn.ts'
import { serveAcp } from '../../src/surfaces/acp/acp.ts'
import { openWorld, type World } from '../support/world.ts'

interface Seen {
  updates: Update[]
  asked: unknown[]
  heard: (update: string) => unknown
}

type Update = Record<string, unknown> & { sessionUpdate: string }

/** An agent that does what the words say, at the gate: a script, in the place of a model. */
function scripted(world: World): TurnTaker {
  return {
    async take(turn, tell, signal) {
      const { caller } = turn as Turn & { caller: AgentCaller }
      const words = turn.messages[0]?.text ?? ''
      if (words === 'wait') {
        tell({ type: 'delta', step: 1, delta: 'waiting' })
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        return
      }
      const input = { path: 'package.json', content: '{"scripts":{"postinstall":"x"}}\n', dryRun: true }
      tell({ type: 'delta', step: 1, delta: 'I write. ' })
      const { gate } = world.runtime
      await gate.call('write_to_file', input, caller)
      const real = { ...input, dryRun: false }
      tell({ type: 'tool_call', step: 1, id: 'c1', name: 'write_to_file', input: real })
      let ok = true
      await gate
        .call('write_to_file', real, caller, {
          signal,
          approvalWaitMs: words === 'unasked' ? 0 : 60_000,
          onApproval: (approval) => tell({ type: 'approval', step: 1, id: 'c1', name: 'write_to_file', input: real, approval }),
        })
        .catch(() => (ok = false))
      tell({
        type: 'tool_result',
        step: 1,
        id: 'c1',
        name: 'write_to_file',
        result: { ok, text: ok ? 'written' : 'not written' },
      })
      tell({ type: 'completed', step: 1, reply: 'Done.' })
    },
  }
}

async function inEditor<T>(
  world: World,
  answer: 'allow' | 'reject' | 'cancelled',
  act: (ask: (text: string) => Promise<{ stopReason: string }>, seen: Seen, stop: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const { gate, forms, project } = world.runtime
  const served = serveAcp({ gate, forms, project, taker: scripted(world) }, input, output)
  const seen: Seen = { updates: [], asked: [], heard: () => undefined }
  const stream = ndJsonStream(
    Writable.toWeb(input) as WritableStream<Uint8Array>,
    Readable.toWeb(output) as ReadableStream<Uint8Array>,
  )
  const done = await client({ name: 'zed' })
    .onNotification(methods.client.session.update, ({ params }) => {
      seen.updates.push(params.update as Update)
      seen.heard(JSON.stringify(params.update))
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      seen.asked.push(params)
      return { outcome: answer === 'cancelled' ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: answer } }
    })
    .connectWith(stream, async (agent) => {
      await agent.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: {},
        clientInfo: { name: 'zed', version: '1' },
      })
      await expect(agent.request(methods.agent.session.new, { cwd: '/elsewhere', mcpServers: [] })).rejects.toThrow()
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd: project, mcpServers: [] })
      const ask = (text: string) => agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
      return act(ask, seen, () => agent.notify(methods.agent.session.cancel, { sessionId }))
    })
  input.end()
  await served
  return done
}

const settings = { policies: { acpClients: ['zed'] } }

test('a card is the editor’s own dialog with its own diff, and its answer counts where the person named that editor', async () => {
  await using world = await openWorld({ config: settings })
  await inEditor(world, 'allow', async (ask, { updates, asked }) => {
    expect(await ask('go')).toEqual({ stopReason: 'end_turn' })
    expect(world.read('package.json')).toContain('postinstall')
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      toolCall: { toolCallId: 'c1', title: 'write_to_file package.json', kind: 'edit', status: 'pending' },
      options: [{ kind: 'reject_once' }, { kind: 'allow_once' }],
    })
    const { content } = (asked[0] as { toolCall: { content: Update[] } }).toolCall
    expect(content).toContainEqual(
      expect.objectContaining({
        type: 'diff',
        path: world.path('package.json'),
        newText: expect.stringContaining('postinstall'),
      }),
    )
    const kinds = updates.map((one) => one.sessionUpdate)
    expect(kinds.indexOf('tool_call')).toBeLessThan(kinds.indexOf('tool_call_update'))
    expect(updates.at(-2)).toMatchObject({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' })
    expect(updates.at(-1)).toMatchObject({ content: { text: 'Done.' } })
  })
  expect(world.runtime.approvals.list('used')[0] ?? world.runtime.approvals.list('approved')[0]).toMatchObject({
    decidedBy: expect.stringContaining('form@zed') as string,
  })
})

test('an editor that the person did not name is shown the card and asked nothing; a dialog that is waved away leaves the question open', async () => {
  await using world = await openWorld()
  await inEditor(world, 'allow', async (ask, { updates, asked }) => {
    expect(await ask('unasked')).toEqual({ stopReason: 'end_turn' })
    expect(asked).toEqual([])
    expect(JSON.stringify(updates)).toContain('handrail approvals show appr_')
  })
  expect(world.runtime.approvals.list('pending')).toHaveLength(1)
})

test('a cancelled turn ends as cancelled, and the next one is answered', async () => {
  await using world = await openWorld({ config: settings })
  await inEditor(world, 'reject', async (ask, seen, stop) => {
    const { asked } = seen
    const begun = new Promise<void>((resolve) => {
      seen.heard = (update) => update.includes('waiting') && resolve()
    })
    const waiting = ask('wait')
    await begun
    await stop()
    expect(await waiting).toEqual({ stopReason: 'cancelled' })
    expect(await ask('go')).toEqual({ stopReason: 'end_turn' })
    expect(asked).toHaveLength(1)
  })
  expect(world.runtime.approvals.list('denied')).toHaveLength(1)
})
