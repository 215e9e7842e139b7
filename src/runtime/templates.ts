import type { Template } from '../contracts/template.ts'
import { plainTemplates } from '../runs/template-catalog.ts'
import { agentGoal } from '../toolsets/agent/templates/agent-goal.ts'
import { browserTemplates } from '../toolsets/browser/templates/index.ts'
import { projectChecks } from '../toolsets/workspace/templates/project-checks.ts'

/** Every template that comes with Handrail: those of a toolset stand beside its tools. */
export const builtInTemplates: readonly Template[] = [...plainTemplates, ...browserTemplates, projectChecks, agentGoal]
