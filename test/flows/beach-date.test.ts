import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAgentWorld, textOf } from '../support/agent.ts'
import { tinyGame } from '../support/tiny-game.ts'

const path = 'game/scene/beach_date.txt'
const scene = 'changeBg:sea.png -next;\n雪乃:海风真舒服呢。;\nend;\n'

test('“write a beach date scene”: route, skill, plan, approval, dry run, write, check, preview, completion; undo takes it all back', async () => {
  const steps = [
    { tool: 'list_project_resources', description: '看看有什么素材' },
    { tool: 'write_to_file', description: '写 beach_date.txt' },
    { tool: 'validate_script', description: '检查' },
    { tool: 'preview_scene', description: '预览' },
  ]
  await using at = await openAgentWorld(
    [
      { calls: [{ name: 'list_project_resources', input: {} }] },
      { calls: [{ name: 'propose_plan', input: { title: '海边约会', steps } }] },
      { calls: [{ name: 'write_to_file', input: { path, content: scene, dryRun: false } }] },
      { calls: [{ name: 'attempt_completion', input: { result: '海边约会的场景写好了。' } }] },
    ],
    {
      files: tinyGame,
      config: { policies: { askFrom: 'R1' } },
      route: { route_type: 'skill', skill_id: 'webgal-scene', confidence: 0.9, reason: 'a scene is wanted' },
    },
  )
  const cards: string[] = []
  const { end, events } = await at.ask('写一个海边约会的场景', {
    person(id) {
      cards.push(at.world.runtime.approvals.get(id)?.card.title ?? '')
      at.world.runtime.approvals.decide(id, { approve: true, by: 'me' })
    },
  })
  expect(end).toMatchObject({ type: 'completed', reply: '海边约会的场景写好了。' })
  // The rules were not sure, so the model was asked for the road; the text of the skill went to it while planning.
  expect(at.model.routed.length).toBe(1)
  expect(textOf(at.model.asked[0]?.body.messages[0] ?? { role: '' })).toMatch(
    /from the skill webgal-scene[\s\S]*# Write a WebGAL scene/,
  )
  expect(cards).toEqual(['Plan: 海边约会', expect.stringContaining('beach_date.txt')])
  const calls = events.flatMap((one) =>
    one.type === 'tool_call' ? [`${one.name}${one.input['dryRun'] === true ? ' (dry)' : ''}`] : [],
  )
  expect(calls).toEqual([
    'list_project_resources',
    'present_plan',
    'write_to_file (dry)',
    'write_to_file',
    'validate_script',
    'preview_scene',
    'attempt_completion',
  ])
  expect(at.world.read(path)).toBe(scene)
  const told = [...at.world.runtime.audit.lines()].flatMap(({ event, tool }) =>
    tool && /^(call\.(end|read)|approval\.decided)$/.test(event) ? [`${event} ${tool}`] : [],
  )
  for (const line of ['approval.decided present_plan', 'approval.decided write_to_file', 'call.end write_to_file'])
    expect(told).toContain(line)
  const person = { role: 'person' as const }
  const { shown } = await at.world.call<{ shown: unknown }>('undo', { session: 'chat_test', dryRun: true }, person)
  await at.world.call('undo', { session: 'chat_test', shown, dryRun: false }, person)
  expect(existsSync(at.world.path(path))).toBe(false)
})

test('the agent changes only its own files in a turn about them, each with a yes, and that can be undone', async () => {
  const preferences = '//identity/preferences.md'
  const write = (where: string) => ({ name: 'write_to_file', input: { path: where, content: '短句。\n', dryRun: false } })
  await using at = await openAgentWorld(
    [
      { calls: [write(preferences)] },
      { text: '不行。' },
      { calls: [write('a.txt'), write(preferences)] },
      { text: '记住了。' },
      { text: '好。' },
    ],
    { beside: { 'config/handrail/identity/preferences.md': '长句。\n' } },
  )
  const file = join(at.world.base, 'config/handrail/identity/preferences.md')
  // In any other turn they are out of reach.
  await at.ask('write it', { mode: 'act' })
  expect(readFileSync(file, 'utf8')).toBe('长句。\n')
  const asked: string[] = []
  await at.ask('修改你的设定：以后用短句', {
    person(id) {
      asked.push(id)
      at.world.runtime.approvals.decide(id, { approve: true, by: 'me' })
    },
  })
  expect([readFileSync(file, 'utf8'), asked.length, existsSync(at.world.path('a.txt'))]).toEqual(['短句。\n', 1, false])
  await at.ask('你好吗', { mode: 'answer' })
  expect(textOf(at.model.asked.at(-1)?.body.messages[0] ?? { role: '' })).toContain('短句。')
  const person = { role: 'person' as const }
  const { shown } = await at.world.call<{ shown: unknown }>('undo', { session: 'chat_test', dryRun: true }, person)
  await at.world.call('undo', { session: 'chat_test', shown, dryRun: false }, person)
  expect(readFileSync(file, 'utf8')).toBe('长句。\n')
})
