import { expect, expectTypeOf, test } from 'vitest'
import { proves } from '../../test/support/proof.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { Prompts } from '../contracts/prompt.ts'
import type { CapabilityIndex } from '../contracts/route.ts'
import { capabilityIndex } from './capability-index.ts'
import { guardOf } from './guard-words.ts'
import type { answerQuestion, QuestionParts } from './qa.ts'
import { routeByRules } from './route-rules.ts'
import { decisionIn, openRouter } from './router.ts'

const skill = (id: string, description: string, tags: string[] = [], byPerson = false): CapabilityIndex['skills'][number] => ({
  id,
  name: id,
  description,
  tags,
  allowed_tools: [],
  disable_model_invocation: byPerson,
  path: `skills/${id}`,
  scripts: [],
})
const index: CapabilityIndex = {
  skills: [
    skill('webgal-scene', 'Write a WebGAL scene from an outline.', ['webgal', 'scene', '场景']),
    skill('secret-ritual', 'Only for people.', ['ritual'], true),
  ],
  tools: [
    { id: 'read_file', description: '', risk_default: 'R0' },
    { id: 'write_to_file', description: '', risk_default: 'R1' },
    { id: 'mcp.git.log', description: '', risk_default: 'R2', mcp: true },
  ],
}
const roads: [string, string, object][] = [
  ['What is a visual novel?', 'qa', {}],
  ['这个项目是什么？', 'qa', {}],
  ['什么是分支剧情？', 'qa', {}],
  ['write a beach date scene', 'skill', { skill_id: 'webgal-scene' }],
  ['写一个海滩约会的场景', 'skill', { skill_id: 'webgal-scene' }],
  ['/skill secret-ritual now', 'skill', { skill_id: 'secret-ritual' }],
  ['perform the ritual', 'clarify', {}],
  ['call read_file on a.txt', 'tool', { tool_ids: ['read_file'] }],
  ['use mcp.git.log to see the history', 'mcp', { tool_ids: ['mcp.git.log'] }],
  ['read the file notes.txt', 'tool', { tool_ids: ['read_file'] }],
  ['read notes.txt and then fix the typos', 'task', {}],
  ['refactor the parser', 'task', {}],
  ['update your own prompt to be shorter', 'self_update', { min_risk: 'R2' }],
  ['修改你的提示词', 'self_update', { min_risk: 'R2' }],
  ['asdf', 'clarify', { clarify_questions: [expect.any(String)] }],
  ['', 'clarify', {}],
]

proves('router.light', 'the same words take the same road, by rules alone, of all seven kinds', () => {
  for (const [text, route_type, more] of roads) expect(routeByRules(text, index), text).toMatchObject({ route_type, ...more })
  expect(new Set(roads.map(([, road]) => road)).size).toBe(7)
})

test('words that warn raise the risk, and only as words', () => {
  for (const text of ['pay the bill', 'please DELETE it', 'sudo ls', '帮我付款', 'run script x', 'log in to the site'])
    expect(routeByRules(text, index).min_risk, text).toBe('R2')
  for (const text of [
    'display the payload',
    'show undeleted rows',
    'pseudo-code',
    'a repayment-free world',
    'alarm clock',
    'paypal-like',
  ])
    expect(guardOf(text), text).toBeUndefined()
})

const prompts: Prompts = {
  load: () => ({ sections: { system: '' } }) as never,
  render: (id) => ({
    id,
    version: '1',
    system: '',
    output: { type: 'json', schema_fields: ['route_type', 'confidence', 'reason'], constraints: [] },
    model_hints: {},
    warnings: [],
  }),
}
const routed = (text: string, reply: string | (() => Promise<string>) | undefined) =>
  openRouter({
    index: async () => index,
    prompts,
    model: async () => (reply === undefined ? undefined : typeof reply === 'string' ? async () => reply : reply),
  }).route(text)
const said = (more: object): string => JSON.stringify({ route_type: 'task', confidence: 0.9, reason: 'so', ...more })

proves('router.rules', 'a model is asked where no rule is sure, and only there', async () => {
  let asked = 0
  const count = async (): Promise<string> => (asked++, said({ route_type: 'qa' }))
  expect(await routed('call read_file', count)).toMatchObject({ route_type: 'tool' })
  expect(await routed('asdf', count)).toMatchObject({ route_type: 'qa' })
  expect([asked, (await routed('asdf', undefined)).route_type]).toEqual([1, 'clarify'])
})

test.each([
  ['no JSON', 'sure!'],
  ['an unknown road', said({ route_type: 'shell' })],
  ['a field that is missing', JSON.stringify({ route_type: 'qa', confidence: 1 })],
  ['a skill that is not there', said({ route_type: 'skill', skill_id: 'nope' })],
  ['a skill that is for people', said({ route_type: 'skill', skill_id: 'secret-ritual' })],
  ['a tool that is not there', said({ route_type: 'tool', tool_ids: ['rm'] })],
  ['a confidence beyond one', said({ confidence: 7 })],
  ['a field that nobody knows', said({ execute: 'rm -rf /' })],
])('what is no decision leaves the rules in force: %s', async (_, reply) => {
  expect(await routed('asdf', reply)).toEqual(routeByRules('asdf', index))
})

test('a model that fails leaves them in force too; one that is not sure asks back', async () => {
  const down = new Fault('model-failed', 'The endpoint cannot be reached')
  expect(await routed('asdf', () => Promise.reject(down))).toEqual({ ...routeByRules('asdf', index), unasked: down.message })
  expect(await routed('asdf', said({ confidence: 0.3 }))).toMatchObject({
    route_type: 'clarify',
    clarify_questions: [expect.any(String)],
  })
})

test('a model may raise the risk, and cannot lower what the guard said', async () => {
  expect(await routed('asdf', said({ min_risk: 'R3' }))).toMatchObject({ min_risk: 'R3' })
  expect(await routed('hmm, the payment thing', said({ min_risk: 'R0' }))).toMatchObject({ min_risk: 'R2' })
  expect(await routed('hmm, the payment thing', said({}))).toMatchObject({ min_risk: 'R2' })
})

test('an answer may stand in a fence or among words', () => {
  const prompt = { output: { type: 'json' as const, schema_fields: [], constraints: [] } }
  expect(decisionIn(`Here:\n\`\`\`json\n${said({})}\n\`\`\``, prompt, index)).toMatchObject({ route_type: 'task' })
  expect(decisionIn(`I think ${said({})}.`, prompt, index)).toMatchObject({ route_type: 'task' })
})

proves('router.qa', 'the road of questions has nothing in hand that could act: no gate by its type', () => {
  expectTypeOf<keyof QuestionParts>().toEqualTypeOf<'prompts' | 'model'>()
  type Given = Parameters<typeof answerQuestion>[number]
  expectTypeOf<Extract<Given, AgentGate>>().toBeNever()
  expectTypeOf<'call' extends keyof QuestionParts ? true : false>().toEqualTypeOf<false>()
})

proves('skills.scripts', 'router and planner are told of scripts by name and path, in few words', () => {
  const info = {
    id: 'a',
    name: 'a',
    description: 'x'.repeat(500),
    tags: [],
    allowedTools: [],
    metadata: {},
    disableModelInvocation: false,
    origin: 'project' as const,
    path: 'skills/a',
    scripts: [{ name: 'run.py', relative_path: 'scripts/run.py' }],
    diagnostics: [],
  }
  const [found] = capabilityIndex([info], []).skills
  expect(found).toEqual({
    id: 'a',
    name: 'a',
    description: `${'x'.repeat(119)}…`,
    tags: [],
    allowed_tools: [],
    disable_model_invocation: false,
    path: 'skills/a',
    scripts: [{ name: 'run.py', relative_path: 'scripts/run.py' }],
  })
})
