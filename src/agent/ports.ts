import type { AgentLimits, AgentSessions, ChosenSkill } from '../contracts/agent.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { Model } from '../contracts/model.ts'
import type { Prompts } from '../contracts/prompt.ts'
import type { Router } from '../contracts/route.ts'

/** What the agent holds: a gate, as any stranger does, words, and a model that can only answer. */
export interface AgentPorts {
  gate: AgentGate
  /** The gate of a turn about the agent's own files: it reaches those, and a person is asked about every change. */
  selfGate: () => AgentGate
  /** The configured model; undefined where there is none. Throws where it cannot be used. */
  model: () => Promise<Model | undefined>
  prompts: Prompts
  sessions: AgentSessions
  limits: () => AgentLimits
  router: (model: Model | undefined) => Promise<Router>
  /** Undefined where there is none of this id. */
  skill: (id: string) => Promise<ChosenSkill | undefined>
  /** Who the agent is and what the person likes, from files that a person can read. */
  identity: () => Promise<string>
}
