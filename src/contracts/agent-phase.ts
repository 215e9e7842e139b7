/** `answer`: words only, no tool. `plan`: looks, changes nothing, ends in a plan. `act`: does it. */
export type AgentPhase = 'answer' | 'plan' | 'act'
