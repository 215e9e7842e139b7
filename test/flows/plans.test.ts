import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { planWithModel } from '../../src/agent/planner.ts'
import type { AgentCaller } from '../../src/contracts/gate.ts'
import type { Plan } from '../../src/contracts/plan.ts'
import { openAgentWorld } from '../support/agent.ts'
import { runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { openWorld, type World } from '../support/world.ts'

const origin = { surface: 'cli', client: 'test', session: 'plan-test' } as const
const caller: AgentCaller = { ...origin, role: 'agent' }

const scene = `---
name: notes
description: Keep notes.
---
## 执行步骤
1. 写下笔记:
   - tool_id: \`local.file.write\`
   - params:
     \`\`\`json
     {"path": "sandbox/notes.txt", "content": "{{text}}"}
     \`\`\`
2. 再读一遍
   - tool_id: \`read_file\`
   - params:
     \`\`\`json
     {"path": "sandbox/notes.txt"}
     \`\`\`
3. 想一想
   \`\`\`bash
   touch ran-by-itself
   \`\`\`
`
const files = { 'skills_workspace/notes/SKILL.md': scene }

async function trusted(given: Record<string, string> = files): Promise<World> {
  const world = await openWorld({ files: given })
  const texts = await world.runtime.projectTexts()
  world.runtime.trust.grantTexts(
    texts.flatMap(({ digest }) => digest ?? []),
    'test',
  )
  world.runtime.openSession({ id: origin.session, surface: origin.surface, client: origin.client })
  return world
}
const plan = (steps: Plan['steps'], more: Partial<Plan> = {}): Omit<Plan, 'plan_id' | 'created_at'> => ({
  title: 'a plan',
  source: 'person',
  steps,
  ...more,
})
const write = (step_id: string, path: string, content: string): Plan['steps'][number] => ({
  step_id,
  tool_id: 'write_to_file',
  description: '',
  params: { path, content, dryRun: false },
})
async function carriedOut(world: World, planId: string) {
  const { run } = await world.runtime.plans.run(planId, origin)
  return (await world.runtime.runs()).wait(run.runId)
}

proves(
  'skills.plans',
  'a skill becomes a plan, its steps are calls at the gate with evidence, and all of it is taken back as one',
  async () => {
    await using world = await trusted()
    const { plans } = world.runtime
    const { plan: made, needs, problems } = await plans.fromSkill('notes', {})
    expect([needs, problems, made.source]).toEqual([['text'], [], 'skill:notes'])
    const judged = await plans.judge(made, caller)
    expect(judged.steps.map(({ tool, risk, wrong }) => [tool, risk, wrong])).toEqual([
      ['write_to_file', 'R2', ['it still needs {{text}}']],
      ['read_file', 'R0', []],
      ['write_to_file', 'R1', []],
    ])
    const { plan: whole } = await plans.fromSkill('notes', { text: '{"$": "inputs.plan"} {{text}}' })
    const kept = plans.save(whole)
    const ended = await carriedOut(world, kept.plan_id)
    expect([ended.status, ended.error]).toEqual(['succeeded', null])
    expect(world.read('sandbox/notes.txt')).toBe('{"$": "inputs.plan"} {{text}}')
    expect(existsSync(world.path('ran-by-itself'))).toBe(false)
    const results = await plans.results(ended.runId)
    expect(results['s1']).toMatchObject({ ok: true, output: { applied: true } })
    expect(results['s1']?.evidence_refs).toEqual([
      `run:${ended.runId}`,
      expect.stringMatching(/^call:call_/),
      expect.stringMatching(/^snapshot:snap_/),
      expect.stringMatching(/^artifact:art_/),
    ])
    const runsApi = await world.runtime.runs()
    expect((await runsApi.list({})).total).toBe(0)
    expect((await runsApi.list({ templateId: 'plan' })).total).toBe(1)
    const undone = await runInside(world.project, ['undo', ended.runId, '--yes'])
    expect([undone.code, existsSync(world.path('sandbox/notes.txt'))]).toEqual([0, false])
  },
)

proves(
  'skills.sandbox',
  'what a skill only says in words lands in the sandbox as a worksheet; its code is never run',
  async () => {
    await using world = await trusted({
      'skills/talk/SKILL.md': '---\nname: talk\ndescription: d\n---\n## Steps\n1. Think\n```bash\ntouch no\n```\n2. Write\n',
    })
    const { plans } = world.runtime
    const { plan: made } = await plans.fromSkill('talk', {})
    expect(made.steps.map(({ tool_id }) => tool_id)).toEqual(['write_to_file'])
    expect((await carriedOut(world, plans.save(made).plan_id)).status).toBe('succeeded')
    expect(world.read('sandbox/outputs/talk/worksheet.md')).toContain('- [ ] Think (line 6)\n- [ ] Write (line 10)')
    expect(existsSync(world.path('no'))).toBe(false)
  },
)

proves('plans.missing', 'a tool that is not there is named, and nothing of the plan is done', async () => {
  await using world = await trusted()
  const { plans } = world.runtime
  const kept = plans.save(
    plan([write('a', 'a.txt', 'x'), { step_id: 'b', tool_id: 'local.desktop.click', description: '', params: {} }]),
  )
  const judged = await plans.judge(kept, caller)
  expect([judged.missing, judged.risk]).toEqual([['local.desktop.click'], 'R2'])
  await expect(plans.run(kept.plan_id, origin)).rejects.toMatchObject({
    reason: 'bad-input',
    details: { missing: ['local.desktop.click'] },
  })
  expect(existsSync(world.path('a.txt'))).toBe(false)
  const nested = plans.save(
    plan([{ step_id: 'a', tool_id: 'run_task_template', description: '', params: { templateId: 'batch_validate' } }]),
  )
  await expect(plans.run(nested.plan_id, origin)).rejects.toMatchObject({ reason: 'bad-input' })
  const outside = await plans.judge(plans.save(plan([write('a', '../x', 'x')])), caller)
  expect(outside.wrong).toEqual([expect.stringContaining('Path not allowed')])
})

proves(
  'plans.risk',
  'what a plan says of its risk can only raise the kernel’s; the highest step is the plan’s; a restart takes nothing twice',
  async () => {
    await using world = await trusted()
    const low = await world.runtime.plans.judge(
      world.runtime.plans.save(plan([{ ...write('a', 'AGENTS.md', 'x'), risk_level: 'R0' }, write('b', 'b.txt', 'x')])),
      caller,
    )
    expect([low.steps.map(({ risk }) => risk), low.risk]).toEqual([['R2', 'R1'], 'R2'])
    const kept = world.runtime.plans.save(
      plan([write('a', 'a.txt', 'one'), { ...write('b', 'b.txt', 'two'), risk_level: 'R2' }, write('c', 'c.txt', 'three')]),
    )
    const { run } = await world.runtime.plans.run(kept.plan_id, origin)
    const asked = async (): Promise<string> => {
      for (;;) {
        const { waiting } = await (await world.runtime.runs()).get(run.runId)
        if (waiting) return waiting.approvalId
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const approval = await asked()
    expect([world.read('a.txt'), existsSync(world.path('b.txt'))]).toEqual(['one', false])
    await world.reopen()
    world.write('a.txt', 'changed by somebody meanwhile')
    world.runtime.approvals.decide(approval, { approve: true, by: 'test' })
    const runsApi = await world.runtime.runs()
    runsApi.work()
    expect((await runsApi.wait(run.runId)).status).toBe('succeeded')
    expect(['a.txt', 'b.txt', 'c.txt'].map(world.read)).toEqual(['changed by somebody meanwhile', 'two', 'three'])
  },
)

test('the least risk of a route reaches the calls', async () => {
  await using world = await trusted()
  const kept = world.runtime.plans.save(plan([write('a', 'a.txt', 'one')], { min_risk: 'R3' }))
  expect((await world.runtime.plans.judge(kept, caller)).risk).toBe('R3')
  const { run } = await world.runtime.plans.run(kept.plan_id, origin)
  const runsApi = await world.runtime.runs()
  const waits = await new Promise<string>((resolve) => {
    const look = async (): Promise<void> => {
      const { waiting } = await runsApi.get(run.runId)
      if (waiting) resolve(waiting.approvalId)
      else setImmediate(() => void look())
    }
    void look()
  })
  expect(world.runtime.approvals.get(waits)).toMatchObject({ risk: 'R3' })
  expect(await runsApi.cancel(run.runId, 'test')).toEqual({ success: true })
  expect(existsSync(world.path('a.txt'))).toBe(false)
})

const shipped: [string, Record<string, unknown>, string[]][] = [
  [
    'webgal-scene',
    { name: 'beach', scene: 'Mara:Hello;\n' },
    ['list_project_resources', 'read_file', 'write_to_file', 'validate_script', 'preview_scene'],
  ],
  [
    'triage-check',
    { message: 'boom', file: 'game/scene/start.txt' },
    ['run_checks', 'list_snapshots', 'search_files', 'read_file'],
  ],
  [
    'table-from-pages',
    { first_url: 'http://localhost:1/', last_url: 'http://localhost:1/b', table: 'a,source\n' },
    ['visit_page', 'visit_page', 'write_to_file'],
  ],
]

test('each shipped skill becomes a plan that could be run as it is', async () => {
  await using world = await openWorld({ files: { 'game/scene/start.txt': 'Mara:Hi;\n', 'game/config.txt': 'Game_name:x;\n' } })
  for (const [id, inputs, tools] of shipped) {
    const { plan: made, needs, problems } = await world.runtime.plans.fromSkill(id, inputs)
    const judged = await world.runtime.plans.judge(made, caller)
    expect([id, needs, problems, judged.wrong]).toEqual([id, [], [], []])
    expect(judged.steps.map(({ tool }) => tool)).toEqual(tools)
    expect((await world.runtime.plans.fromSkill(id, {})).needs).toEqual(Object.keys(inputs))
  }
})

test('a plan by a model is checked for its form; its risk may only raise', async () => {
  await using world = await openWorld()
  const { prompts, gate } = world.runtime
  const request = { task: 'write it', context: {}, tools: gate.tools }
  const asked = (reply: string) => planWithModel(request, prompts, async () => reply, new AbortController().signal)
  const step = { tool_id: 'write_to_file', params: { path: 'AGENTS.md', content: 'x', dryRun: false }, risk_level: 'harmless' }
  const made = await asked(JSON.stringify({ title: 't', steps: [step] }))
  expect(made).toMatchObject({ plan: { source: 'model', steps: [{ step_id: 's1', risk_level: 'R2' }] } })
  for (const wrong of [
    'no',
    '{"title": "t"}',
    JSON.stringify({ title: 't', steps: [] }),
    JSON.stringify({ title: 't', steps: [{ ...step, run: 'sh' }] }),
  ])
    expect(await asked(wrong)).toMatchObject({ wrong: [expect.any(String)] })
})

test('handrail plans new, show, edit, run, list and remove', async () => {
  await using world = await trusted()
  const made = await runInside(world.project, ['plans', 'new', 'notes', '--input', '{"text":"hello"}', '--json'])
  const { plan: kept } = JSON.parse(made.out) as { plan: Plan }
  expect((await runInside(world.project, ['plans', 'show', kept.plan_id])).out).toMatch(
    /R1.*write_to_file[\s\S]*Only said in words/,
  )
  world.write('plan.json', JSON.stringify({ ...kept, steps: kept.steps.slice(0, 1), title: 'shorter' }))
  expect((await runInside(world.project, ['plans', 'edit', kept.plan_id, '--file', world.path('plan.json')])).code).toBe(0)
  expect((await runInside(world.project, ['plans', 'run', kept.plan_id])).err).toContain('Nobody is at this terminal')
  const ran = await runInside(world.project, ['plans', 'run', kept.plan_id, '--yes', '--json'])
  expect([ran.code, world.read('sandbox/notes.txt')]).toEqual([0, 'hello'])
  expect((await runInside(world.project, ['plans', 'list'])).out).toContain('shorter')
  expect((await runInside(world.project, ['plans', 'remove', kept.plan_id])).code).toBe(0)
  expect((await runInside(world.project, ['plans', 'show', kept.plan_id])).code).not.toBe(0)
  world.write('plan.json', '{"steps": "none"}')
  expect((await runInside(world.project, ['plans', 'new', 'nope'])).code).not.toBe(0)
})

test('handrail plans new --task: the model makes a plan, asked once, without a tool; where it is asked is said first', async () => {
  const step = { tool_id: 'write_to_file', description: '写', params: { path: 'a.txt', content: 'x\n', dryRun: false } }
  const good = JSON.stringify({ title: '写一个文件', steps: [step] })
  await using at = await openAgentWorld([{ text: good }, { text: '我不会。' }])
  const words = (task: string): string[] => ['plans', 'new', '--task', task]
  const env = { HANDRAIL_KEYRING: 'off' }
  const made = await runInside(at.world.project, words('写 a.txt'), { env })
  expect([made.code, made.err.replace(/\s+/g, ' ')]).toEqual([
    0,
    expect.stringContaining(`Model: compatible/scripted at ${at.model.url}`),
  ])
  expect(at.model.asked[0]?.body.tools).toBeUndefined()
  const [kept] = at.world.runtime.plans.list()
  expect(kept?.plan).toMatchObject({ title: '写一个文件', goal: '写 a.txt', source: 'model' })
  const ran = await runInside(at.world.project, ['plans', 'run', kept?.plan.plan_id ?? '', '--yes'], { env })
  expect([ran.code, at.world.read('a.txt')]).toEqual([0, 'x\n'])
  expect((await runInside(at.world.project, words('写'), { env })).err).toContain('is no plan')
  at.world.settings({})
  expect((await runInside(at.world.project, words('写'), { env })).err).toContain('No model is configured')
})
