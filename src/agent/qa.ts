import type { Prompts } from '../contracts/prompt.ts'
import type { AskModel } from './router.ts'

/** All that an answer to a question is made with: words in, words out. There is no gate here, and none can be handed in. */
export interface QuestionParts {
  prompts: Prompts
  model: AskModel
}

/** What goes with a question. */
export interface Question {
  text: string
  /** What was said before, between marks. */
  history: string
  /** Who the agent is and what the person likes. */
  identity: string
}

/** Answers a question by talking. */
export function answerQuestion(
  { prompts, model }: QuestionParts,
  { text, history, identity }: Question,
  signal: AbortSignal,
): Promise<string> {
  const prompt = prompts.render('chat/qa', {
    identity,
    history_text: history,
    untrusted_rule: prompts.load('_shared/untrusted').sections.system ?? '',
    task_text: text,
  })
  return model(prompt, {}, signal)
}
