import { askFollowupQuestion } from './ask-followup-question.ts'
import { attemptCompletion } from './attempt-completion.ts'
import { getRuntimeInfo } from './get-runtime-info.ts'
import { presentPlan } from './present-plan.ts'

/** Talking to the person, and knowing where one is. */
export const session = [getRuntimeInfo, askFollowupQuestion, attemptCompletion, presentPlan]
export type { SessionUse } from './use.ts'
