import { openAgent } from '../agent/agent.ts'
import { costOf } from '../agent/budget.ts'
import { capabilityIndex } from '../agent/capability-index.ts'
import { endpointOf } from '../agent/models/endpoint.ts'
import { openModel } from '../agent/models/open-model.ts'
import type { AgentPorts } from '../agent/ports.ts'
import { runGoal } from '../agent/run-goal.ts'
import { openRouter, type AskModel } from '../agent/router.ts'
import { openTaskAgent } from '../agent/shape.ts'
import type { Agent, AgentLimits } from '../contracts/agent.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { Profile } from '../contracts/profile.ts'
import type { Model } from '../contracts/model.ts'
import type { Prompts } from '../contracts/prompt.ts'
import type { CapabilityIndex } from '../contracts/route.ts'
import type { SkillLibrary } from '../contracts/skill.ts'
import type { TaskAgent } from '../contracts/task-agent.ts'
import { identityFolder, identityRoot, makeIdentity } from '../host/identity-files.ts'
import type { Identity } from './identity.ts'
import type { LoadedSettings } from './settings.ts'
import type { Stores } from './stores.ts'
import type { Traces } from './traces.ts'

export interface AgentParts {
  stores: Stores
  settings: () => LoadedSettings
  environment: Record<string, string | undefined>
  traces: Pick<Traces, 'model'>
  prompts: Prompts
  identity: Identity
  skills: SkillLibrary
  /** A gate for a surface whose contract differs. */
  gateFor: (profile: Profile) => AgentGate
}

/** Its own files are reached in a turn about them, with a person's yes to every change. */
const selfProfile: Profile = { roots: [identityRoot], asksFrom: 'R1' }

/** The model that the settings name, with the key that was given for where it is asked. The same settings give the same model. */
function modelsOf({ stores, settings, traces }: AgentParts): (named?: string) => Promise<Model | undefined> {
  let last: { of: string; model: Model } | undefined
  return async (named) => {
    const { provider, model: chosen, baseUrl, modelTimeoutMs: silenceMs } = settings().config.agent
    if (provider === 'none') return undefined
    const model = named ?? chosen
    const key = await stores.modelKeys.get(provider, new URL(endpointOf(provider, baseUrl, false)).origin)
    const of = JSON.stringify([provider, model, baseUrl, silenceMs, key])
    if (last?.of !== of) last = { of, model: traces.model(openModel({ provider, model, baseUrl, silenceMs, key }), provider) }
    return last.model
  }
}

export function agentAt(gate: AgentGate, parts: AgentParts): Agent {
  const { stores, settings } = parts
  const find = modelsOf(parts)
  let chosen: string | undefined
  const model = (): Promise<Model | undefined> => find(chosen)
  const limits = (): AgentLimits => {
    const { agent, policies } = settings().config
    return { ...agent, maxAutoFix: policies.maxAutoFix }
  }
  const { prompts, skills } = parts
  const index = async (): Promise<CapabilityIndex> => capabilityIndex((await skills.list()).skills, gate.listed())
  const ports: AgentPorts = {
    gate,
    model,
    prompts,
    sessions: stores.agentSessions,
    limits,
    router: (one) => Promise.resolve(openRouter({ index, prompts, model: () => Promise.resolve(one && askOf(one)) })),
    async skill(id) {
      try {
        const { info, body } = await skills.load(id)
        return { id: info.id, description: info.description, body }
      } catch (thrown) {
        // Gone, or changed since it was trusted: it is done without.
        if (thrown instanceof Fault && (thrown.reason === 'not-found' || thrown.reason === 'conflict')) return undefined
        throw thrown
      }
    },
    selfGate: () => parts.gateFor(selfProfile),
    identity: () => Promise.resolve(parts.identity.text()),
  }
  return {
    taker: openAgent(ports),
    runGoal: (goal, caller, signal) => runGoal(goal, caller, ports, signal),
    async about() {
      makeIdentity(identityFolder(parts.environment))
      const one = await model()
      return one && { name: one.name, endpoint: one.endpoint }
    },
    // Whoever looks for a model has none yet.
    models: async (signal) => (await find('?'))?.list(signal) ?? [],
    choose: (name) => void (chosen = name),
    originOf: (provider, baseUrl) => new URL(endpointOf(provider, baseUrl, true)).origin,
    skills: async () => (await skills.list()).skills,
    cost: (session) => costOf(stores.agentSessions.load(session)?.usage ?? { input: 0, output: 0 }, settings().config.agent),
    sessions: stores.agentSessions,
  }
}

export const taskAgentOf = (parts: AgentParts): TaskAgent => openTaskAgent(modelsOf(parts), parts.prompts)

export const plannerOf = async (parts: AgentParts): Promise<AskModel | undefined> => {
  const model = await modelsOf(parts)()
  return model && askOf(model)
}

/** The model as router and planner know it: words in, words out. */
const askOf =
  (model: Model): AskModel =>
  async ({ system, user = '' }, schema, signal) =>
    (await model.complete({ system, messages: [{ role: 'user', text: user }], schema, signal })).text
