import type { Prompts } from '../contracts/prompt.ts'
import type { AskModel } from './router.ts'

/** All that an answer to a question is made with: words in, words out. There is no gate here, and none can be handed in. */
export interface QuestionParts {
  prompts: Prompts
  model: AskModel
}

/** Answers a question by talking. */
export function answerQuestion(
  { prompts, model }: QuestionParts,
  question: string,
  history: string,
  signal: AbortSignal,
): Promise<string> {
  const prompt = prompts.render('chat/qa', {
    history_text: history,
    untrusted_rule: prompts.load('_shared/untrusted').sections.system ?? '',
    task_text: question,
  })
  return model(prompt, {}, signal)
}
