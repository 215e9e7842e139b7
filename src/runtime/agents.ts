import type { AskModel } from '../agent/router.ts'
import type { Agent } from '../contracts/agent.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { TaskAgent } from '../contracts/task-agent.ts'
import type { AgentParts } from './agent.ts'

/** The agent, loaded when it is first asked for: most starts never do. */
export interface Agents {
  at(gate: AgentGate): Promise<Agent>
  /** Undefined without a model. */
  taskAgent(): TaskAgent | undefined
  /** The model as whoever plans knows it: words in, words out. Undefined without one. */
  planner(): Promise<AskModel | undefined>
}

export function openAgents(parts: AgentParts): Agents {
  const known = new Map<AgentGate, Promise<Agent>>()
  const load = () => import('./agent.ts')
  return {
    at(gate) {
      const one = known.get(gate) ?? load().then(({ agentAt }) => agentAt(gate, parts))
      known.set(gate, one)
      return one
    },
    planner: async () => (parts.settings().config.agent.provider === 'none' ? undefined : (await load()).plannerOf(parts)),
    taskAgent: () =>
      parts.settings().config.agent.provider === 'none'
        ? undefined
        : { shape: async (task, signal) => (await load()).taskAgentOf(parts).shape(task, signal) },
  }
}
