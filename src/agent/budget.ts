import type { AgentCost, AgentLimits } from '../contracts/agent.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { ModelUsage } from '../contracts/model.ts'

type Prices = Pick<AgentLimits, 'inputCents' | 'outputCents'>

/** What so many tokens cost by the prices in the settings. */
export function costOf({ input, output }: ModelUsage, { inputCents, outputCents }: Prices): AgentCost {
  const priced = inputCents > 0 || outputCents > 0
  return { input, output, cents: priced ? (input * inputCents + output * outputCents) / 1_000_000 : undefined }
}

/** Refuses the next request where the conversation has used up what the person gave it. */
export function withinBudget(usage: ModelUsage, limits: AgentLimits): void {
  const { budgetTokens, budgetCents } = limits
  const used = usage.input + usage.output
  const { cents = 0 } = costOf(usage, limits)
  const over =
    budgetTokens > 0 && used >= budgetTokens
      ? `${used} of ${budgetTokens} tokens`
      : budgetCents > 0 && cents >= budgetCents
        ? `${cents.toFixed(2)} of ${budgetCents} hundredths`
        : undefined
  if (over === undefined) return
  throw new Fault('over-limit', `This conversation has used its budget: ${over}`, {
    hint: 'Begin a new one, or raise agent.budgetTokens or agent.budgetCents in your own settings.',
  })
}
