import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { AnyObject, closed } from '../../contracts/shapes.ts'
import { risks } from '../../contracts/tool.ts'
import { defineTool } from './use.ts'

export const pursueGoal = defineTool({
  name: 'pursue_goal',
  title: 'Pursue a goal',
  description:
    'Let the agent that comes with Handrail pursue a goal: it plans, acts through the same tools and the same policy, checks what it wrote, and says what came of it. Only as the step of a run (template agent_goal), so that it survives a restart and waits for the person as long as it takes.',
  // It does nothing itself: each of its calls is judged when it is made, and the run was agreed to where that was due.
  risk: 'R0',
  input: Type.Object(
    { goal: Type.String({ minLength: 1, maxLength: 20_000 }), inputs: Type.Optional(AnyObject({ description: 'Data for it' })) },
    closed,
  ),
  output: Type.Object(
    {
      done: Type.Boolean({ description: 'False where it ended in a question' }),
      reply: Type.String(),
      plan: Type.Array(
        Type.Object({ tool: Type.String(), description: Type.String(), risk: Type.Enum([...risks], { type: 'string' }) }, closed),
      ),
      tokens: Type.Integer({ minimum: 0 }),
    },
    closed,
  ),
  faults: ['unsupported', 'model-failed', 'needs-approval', 'over-limit', 'lint', 'unauthorized', 'policy', 'timeout'],
  examples: [],
  private: ['goal', 'inputs'],
  contents: ['goal', 'inputs'],
  unhurried: true,
  execute({ goal, inputs = {} }, { runGoal }, context) {
    const { run } = context
    if (run === undefined)
      throw new Fault('unsupported', 'A goal is pursued as a run', {
        hint: (name) => `Hand it in with ${name('run_task_template')}: {"templateId": "agent_goal", "inputs": {"goal": "…"}}.`,
      })
    return runGoal({ key: `goal_${run}`, goal, inputs }, context)
  },
})
