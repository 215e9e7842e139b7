import type { AgentPhase } from '../contracts/agent-phase.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { ModelTool } from '../contracts/model.ts'
import { mostPlanSteps } from '../contracts/plan.ts'
import type { Tool } from '../contracts/tool.ts'
import { wireName } from '../text/mount-names.ts'

/** How a plan is handed in: the one tool that is the loop's own. */
export const proposePlan: ModelTool = {
  name: 'propose_plan',
  description:
    'End planning: hand in the plan. Each step names one tool and says what it will do. Nothing is done before the person or the policy agrees.',
  input: {
    type: 'object',
    properties: {
      title: { type: 'string', minLength: 1, maxLength: 200 },
      steps: {
        type: 'array',
        minItems: 1,
        maxItems: mostPlanSteps,
        items: {
          type: 'object',
          properties: {
            tool: { type: 'string' },
            description: { type: 'string', maxLength: 500 },
            params: { type: 'object' },
          },
          required: ['tool', 'description'],
          additionalProperties: false,
        },
      },
    },
    required: ['title', 'steps'],
    additionalProperties: false,
  },
}

export interface Offered {
  tools: readonly ModelTool[]
  /** The kernel's tool behind a name of the model's; undefined where this phase has none of it. */
  find(name: string): Tool | undefined
}

/** The loop presents plans itself, and a goal within a goal has no end. */
const ownUse = new Set(['present_plan', 'pursue_goal'])

/** What a turn about the agent's own files needs. */
const ofSelfUpdate = new Set([
  'read_file',
  'list_files',
  'write_to_file',
  'replace_in_file',
  'ask_followup_question',
  'attempt_completion',
])

/** What a model is offered. The phase that answers gets nothing at all; the one that plans only what reads and starts nothing. */
export function offeredIn(phase: AgentPhase, gate: Pick<AgentGate, 'listed'>, selfUpdate = false): Offered {
  const found = new Map<string, Tool>()
  if (phase === 'answer') return { tools: [], find: () => undefined }
  for (const tool of gate.listed()) {
    if (tool.audience !== 'agent' || ownUse.has(tool.name)) continue
    if (phase === 'plan' && !onlyReads(tool)) continue
    if (selfUpdate && !ofSelfUpdate.has(tool.name)) continue
    const name = wireName(tool.name)
    if (!found.has(name)) found.set(name, tool)
  }
  const tools = [...found].map(([name, { description, input }]) => ({
    name,
    description: description.slice(0, 1_024),
    input: plainSchema(input),
  }))
  return {
    tools: phase === 'plan' ? [...tools.filter(({ name }) => name !== 'attempt_completion'), proposePlan] : tools,
    find: (name) => found.get(name),
  }
}

/** Also through others: what makes calls of its own is not among them. */
const onlyReads = ({ floor, unhurried }: Tool): boolean => floor === 'R0' && !unhurried

/** Names of contracts say nothing to a model, and some endpoints refuse them. */
function plainSchema(schema: object): object {
  const { $id: _id, $schema: _draft, ...plain } = schema as Record<string, unknown>
  return plain
}
