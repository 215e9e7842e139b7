import Type, { type Static } from 'typebox'
import { asFault } from '../contracts/faults/fault.ts'
import type { Prompts, RenderedPrompt } from '../contracts/prompt.ts'
import { clarifyBelow, RouteDecision, type CapabilityIndex, type Router } from '../contracts/route.ts'
import { higherRisk } from '../contracts/plan.ts'
import { parseJson } from '../text/json.ts'
import { oneLine } from '../text/printable.ts'
import { wrongReply } from '../text/read-prompt.ts'
import { validatorOf } from '../text/validator.ts'
import { routeByRules, withGuard } from './route-rules.ts'

/** A model as router and planner know it: it is asked and answers a text. It has no tools. */
export type AskModel = (prompt: RenderedPrompt, schema: object, signal: AbortSignal) => Promise<string>

/** A rule that is this sure is not second-guessed by a model. */
const sureFrom = 0.7
const mostReply = 50_000

/**
 * Rules first; a model, where there is one, for what they are not sure of. What the model answers must be a decision that could be followed:
 * where it is none, the rules' stands. It is given what there is to choose from, and nothing to act with.
 */
export function openRouter(parts: {
  index: () => Promise<CapabilityIndex>
  prompts: Prompts
  /** Undefined in the mode without a model. */
  model: () => Promise<AskModel | undefined>
}): Router {
  return {
    async route(text, signal = new AbortController().signal) {
      const index = await parts.index()
      const byRules = routeByRules(text, index)
      if (byRules.confidence >= sureFrom) return byRules
      const model = await parts.model()
      if (!model) return byRules
      try {
        const prompt = parts.prompts.render('router/llm_first', {
          route_schema: JSON.stringify(RouteDecision),
          capability_index_json: JSON.stringify(index),
          untrusted_rule: parts.prompts.load('_shared/untrusted').sections.system ?? '',
          task_text: text,
        })
        const decision = decisionIn(await model(prompt, RouteDecision, signal), prompt, index)
        if (!decision)
          return byRules.route_type === 'clarify' ? await askBack(byRules, text, parts.prompts, model, signal) : byRules
        const least = higherRisk(byRules.min_risk ?? 'R0', decision.min_risk ?? 'R0')
        return withGuard({ ...decision, ...(least !== 'R0' && { min_risk: least }) }, text)
      } catch (thrown) {
        signal.throwIfAborted()
        return { ...byRules, unasked: oneLine(asFault(thrown).message, 300) }
      }
    },
  }
}

const Questions = Type.Object({
  clarify_questions: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), { minItems: 1, maxItems: 3 }),
})

/** Neither rules nor model know the road: the model puts the question back in words that fit. Where that is no question, the rules' own stands. */
async function askBack(
  byRules: RouteDecision,
  text: string,
  prompts: Prompts,
  model: AskModel,
  signal: AbortSignal,
): Promise<RouteDecision> {
  const prompt = prompts.render('router/rule_fallback', { task_text: text })
  const given = jsonIn(await model(prompt, Questions, signal))
  if (given === undefined || wrongReply(prompt, given).length > 0 || !validatorOf(Questions)(given)) return byRules
  return { ...byRules, clarify_questions: (given as Static<typeof Questions>).clarify_questions }
}

/** A model's answer as a decision; nothing where it is none, or names what is not there. One that is not sure is a question back. */
export function decisionIn(
  reply: string,
  prompt: Pick<RenderedPrompt, 'output'>,
  { skills, tools }: CapabilityIndex,
): RouteDecision | undefined {
  const given = jsonIn(reply)
  if (given === undefined || wrongReply(prompt, given).length > 0 || !validatorOf(RouteDecision)(given)) return undefined
  const decision = given as RouteDecision
  const { route_type, confidence, skill_id, tool_ids = [], clarify_questions } = decision
  if (route_type === 'skill' && !skills.some(({ id, disable_model_invocation: byPerson }) => id === skill_id && !byPerson))
    return undefined
  if ((route_type === 'tool' || route_type === 'mcp') && tool_ids.length === 0) return undefined
  if (tool_ids.some((name) => !tools.some(({ id }) => id === name))) return undefined
  if (route_type === 'clarify' ? clarify_questions === undefined : confidence < clarifyBelow)
    return {
      route_type: 'clarify',
      confidence,
      reason: `not sure enough: ${decision.reason}`.slice(0, 1_000),
      clarify_questions: clarify_questions ?? ['What exactly should be done?'],
      ...(decision.min_risk !== undefined && { min_risk: decision.min_risk }),
    }
  return decision
}

/** JSON as models send it: alone, in a fence, or with words around it. */
export function jsonIn(reply: string): unknown {
  const text = reply.slice(0, mostReply)
  const fenced = /```(?:json)?\s*\n?([\s\S]*?)```/.exec(text)?.[1]
  for (const one of [text, fenced, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)]) {
    if (one === undefined || one.trim() === '') continue
    try {
      return parseJson(one)
    } catch {
      // Perhaps the next.
    }
  }
  return undefined
}
