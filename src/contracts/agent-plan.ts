import type { Risk } from './tool.ts'

/** `answer`: words only, no tool. `plan`: looks, changes nothing, ends in a plan. `act`: does it. */
export type AgentPhase = 'answer' | 'plan' | 'act'

/** A plan as the model proposed it and the person saw it. */
export interface ProposedPlan {
  title: string
  steps: readonly { tool: string; description: string; risk: Risk }[]
}
