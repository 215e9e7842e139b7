import { higherRisk } from '../contracts/plan.ts'
import type { CapabilityIndex, RouteDecision, SkillCapability } from '../contracts/route.ts'
import { guardOf } from './guard-words.ts'

/** More of a request than this is not looked at to choose its road. */
const longest = 8_000

type Rule = (text: string, index: CapabilityIndex) => RouteDecision | undefined

/** One rule each, the first that knows decides. They choose a road; what happens on it is none of their business. */
const rules: readonly Rule[] = [namedSkill, selfUpdate, namedTools, question, likelySkill, fileWork, work]

/** By rules alone: the same request comes to the same decision, always. Words that warn raise the risk on whichever road. */
export function routeByRules(request: string, index: CapabilityIndex): RouteDecision {
  const text = request.slice(0, longest).normalize('NFKC').trim()
  const decided = rules.reduce<RouteDecision | undefined>((found, rule) => found ?? rule(text, index), undefined) ?? askBack(text)
  return withGuard(decided, text)
}

/** The guard's risk on top of what was decided. */
export function withGuard(decision: RouteDecision, text: string): RouteDecision {
  const guard = guardOf(text)
  if (!guard) return decision
  return {
    ...decision,
    min_risk: higherRisk(decision.min_risk ?? 'R0', guard.risk),
    reason: `${decision.reason} (it speaks of “${guard.word}”)`.slice(0, 1_000),
  }
}

/** `/skill name …`, `$name` or `use the skill name`. */
function namedSkill(text: string, { skills }: CapabilityIndex): RouteDecision | undefined {
  const [, first] =
    /^(?:\/skill\s+|\$|(?:use|with|用|使用)\s+(?:the\s+)?(?:skill|技能)\s+)[`"']?([\p{L}\p{N}._-]+)/iu.exec(text) ?? []
  const found = first === undefined ? undefined : skills.find(({ id, name }) => same(id, first) || same(name, first))
  return found && { route_type: 'skill', confidence: 1, reason: `it names the skill ${found.id}`, skill_id: found.id }
}

const self =
  /\b(?:your|own)\s+(?:own\s+)?(?:prompts?|skills?|identity|instructions|persona|system\s+prompt)\b|(?:你的|自己的?)(?:提示词|提示语|技能|身份|人设|设定)/i
const changes = /\b(?:change|update|edit|rewrite|modify|improve|add|remember|set)\b|修改|更新|改成|改写|增加|添加|记住|设置|优化/i

function selfUpdate(text: string): RouteDecision | undefined {
  if (!self.test(text) || !changes.test(text)) return undefined
  return {
    route_type: 'self_update',
    confidence: 0.8,
    reason: 'it is about the agent’s own prompts, skills or identity',
    min_risk: 'R2',
  }
}

function namedTools(text: string, { tools }: CapabilityIndex): RouteDecision | undefined {
  const words = new Set(text.match(/[A-Za-z][\w.]*/g) ?? [])
  const named = tools.filter(({ id }) => /[_.]/.test(id) && words.has(id)).slice(0, 20)
  if (named.length === 0) return undefined
  const isForeign = named.every(({ mcp }) => mcp)
  return {
    route_type: isForeign ? 'mcp' : 'tool',
    confidence: 0.95,
    reason: `it names ${named.map(({ id }) => id).join(', ')}`.slice(0, 1_000),
    tool_ids: named.map(({ id }) => id),
  }
}

const asks =
  /^(?:what|why|who|whom|whose|when|where|which|how|is|are|was|were|does|do|did|can|could|should|would|explain|tell\s+me|describe|hello|hi|thanks|thank\s+you)\b|^(?:什么|为什么|为何|谁|哪|怎么|如何|是不是|能不能|能否|请问|解释|介绍|你好|谢谢)|(?:吗|呢|么)[？?]?$/i
const acts =
  /\b(?:write|create|make|build|generate|add|change|edit|fix|rename|move|copy|save|replace|run|execute|install|delete|remove|update|refactor|convert|extract|collect|test|check|validate|preview|deploy|download|fetch|browse|open|draft|triage)\b|写|创建|生成|新建|修改|修复|重命名|移动|复制|保存|替换|运行|执行|安装|删除|更新|转换|提取|收集|测试|检查|验证|预览|下载|打开|起草/i

function question(text: string): RouteDecision | undefined {
  if (!asks.test(text)) return undefined
  // "How do I delete …?" asks; "can you delete …" wants it done.
  const isPolite = /^(?:can|could|would|will)\s+you\b|^(?:能不能|能否|请)/i.test(text)
  if (isPolite && acts.test(text)) return undefined
  return { route_type: 'qa', confidence: acts.test(text) ? 0.6 : 0.85, reason: 'it is a question' }
}

function likelySkill(text: string, { skills }: CapabilityIndex): RouteDecision | undefined {
  const low = text.toLowerCase()
  const words = new Set(low.match(/[\p{Script=Latin}\p{N}]+/gu) ?? [])
  let best: { skill: SkillCapability; score: number } | undefined
  for (const skill of skills) {
    if (skill.disable_model_invocation) continue
    const score = fitOf(skill, low, words)
    if (score > (best?.score ?? 0)) best = { skill, score }
  }
  if (!best || best.score < 0.5) return undefined
  const { id } = best.skill
  return { route_type: 'skill', confidence: Math.min(0.9, best.score), reason: `the skill ${id} fits`, skill_id: id }
}

/** Words that say nothing of what a skill is for. */
const common = new Set(
  'when with from that this your uses used user wants want need needs make write file files into have should about them they what which'.split(
    ' ',
  ),
)

function fitOf({ name, tags, description }: SkillCapability, low: string, words: ReadonlySet<string>): number {
  const has = (term: string): boolean => {
    const one = term.toLowerCase()
    return /^[\p{Script=Latin}\p{N}]+$/u.test(one) ? words.has(one) || words.has(`${one}s`) : one.length > 1 && low.includes(one)
  }
  if (has(name) || low.includes(name.toLowerCase().replaceAll('-', ' '))) return 0.85
  const parts = name
    .toLowerCase()
    .split(/[-_\s]+/)
    .filter((part) => part.length > 2)
  const inName = parts.filter(has).length
  const inTags = tags.filter(has).length
  const said = new Set((description.toLowerCase().match(/[\p{Script=Latin}]{4,}/gu) ?? []).filter((word) => !common.has(word)))
  const inDescription = [...said].filter((word) => words.has(word)).length
  return Math.min(0.3, inName * 0.2) + (inTags > 0 ? 0.4 + Math.min(0.2, inTags * 0.1) : 0) + Math.min(0.3, inDescription * 0.1)
}

const files: readonly { sign: RegExp; tool: string }[] = [
  {
    sign: /\b(?:read|show|open|print|cat)\b.*(?:\.\w{1,5}\b|\bfile\b)|(?:读取|查看|打开).*(?:文件|\.\w{1,5})/i,
    tool: 'read_file',
  },
  { sign: /\b(?:list|ls)\b.*\b(?:files?|folder|directory)\b|列出.*(?:文件|目录)/i, tool: 'list_files' },
  { sign: /\b(?:search|grep|find)\b.*\b(?:files?|for|in)\b|(?:搜索|查找).*(?:文件|内容)/i, tool: 'search_files' },
  { sign: /\b(?:replace|rename)\b.*\b(?:with|to|by)\b|把.*(?:替换|改)成/i, tool: 'replace_in_file' },
  { sign: /\b(?:write|save|create)\b.*(?:\.\w{1,5}\b|\bfile\b)|(?:写入|保存|创建).*(?:文件|\.\w{1,5})/i, tool: 'write_to_file' },
]

function fileWork(text: string, { tools }: CapabilityIndex): RouteDecision | undefined {
  const found = files.find(({ sign, tool }) => sign.test(text) && tools.some(({ id }) => id === tool))
  // One act at a time is a tool; several are a task.
  if (!found || /\b(?:then|and then|after that|also)\b|然后|接着|并且/i.test(text)) return undefined
  return { route_type: 'tool', confidence: 0.65, reason: 'it is one act on files', tool_ids: [found.tool] }
}

function work(text: string): RouteDecision | undefined {
  return acts.test(text) ? { route_type: 'task', confidence: 0.55, reason: 'it asks for something to be done' } : undefined
}

function askBack(text: string): RouteDecision {
  const isChinese = /\p{Script=Han}/u.test(text)
  return {
    route_type: 'clarify',
    confidence: 0.2,
    reason: text === '' ? 'nothing was said' : 'no rule knows what is wanted',
    clarify_questions: [isChinese ? '您希望完成什么？涉及哪些文件或页面？' : 'What should be done, and to which files or pages?'],
  }
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()
