import { mostPlanSteps, riskOf, type Plan, type PlanItem, type PlanStep } from '../contracts/plan.ts'
import type { Skill } from '../contracts/skill.ts'
import { parseJson } from '../text/json.ts'
import { outsideFences } from '../text/markdown-lines.ts'
import { stepsIn, type SkillStep } from '../text/skill-steps.ts'
import { fillPlaceholders, placeholdersIn } from './placeholders.ts'

/** A plan that is not kept yet. */
export type PlanDraft = Omit<Plan, 'plan_id' | 'created_at'>

export interface DraftedPlan {
  plan: PlanDraft
  /** Values that the skill leaves open, `{{name}}`, and nobody gave. */
  needs: string[]
  /** What of the skill could not be made a step, and why. */
  problems: string[]
}

/**
 * A plan from a skill without a model: a step that names its tool and its params is a call; what is only said in words is kept word for word,
 * and lands in a worksheet, for a model or a person. Code in a skill is never made a step.
 */
export function planFromSkill(
  { info, body, bodyLine }: Skill,
  inputs: Readonly<Record<string, unknown>>,
  isTool: (name: string) => boolean,
): DraftedPlan {
  const steps: PlanStep[] = []
  const outline: PlanItem[] = []
  const needs = new Set<string>()
  const problems: string[] = []
  for (const step of stepsIn(body)) {
    const line = bodyLine + step.line - 1
    const call = callIn(step, isTool)
    if (call && 'wrong' in call) problems.push(`line ${line}: ${call.wrong}`)
    if (!call || 'wrong' in call || steps.length >= mostPlanSteps - 1) {
      outline.push({ text: step.text, line, step_ids: [] })
      continue
    }
    for (const name of placeholdersIn(call.params)) if (!Object.hasOwn(inputs, name)) needs.add(name)
    const step_id = `s${steps.length + 1}`
    steps.push({
      step_id,
      tool_id: call.tool,
      description: step.text,
      params: fillPlaceholders(call.params, inputs) as Record<string, unknown>,
      ...(call.risk !== undefined && { risk_level: riskOf(call.risk) }),
    })
    outline.push({ text: step.text, line, step_ids: [step_id] })
  }
  if (outline.some(({ step_ids }) => step_ids.length === 0) || steps.length === 0)
    steps.push(worksheet(info.id, info.description, outline))
  const plan: PlanDraft = {
    title: info.name.slice(0, 200),
    goal: info.description,
    source: `skill:${info.id}`,
    steps,
    outline: outline.slice(0, 200),
    ...(needs.size > 0 && { needs: [...needs].slice(0, 100) }),
  }
  return { plan, needs: [...needs], problems }
}

const toolLine = /(?:^|[\s(-])(?:tool_id|tool|工具)\s*[:：]\s*[`"']?([A-Za-z][\w.-]{0,127})[`"']?/m
const riskLine = /\brisk(?:_level)?\s*[:：]\s*[`"']?(R\d)\b/i
const mostParams = 200_000

/** The call that a step is written as: its tool by name, and its params as a block of JSON. */
function callIn(
  { text, detail }: SkillStep,
  isTool: (name: string) => boolean,
): { tool: string; params: Record<string, unknown>; risk?: string } | { wrong: string } | undefined {
  const words = `${text}\n${plainOf(detail)}`
  const block = jsonIn(detail)
  const named = toolLine.exec(words)?.[1] ?? (block === undefined ? undefined : mentioned(words, isTool))
  if (named === undefined) return undefined
  if (block === undefined) return { wrong: `${named} is named without its params as a block of JSON` }
  let params: unknown
  try {
    params = parseJson(block.slice(0, mostParams))
  } catch {
    return { wrong: `the params of ${named} are no JSON` }
  }
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    return { wrong: `the params of ${named} are no object` }
  const risk = riskLine.exec(words)?.[1]
  return { tool: named, params: params as Record<string, unknown>, ...(risk !== undefined && { risk }) }
}

/** A tool there is, in backticks. */
function mentioned(words: string, isTool: (name: string) => boolean): string | undefined {
  for (const [, name] of words.matchAll(/`([A-Za-z][\w.]{2,127})`/g)) if (isTool(name as string)) return name
  return undefined
}

const plainOf = (detail: string): string =>
  [...outsideFences(detail)]
    .filter(({ fenced }) => !fenced)
    .map(({ line }) => line)
    .join('\n')

/** The first block of JSON, or of nothing said, in a fence. */
function jsonIn(detail: string): string | undefined {
  let lines: string[] | undefined
  let isFirst = true
  for (const { line, fenced } of outsideFences(detail)) {
    if (!fenced) {
      if (lines) break
      isFirst = true
      continue
    }
    if (isFirst) {
      isFirst = false
      if (/^[ \t]*[`~]{3,}[ \t]*(?:json[c5]?)?[ \t]*$/i.test(line)) lines = []
      continue
    }
    if (!lines) continue
    if (/^[ \t]*[`~]{3,}[ \t]*$/.test(line)) return lines.join('\n')
    lines.push(line)
  }
  return undefined
}

/** What a skill asks for in words, as a list to tick off: it lands in the sandbox, so that nothing is lost. */
function worksheet(id: string, description: string, outline: readonly PlanItem[]): PlanStep {
  const items = outline.length > 0 ? outline : [{ text: description, line: 1, step_ids: [] }]
  const list = items.map(({ text, line, step_ids }) => `- [${step_ids.length > 0 ? 'x' : ' '}] ${text} (line ${line})`)
  const name = id.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+/, '') || 'skill'
  return {
    step_id: 'worksheet',
    tool_id: 'write_to_file',
    description: 'Keep what the skill asks for as a list to work through',
    params: {
      path: `sandbox/outputs/${name}/worksheet.md`,
      content: `# ${id}\n\n${description}\n\n${list.join('\n')}\n\nTicked: done by a call of this plan. The rest is for a model or a person.\n`,
      dryRun: false,
    },
  }
}
