import type { ProposedPlan } from '../contracts/agent-plan.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { Risk } from '../contracts/tool.ts'
import { printableInline } from '../text/printable.ts'

const mostSteps = 24

/** The plan that a model handed in; a tool that is not there fails it whole. Risks are the tools' own: what the model says of them is not asked. */
export function planIn(
  input: Record<string, unknown>,
  gate: Pick<AgentGate, 'tools' | 'offers'>,
): { plan?: ProposedPlan; wrong?: string } {
  const { title, steps } = input
  if (typeof title !== 'string' || title === '' || !Array.isArray(steps) || steps.length === 0)
    return { wrong: 'a plan has a title and steps, each with tool and description.' }
  if (steps.length > mostSteps) return { wrong: `a plan has at most ${mostSteps} steps.` }
  const missing: string[] = []
  const judged = steps.map((step: unknown) => {
    const { tool, description, params } = (step ?? {}) as Record<string, unknown>
    const name = String(tool ?? '').slice(0, 128)
    if (!gate.offers(name)) missing.push(name || '(none)')
    return { tool: name, description: line(description, 500), risk: riskOf(name, params, gate) }
  })
  if (missing.length > 0)
    return {
      wrong: `these tools are not there: ${missing.join(', ')}. Make the plan without them, or say that it cannot be done.`,
    }
  return { plan: { title: line(title, 200), steps: judged } }
}

/** One line of a person's screen, however long or hidden. */
const line = (text: unknown, most: number): string =>
  printableInline(
    String(text ?? '')
      .replace(/\s+/g, ' ')
      .trim(),
  ).slice(0, most)

/** What is not known yet counts as what the tool does at its worst that is usual: R1 where the input decides, R2 where nobody knows. */
function riskOf(name: string, params: unknown, gate: Pick<AgentGate, 'tools'>): Risk {
  const tool = gate.tools.find((one) => one.name === name)
  if (!tool) return 'R2'
  if (tool.floor !== 'by input') return tool.floor
  try {
    const risk = typeof params === 'object' && params !== null ? tool.risk(params) : 'R1'
    return risk === 'R0' ? 'R1' : risk
  } catch {
    return 'R2'
  }
}

/** A plan for people and models alike. */
export const planText = ({ title, steps }: ProposedPlan): string =>
  [title, ...steps.map(({ tool, description, risk }, at) => `${at + 1}. ${tool} (${risk}): ${description}`)].join('\n')
