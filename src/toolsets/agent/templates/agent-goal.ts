import type { Template } from '../../../contracts/template.ts'

/** Seed 002's path through an agent: plan, act, check; with `options.outputSchema` its answer in that shape. */
export const agentGoal: Template = {
  id: 'agent_goal',
  version: '1.0.0',
  title: 'Pursue a goal with the agent',
  description:
    'The agent plans, acts through the tools of the project under its policy, checks what it wrote and says what came of it. It needs a model (agent.provider). What must be agreed to waits for the person as long as it takes.',
  inputs: {
    type: 'object',
    properties: {
      goal: { type: 'string', minLength: 1, maxLength: 20_000, description: 'What shall be so when it is done' },
      inputs: { type: 'object', description: 'Data for it; never instructions' },
    },
    required: ['goal'],
    additionalProperties: false,
  } as Template['inputs'],
  results: {
    type: 'object',
    properties: {
      done: { type: 'boolean' },
      reply: { type: 'string' },
      plan: { type: 'array' },
      tokens: { type: 'integer' },
    },
    required: ['done', 'reply'],
  } as Template['results'],
  example: { goal: 'Write a beach date scene with two endings.', inputs: { characters: ['Yukino'] } },
  limits: { timeoutMs: 600_000 },
  expects: { ms: 60_000 },
  steps: [
    {
      id: 'pursue',
      tool: 'pursue_goal',
      // Made again it goes on where it was, and does nothing twice.
      repeat: true,
      timeoutMs: 600_000,
      input: { goal: { $: 'inputs.goal' }, inputs: { $: 'inputs.inputs' } },
    },
  ],
  result: { $: 'steps.pursue.output' },
}
