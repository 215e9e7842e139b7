import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, turn, type Gateway } from '../support/gateway.ts'
import { openServe } from '../support/serve.ts'
import { scriptedModel, type ScriptedModel } from '../support/scripted-model.ts'

let model: ScriptedModel
let gateway: Gateway
/** The same story whoever asks: look, write, done. Which step it is stands in the conversation. */
beforeAll(async () => {
  model = await scriptedModel(({ body }) => {
    const results = body.messages
      .slice(body.messages.findLastIndex(({ role }) => role === 'user'))
      .filter(({ role }) => role === 'tool').length
    if (results === 0) return { text: '我先看看。', calls: [{ name: 'list_files', input: { path: '.' } }] }
    const path = `${body.messages.filter(({ role }) => role === 'user').length}.txt`
    if (results === 1) return { calls: [{ name: 'write_to_file', input: { path, content: 'x\n', dryRun: false } }] }
    return { calls: [{ name: 'attempt_completion', input: { result: `写好了 ${path}` } }] }
  })
  const config = { agent: { provider: 'compatible', model: 'scripted', baseUrl: model.url } }
  gateway = await openGateway({ config, environment: () => ({ HANDRAIL_KEYRING: 'off' }) })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await model.close()
})

const said = (more: Record<string, unknown>) => ({ ...turn(undefined, more), biz_params: {} })
const frames = (text: string): string[] => text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))

test('a turn without a tool is the agent’s, in each of the three dialects, and one conversation for each session', async () => {
  const plain = (await (await gateway.send('/agent/process', { body: said({ session_id: 'one' }) })).json()) as {
    reply: string
    events: { type: string }[]
  }
  expect(plain.reply).toBe('写好了 1.txt')
  expect(plain.events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['step_started', 'tool_call', 'tool_result', 'assistant_delta', 'completed']),
  )
  const again = (await (await gateway.send('/agent/process', { body: said({ session_id: 'one' }) })).json()) as { reply: string }
  expect(again.reply).toBe('写好了 2.txt')
  const stream = frames(await (await gateway.send('/agent/process', { body: said({ session_id: 'two', stream: true }) })).text())
  expect([stream.at(-1), stream.some((frame) => frame.includes('写好了 1.txt'))]).toEqual(['[DONE]', true])
  const scope = frames(await (await gateway.send('/api/agent/process', { body: said({ session_id: 'three' }) })).text())
  expect([scope.some((frame) => frame.includes('plugin_call')), scope.at(-1)?.includes('"completed"')]).toEqual([true, true])
  const response = (await (
    await gateway.send('/v1/responses', { body: { model: 'handrail', input: '写', session_id: 'four' } })
  ).json()) as { output: { type: string }[] }
  expect(response.output.map(({ type }) => type)).toEqual(expect.arrayContaining(['mcp_call', 'message']))
  expect(['1.txt', '2.txt'].map((name) => existsSync(gateway.world.path(name)))).toEqual([true, true])
  // What was done is in the log, as a call of the session that asked.
  const lines = await gateway.log()
  expect(
    lines.filter(({ event, tool, surface }) => event === 'call.end' && tool === 'write_to_file' && surface === 'gateway').length,
  ).toBe(5)
})

test('`handrail serve` says where the model is asked, before anything is', async () => {
  const asked = model.asked.length
  await using served = await openServe(gateway.world.project, { env: { HANDRAIL_KEYRING: 'off' } })
  while (!served.stderr().includes('model:')) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(served.stderr().replace(/\s+/g, ' ')).toContain(`compatible/scripted at ${model.url}`)
  expect(model.asked.length).toBe(asked)
})
