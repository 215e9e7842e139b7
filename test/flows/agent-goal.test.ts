import { expect, test } from 'vitest'
import { openAgentWorld, textOf } from '../support/agent.ts'
import type { Line } from '../support/scripted-model.ts'

const steps = [{ tool: 'write_to_file', description: 'write it' }]
const plan: Line = { calls: [{ name: 'propose_plan', input: { title: 'Notes', steps } }] }
const write = (path: string): Line => ({ calls: [{ name: 'write_to_file', input: { path, content: 'x\n', dryRun: false } }] })
const done: Line = { calls: [{ name: 'attempt_completion', input: { result: 'Written.' } }] }

test('a goal is a run: it plans, acts, and its answer has the shape that was asked for', async () => {
  const schema = {
    type: 'object',
    properties: { files: { type: 'array', items: { type: 'string' } } },
    required: ['files'],
    additionalProperties: false,
  }
  await using at = await openAgentWorld([
    plan,
    write('notes.txt'),
    done,
    { text: '```json\n{"files":"notes.txt"}\n```' },
    { text: '{"files":["notes.txt"]}' },
  ])
  const answer = await at.world.call('run_task_template', {
    templateId: 'agent_goal',
    inputs: { goal: 'write notes', inputs: { topic: 'sea' } },
    options: { mode: 'sync', outputSchema: schema },
  })
  expect(answer).toMatchObject({ status: 'succeeded', result: { files: ['notes.txt'] } })
  expect(at.world.read('notes.txt')).toBe('x\n')
  const [, first] = at.model.asked[0]?.body.messages ?? []
  expect(first && textOf(first)).toMatch(/^write notes\n\n<data [0-9a-f]{12} from the inputs of the run[^\n]*\n\{"topic":"sea"\}/)
  // Without the run nobody pursues anything.
  expect((await at.world.fault('pursue_goal', { goal: 'x' })).code).toBe('E_UNSUPPORTED')
})
