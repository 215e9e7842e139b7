import type { CapabilityIndex } from '../contracts/route.ts'
import type { SkillInfo } from '../contracts/skill.ts'
import type { Tool } from '../contracts/tool.ts'

const longest = 120
const mostSkills = 500

const short = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

/** What there is, in few words each. Of scripts the name and the path, never what is in them. */
export function capabilityIndex(skills: readonly SkillInfo[], tools: readonly Tool[]): CapabilityIndex {
  return {
    skills: skills.slice(0, mostSkills).map((one) => ({
      id: one.id,
      name: one.name,
      description: short(one.description),
      tags: one.tags.slice(0, 20),
      allowed_tools: one.allowedTools.slice(0, 20),
      disable_model_invocation: one.disableModelInvocation,
      path: one.path,
      scripts: one.scripts.slice(0, 20),
    })),
    tools: tools.map((tool) => ({
      id: tool.name,
      description: short(tool.description),
      risk_default: tool.floor,
      ...(tool.name.startsWith('mcp.') && { mcp: true as const }),
    })),
  }
}
