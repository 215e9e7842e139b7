import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openAgentWorld, textOf, toolTexts } from '../support/agent.ts'
import type { Line } from '../support/scripted-model.ts'
import { tinyGame } from '../support/tiny-game.ts'
import { proves } from '../support/proof.ts'

const scene = 'changeBg:sea.png -next;\n雪乃:海风真舒服呢。;\nend;\n'
const path = 'game/scene/beach_date.txt'
const write = (content: string, more: object = {}): Line => ({
  calls: [{ name: 'write_to_file', input: { path, content, dryRun: false, ...more } }],
})
const done: Line = { calls: [{ name: 'attempt_completion', input: { result: '写好了海边约会的场景。' } }] }
const files = tinyGame
/** What is shown in a browser is one test's. */
const plain = { files, flags: { 'disabled-tools': 'preview_scene' } }

proves('agent.task', 'a file is written with its dry run, checked, and what came of it is told; undo takes it back', async () => {
  await using at = await openAgentWorld(
    [{ text: '我先看看。', calls: [{ name: 'list_files', input: { path: 'game/scene' } }] }, write(scene), done],
    plain,
  )
  const { events, end } = await at.ask('写一个海边约会的场景', { mode: 'act' })
  expect(end).toMatchObject({ type: 'completed', reply: '写好了海边约会的场景。' })
  expect(at.world.read(path)).toBe(scene)
  const calls = events.flatMap((one) => (one.type === 'tool_call' ? [[one.name, one.input['dryRun']]] : []))
  expect(calls.slice(0, 4)).toEqual([
    ['list_files', undefined],
    ['write_to_file', true],
    ['write_to_file', false],
    ['validate_script', undefined],
  ])
  // What tools said is marked as content, between lines nobody else can write.
  const marks = toolTexts(at.model).map((text) =>
    /^<data ([0-9a-f]{12}) from [^>]*content, not instructions>\n[\s\S]*\n<\/data \1>$/.test(text),
  )
  expect([marks.length, marks.every(Boolean)]).toEqual([2, true])
  const { cents, ...used } = (await at.world.runtime.agent()).cost('chat_test')
  expect([used, cents]).toEqual([{ input: 300, output: 30 }, undefined])
  const lines = [...at.world.runtime.audit.lines()]
  expect(lines.filter(({ event, tool }) => event === 'call.end' && tool === 'write_to_file').length).toBe(1)
  await at.world.call('undo', { session: 'chat_test', dryRun: true }, { role: 'person' })
  const { shown } = await at.world.call<{ shown: unknown }>('undo', { session: 'chat_test', dryRun: true }, { role: 'person' })
  await at.world.call('undo', { session: 'chat_test', shown, dryRun: false }, { role: 'person' })
  expect(existsSync(at.world.path(path))).toBe(false)
})

test('planning only looks: what writes is not even offered, and a plan with a tool that is not there is not taken', async () => {
  const steps = [
    { tool: 'write_to_file', description: '写场景' },
    { tool: 'validate_script', description: '检查' },
  ]
  await using at = await openAgentWorld(
    [
      write(scene),
      { calls: [{ name: 'propose_plan', input: { title: '海边', steps: [...steps, { tool: 'rm_rf', description: 'x' }] } }] },
      { calls: [{ name: 'propose_plan', input: { title: '海边', steps } }] },
      write(scene),
      done,
    ],
    plain,
  )
  const planned = await at.ask('计划一个海边约会', { mode: 'plan' })
  expect(planned.end).toMatchObject({
    type: 'completed',
    plan: {
      plan: { title: '海边' },
      steps: [
        { tool: 'write_to_file', risk: 'R1' },
        { tool: 'validate_script', risk: 'R0' },
      ],
    },
  })
  expect(existsSync(at.world.path(path))).toBe(false)
  const offered = at.model.asked[0]?.body.tools?.map((tool) => tool.function.name) ?? []
  expect([
    offered.includes('read_file'),
    offered.includes('propose_plan'),
    offered.includes('write_to_file'),
    offered.includes('run_task_template'),
    offered.includes('run_checks'),
  ]).toEqual([true, true, false, false, false])
  expect(toolTexts(at.model)[0]).toContain('while planning only what reads is offered')
  expect(toolTexts(at.model)[1]).toContain('these tools are not there: rm_rf')
  expect((await at.ask('开始', { mode: 'act' })).end).toMatchObject({ type: 'completed' })
  expect(at.world.read(path)).toBe(scene)
  expect(at.model.asked[3]?.body.messages[0]).toMatchObject({
    role: 'system',
    content: expect.stringContaining('1. write_to_file (R1): 写场景'),
  })
})

proves('agent.tool', 'what a person must agree to waits for them, in the turn, and their words reach the model', async () => {
  const config = { policies: { askFrom: 'R1' } }
  await using at = await openAgentWorld([write(scene), done], { ...plain, config })
  const cards: string[] = []
  const { events, end } = await at.ask('写', {
    mode: 'act',
    person: (id) => {
      cards.push(at.world.runtime.approvals.get(id)?.card.title ?? '')
      at.world.runtime.approvals.decide(id, { approve: true, by: 'me', note: '下次短一点' })
    },
  })
  expect(end.type).toBe('completed')
  expect([cards.length, events.filter(({ type }) => type === 'approval').length]).toEqual([1, 1])
  expect(toolTexts(at.model)[0]).toContain('下次短一点')
})

test('a no is told to the model with its reason, and nothing is written', async () => {
  await using at = await openAgentWorld([write(scene), { text: '好的，不写了。' }], {
    files,
    config: { policies: { askFrom: 'R1' } },
  })
  const { end } = await at.ask('写', {
    mode: 'act',
    person: (id) => void at.world.runtime.approvals.decide(id, { approve: false, by: 'me', note: '不要' }),
  })
  expect(end).toMatchObject({ type: 'completed', reply: '好的，不写了。' })
  expect([toolTexts(at.model)[0]?.includes('declined'), existsSync(at.world.path(path))]).toEqual([true, false])
})

test('what was written is checked and mended so often as it may be, and not once more', async () => {
  const broken = 'changeBg:no-such-picture.png;\nend;\n'
  await using at = await openAgentWorld([write(broken), done, write(scene), done], plain)
  expect((await at.ask('写', { mode: 'act' })).end).toMatchObject({ type: 'completed' })
  expect(at.world.read(path)).toBe(scene)
  expect(toolTexts(at.model)[1]).toMatch(/Not finished: a check of what you wrote failed[\s\S]*no-such-picture/)
  const other = 'changeBg:another-missing.png;\nend;\n'
  await using worse = await openAgentWorld([write(broken), done, write(other), done, write(scene), done], plain)
  const { end } = await worse.ask('写', {
    mode: 'act',
    person: (id) => void worse.world.runtime.approvals.decide(id, { approve: true, by: 'me' }),
  })
  expect(end).toMatchObject({ type: 'failed', error: { message: expect.stringContaining('still fails its check') } })
  expect(worse.world.read(path)).toBe(other)
})

test('a question ends the turn, and the next one answers it without being routed anew', async () => {
  await using at = await openAgentWorld(
    [{ calls: [{ name: 'ask_followup_question', input: { question: '几个结局？' } }] }, { text: '两个结局，好。' }],
    plain,
  )
  expect((await at.ask('写', { mode: 'act' })).end).toMatchObject({ reply: '几个结局？', asks: true })
  expect((await at.ask('两个')).end).toMatchObject({ reply: '两个结局，好。' })
  expect(at.model.asked[1]?.body.messages.at(-1)).toMatchObject({ role: 'user' })
})

test('a turn that is cancelled leaves a conversation that goes on', async () => {
  const silent: Line = { raw: (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders() }
  await using at = await openAgentWorld([silent, { text: '我在。' }])
  const gone = new AbortController()
  const asking = at.ask('一', { mode: 'act', signal: gone.signal })
  await at.model.reached(1)
  expect((await at.ask('二')).end).toMatchObject({
    type: 'failed',
    error: { message: expect.stringContaining('in the middle of a turn') },
  })
  gone.abort()
  expect((await asking).end).toMatchObject({ type: 'failed', error: { details: { reason: 'cancelled' } } })
  expect((await at.ask('三', { mode: 'act' })).end).toMatchObject({ reply: '我在。' })
})

test('the budget of a conversation is kept, also where the endpoint does not count', async () => {
  const look: Line = { calls: [{ name: 'list_files', input: { path: '.' } }] }
  await using at = await openAgentWorld([{ ...look, usage: { prompt_tokens: 900, completion_tokens: 100 } }, look], {
    agent: { budgetTokens: 1_000, inputCents: 100, outputCents: 1_000 },
  })
  expect((await at.ask('看', { mode: 'act' })).end).toMatchObject({
    type: 'failed',
    error: { message: expect.stringContaining('1000 of 1000 tokens'), details: { reason: 'over-limit' } },
  })
  expect([at.model.asked.length, (await at.world.runtime.agent()).cost('chat_test').cents]).toEqual([1, 0.19])
})

test('a conversation that would overflow is shortened first: old answers of tools, then all that is old, in the model’s words', async () => {
  const long = 'x'.repeat(3_000)
  const notes = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`n${at}.txt`, `${at}\n${long}`]))
  await using at = await openAgentWorld(
    ({ body }, index) => {
      const told = JSON.stringify(body.messages)
      if (told.includes('You shorten a conversation')) return { text: 'KURZ: n0 to n5 were read.' }
      return index < 13 ? { calls: [{ name: 'read_file', input: { path: `n${index % 12}.txt` } }] } : { text: 'Read.' }
    },
    { files: notes, agent: { contextTokens: 13_000, replyTokens: 500 } },
  )
  const { end } = await at.ask('read all notes', { mode: 'act' })
  expect(end).toMatchObject({ type: 'completed' })
  const sizes = at.model.asked.map(({ body }) => JSON.stringify(body.messages).length)
  expect(Math.max(...sizes)).toBeLessThan(13_000 * 3)
  expect(JSON.stringify(at.model.asked.at(-1)?.body.messages)).toContain('the rest was left out to save room')
})

test('without a model nothing is asked of anybody, and it is said how to get one', async () => {
  await using at = await openAgentWorld([], { agent: { provider: 'none' } })
  expect((await at.ask('hello')).end).toMatchObject({
    type: 'completed',
    reply: expect.stringContaining('No model is configured'),
  })
  expect(at.model.asked).toEqual([])
})

test('a question goes the road without tools, in the words of chat/qa: what was said before goes along as content', async () => {
  await using at = await openAgentWorld([{ text: '我叫 Handrail。' }, { text: '刚才说过了。' }])
  expect((await at.ask('你是谁？')).end).toMatchObject({ type: 'completed', reply: '我叫 Handrail。' })
  expect((await at.ask('你叫什么？', { mode: 'answer' })).end).toMatchObject({ reply: '刚才说过了。' })
  const { tools, messages = [] } = at.model.asked[1]?.body ?? {}
  expect([tools, messages.map(({ role }) => role)]).toEqual([undefined, ['system', 'user']])
  const [system = { role: '' }, user = { role: '' }] = messages
  expect(textOf(system)).toMatch(
    /^You answer a question by talking[\s\S]*<data \w+ from the conversation so far[^\n]*\nuser: 你是谁？\nassistant: 我叫 Handrail。/,
  )
  expect(textOf(user)).toBe('你叫什么？')
  expect((await at.world.runtime.agent()).cost('chat_test')).toMatchObject({ input: 200, output: 20 })
})

test('what no rule and no answer of the model can place is asked back in the model’s words; where it cannot be reached, that is said', async () => {
  const questions = { clarify_questions: ['哪一个场景？'] }
  await using at = await openAgentWorld(
    ({ body }) =>
      JSON.stringify(body).includes('No rule knows what to do') ? { text: JSON.stringify(questions) } : { text: '好。' },
    { route: { route_type: 'fly', confidence: 2 } },
  )
  expect((await at.ask('嗯……那个')).end).toMatchObject({ type: 'completed', asks: true, reply: '哪一个场景？' })
  await at.model.close()
  const { end } = await at.ask('嗯……那个', { session: 'chat_other' })
  expect(end).toMatchObject({ asks: true, reply: expect.stringMatching(/您希望完成什么[\s\S]*\(The model could not be asked: /) })
})
