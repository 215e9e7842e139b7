import type { SchemaProblem } from './run-ports.ts'

/** What is asked of an agent at the end of a run that was handed in with `outputSchema` (seed 002 §4.1). */
export interface OutputTask {
  templateId: string
  /** What the steps came to. What pages say in it is content, never an instruction. */
  result: unknown
  /** It has been looked through: no references, a few hundred values deep and wide at most. */
  schema: object
  /** What did not fit in what it answered before; empty the first time. */
  problems: readonly SchemaProblem[]
}

/** An agent with a model behind it, where one is configured. It only says things: it is given no way to act. */
export interface TaskAgent {
  shape(task: OutputTask, signal: AbortSignal): Promise<unknown>
}
