import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openAgentWorld } from '../support/agent.ts'
import { beachDate, endOfBeachDate, told } from '../support/beach-date.ts'
import { proves } from '../support/proof.ts'
import { inEditor, inEditorHere, type Update } from '../support/editor.ts'
import { isSoak } from '../support/soak.ts'
import type { Line } from '../support/scripted-model.ts'
import { fakeEngine } from '../support/tiny-game.ts'

const env = { HANDRAIL_KEYRING: 'off' }
const of = (updates: readonly Update[], kind: string): Update[] => updates.filter((one) => one.sessionUpdate === kind)
const words = (updates: readonly Update[], kind = 'agent_message_chunk'): string =>
  of(updates, kind)
    .map(({ content }) => (content as { text: string }).text)
    .join('')
const plans = (updates: readonly Update[]): string[] =>
  of(updates, 'plan').map(({ entries }) => (entries as { status: string }[]).map(({ status }) => status[0]).join(''))

proves(
  'agent.editor',
  '`handrail acp` as an editor starts it: the whole story with its dialogs and its plan; another process takes it up again; undo takes it back',
  async () => {
    const { script, files, route, policies, request, reply, calls, plan } = beachDate
    const config = { policies: { ...policies, acpClients: ['zed'] } }
    // What the real engine shows is what the tests of the preview are about; what an editor is told is the same.
    const withEngine = { ...files, ...fakeEngine('older') }
    await using at = await openAgentWorld(script, { files: withEngine, config, route, agent: { contextTokens: 20_000 } })
    const session = await inEditor(
      at.world,
      async ({ open, ask, updates, dialogs }) => {
        const { sessionId, modes } = await open()
        expect([modes?.currentModeId, modes?.availableModes.map(({ id }) => id)]).toEqual([
          'auto',
          ['auto', 'answer', 'plan', 'act'],
        ])
        expect(await ask(sessionId, request)).toEqual({ stopReason: 'end_turn' })
        const made = of(updates, 'tool_call').map(({ title, rawInput }) =>
          told(String(title).split(' ')[0] ?? '', rawInput as Record<string, unknown>),
        )
        expect(made).toEqual(calls)
        expect(words(updates).endsWith(reply)).toBe(true)
        // The plan as the editor's own, each step as it goes on.
        const [first] = of(updates, 'plan')
        expect((first?.['entries'] as { content: string }[] | undefined)?.map(({ content }) => content)).toEqual(plan)
        expect(plans(updates)).toEqual(['ppp', 'ipp', 'cpp', 'cip', 'ccp', 'cci', 'ccc'])
        // Asked twice, about the plan and about the write, the latter with the editor's own diff.
        const asked = dialogs.map(({ toolCall }) => toolCall as { title: string; content: Update[] })
        expect(asked.map(({ title }) => title)).toEqual(['present_plan', `write_to_file ${beachDate.path}`])
        expect(asked[1]?.content).toContainEqual(
          expect.objectContaining({ type: 'diff', path: at.world.path(beachDate.path), oldText: null }),
        )
        const [usage] = of(updates, 'usage_update')
        expect(usage).toMatchObject({ used: 110 * at.model.asked.length, size: 20_000 })
        return sessionId
      },
      { env },
    )
    // This process is another one, too.
    await (isSoak ? inEditor : inEditorHere)(
      at.world,
      async ({ load, updates }) => {
        await load(session)
        expect(words(updates, 'user_message_chunk').startsWith(request)).toBe(true)
        expect(words(updates)).toContain('我先看看有什么素材。')
        await expect(load(`sess_${'0'.repeat(32)}`)).rejects.toThrow()
        await expect(load('../../etc')).rejects.toThrow()
      },
      { env },
    )
    await endOfBeachDate(at.world, at.model)
  },
)

const write: Line = { calls: [{ name: 'write_to_file', input: { path: 'a.txt', content: 'x\n', dryRun: false } }] }
const steps = [{ tool: 'write_to_file', description: 'write a.txt' }]

test('modes: a plan only looks and is told as one, answering is offered no tool, acting carries the plan out', async () => {
  const plan: Line = { calls: [{ name: 'propose_plan', input: { title: 'A file', steps } }] }
  await using at = await openAgentWorld([plan, { text: '是的。' }, plan, write, { text: '写好了。' }])
  await inEditorHere(at.world, async ({ open, mode, ask, updates }) => {
    const { sessionId } = await open()
    await expect(mode(sessionId, 'sudo')).rejects.toThrow()
    await mode(sessionId, 'plan')
    await ask(sessionId, '写 a.txt')
    expect([plans(updates), existsSync(at.world.path('a.txt'))]).toEqual([['p'], false])
    await ask(sessionId, '/answer 行吗？')
    expect([at.model.asked[1]?.body.tools ?? [], words(updates).endsWith('是的。')]).toEqual([[], true])
    await ask(sessionId, '写 a.txt')
    await mode(sessionId, 'act')
    await ask(sessionId, '开始')
    expect([at.world.read('a.txt'), words(updates).endsWith('写好了。')]).toEqual(['x\n', true])
  })
})

test('an R3 is never approved by the client: no dialog is opened, whatever the person set, and only the person’s own answer counts', async () => {
  const route = { route_type: 'tool', tool_ids: ['write_to_file'], confidence: 0.9, reason: 'a file', min_risk: 'R3' }
  const config = { policies: { acpClients: ['zed'] } }
  await using at = await openAgentWorld([write, { text: '写好了。' }], { config, route })
  const { approvals } = at.world.runtime
  await inEditorHere(at.world, async ({ open, ask, hears, updates, dialogs }) => {
    const { sessionId } = await open()
    const asking = ask(sessionId, '把笔记放进 a.txt')
    await hears('is never answered in an editor')
    const [approval] = approvals.list('pending')
    expect([approval?.risk, existsSync(at.world.path('a.txt'))]).toEqual(['R3', false])
    approvals.decide(approval?.id ?? '', { approve: true, by: 'me' })
    expect(await asking).toEqual({ stopReason: 'end_turn' })
    expect(dialogs).toEqual([])
    expect(at.world.read('a.txt')).toBe('x\n')
    expect(words(updates)).toContain('写好了。')
  })
})
