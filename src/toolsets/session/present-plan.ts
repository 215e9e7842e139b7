import Type from 'typebox'
import { Ack, closed } from '../../contracts/shapes.ts'
import { risks, type Risk } from '../../contracts/tool.ts'
import { printableInline } from '../../text/printable.ts'
import { defineTool } from './use.ts'

const Step = Type.Object(
  {
    tool: Type.String({ minLength: 1, maxLength: 128 }),
    description: Type.String({ maxLength: 1_000 }),
    risk: Type.Enum([...risks], { type: 'string', description: 'What the tool of the step counts as, at least' }),
  },
  closed,
)

export const presentPlan = defineTool({
  name: 'present_plan',
  title: 'Present a plan',
  description:
    'Show the person what is going to be done, step by step, before it is begun. A plan is as risky as its riskiest step: one that asks is asked about as a whole. A yes lets nothing through: each step is judged when it is made.',
  risk: ({ steps }) => highest(steps.map(({ risk }) => risk)),
  input: Type.Object(
    { title: Type.String({ minLength: 1, maxLength: 200 }), steps: Type.Array(Step, { minItems: 1, maxItems: 24 }) },
    closed,
  ),
  output: Ack,
  faults: [],
  examples: [
    {
      says: 'a plan that only reads',
      input: {
        title: 'Look at the scenes',
        steps: [{ tool: 'list_files', description: 'See which scenes there are', risk: 'R0' }],
      },
      output: { ack: true },
    },
  ],
  card: ({ title, steps }) => ({
    title: `Plan: ${printableInline(title)}`,
    changes: [],
    notes: steps.map(
      ({ tool, description, risk }, at) => `${at + 1}. ${printableInline(tool)} (${risk}): ${printableInline(description)}`,
    ),
  }),
  execute: () => ({ ack: true as const }),
})

const highest = (given: readonly Risk[]): Risk =>
  given.reduce<Risk>((one, other) => (risks.indexOf(other) > risks.indexOf(one) ? other : one), 'R0')
