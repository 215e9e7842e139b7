import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { asFault } from '../../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { SkillInfo } from '../../contracts/skill.ts'

/** More than any client shows. All of them can be read by their address. */
const mostListed = 500

/** Skills that a model may be offered, by what they say of themselves. */
async function listed(gate: AgentGate): Promise<SkillInfo[]> {
  if (!gate.offers('read_skill')) return []
  const { skills } = await gate.offeredSkills()
  return skills.filter((one) => !one.disableModelInvocation).slice(0, mostListed)
}

export async function skillResources(gate: AgentGate): Promise<object[]> {
  return (await listed(gate)).map(({ id, name, description }) => ({
    uri: `handrail://skills/${encodeURIComponent(id)}`,
    name: `skill ${id}`,
    title: name,
    description,
    mimeType: 'text/markdown',
  }))
}

const prefix = 'skill_'

/** A prompt for each skill: a client shows them as commands that a person chooses, those that only a person may choose included. */
export async function skillPrompts(gate: AgentGate): Promise<object[]> {
  if (!gate.offers('read_skill')) return []
  const { skills } = await gate.offeredSkills()
  return skills.slice(0, mostListed).map(({ id, name, description }) => ({
    name: `${prefix}${id}`,
    title: name,
    description,
    arguments: [{ name: 'task', description: 'What shall be done with it.', required: false }],
  }))
}

/** The prompt of a skill, with its text; nothing where the name is no skill's. */
export async function getSkillPrompt(
  gate: AgentGate,
  name: string,
  { task }: Record<string, string>,
  caller: AgentCaller,
  signal: AbortSignal,
): Promise<object | undefined> {
  if (!name.startsWith(prefix) || !gate.offers('read_skill')) return undefined
  const id = name.slice(prefix.length)
  try {
    const { output } = await gate.call('read_skill', { id }, caller, { signal, asResource: true })
    const { text } = output as { text: string }
    const asked = task === undefined || task.trim() === '' ? '' : `\n\nThe task: ${task}`
    return {
      description: `The skill ${id}`,
      messages: [{ role: 'user', content: { type: 'text', text: `Work by the skill “${id}”:\n\n${text}${asked}` } }],
    }
  } catch (thrown) {
    const fault = asFault(thrown)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, fault.message)
  }
}
