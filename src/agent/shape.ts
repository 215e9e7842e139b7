import { Fault } from '../contracts/faults/fault.ts'
import type { Model } from '../contracts/model.ts'
import type { Prompts } from '../contracts/prompt.ts'
import type { TaskAgent } from '../contracts/task-agent.ts'
import { parseJson } from '../text/json.ts'
import { fenced } from './fence.ts'

/** What the result of a run may take of a request. */
const longest = 200_000

/** The agent as seed 002 has it for `options.outputSchema`: it answers in a shape, and can do nothing else. */
export function openTaskAgent(model: () => Promise<Model | undefined>, prompts: Pick<Prompts, 'render'>): TaskAgent {
  return {
    async shape({ templateId, result, schema, problems }, signal) {
      const one = await model()
      if (!one)
        throw new Fault('unsupported', 'No model is configured', {
          hint: 'Set agent.provider and agent.model in your own settings.',
        })
      const wrong = problems.map(({ at, says }) => `${at || 'it'} ${says}`).join('; ')
      const { system, user = '' } = prompts.render('agent/shape', {
        template: templateId,
        schema: JSON.stringify(schema),
        problems: wrong === '' ? '(none)' : fenced('the check', wrong.slice(0, 4_000)),
        result: fenced('the run', JSON.stringify(result).slice(0, longest)),
      })
      const reply = await one.complete({ system, messages: [{ role: 'user', text: user }], schema, signal })
      return jsonIn(reply.text)
    },
  }
}

/** JSON as models write it: plain, or in a fence. Undefined where it is none. */
export function jsonIn(text: string): unknown {
  const inside = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(text)?.[1] ?? text
  try {
    return parseJson(inside.trim())
  } catch {
    return undefined
  }
}
