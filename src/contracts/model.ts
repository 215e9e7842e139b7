/** One message of a conversation with a model, in no vendor's form. */
export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls?: readonly ModelCall[]; thought?: string }
  /** What came of a call, under its id. It is data: whoever asks a model marks it as such. */
  | { role: 'tool'; id: string; name: string; text: string }

/** A tool as a model is told of it. */
export interface ModelTool {
  /** At most 64 of `[A-Za-z0-9_-]`: model APIs refuse others. */
  name: string
  description: string
  /** JSON Schema of an object. Nothing of it is checked by the model's side: the kernel checks. */
  input: object
}

/** A tool that a model wants called. Nobody but the asker calls it. */
export interface ModelCall {
  id: string
  name: string
  input: Record<string, unknown>
  /** Why `input` is empty: what the model wrote was no JSON object. */
  broken?: string
  /** What the endpoint wants back with it, word for word. */
  opaque?: object
}

export interface ModelRequest {
  system: string
  messages: readonly ModelMessage[]
  tools?: readonly ModelTool[]
  /** The answer shall be JSON of this schema. A wish: what comes back is checked by the asker. */
  schema?: object
  maxTokens?: number
  temperature?: number
  signal: AbortSignal
  /** The text of the answer while it is being written. */
  onText?: (delta: string) => void
}

/** What an answer cost in tokens; nothing where the endpoint does not say. */
export interface ModelUsage {
  input: number
  output: number
}

export interface ModelReply {
  text: string
  /** What it thought before, where it says so. */
  thought?: string
  calls: readonly ModelCall[]
  usage: ModelUsage | undefined
  /** `cut`: its length was up; `refused`: by the provider's filter. Calls of an answer that was not ended well are left out. */
  end: 'done' | 'calls' | 'cut' | 'refused'
}

/**
 * One model behind one endpoint: what router, planner and loop ask. It answers and cannot act. It throws `Fault`s only (`model-failed`,
 * `cancelled`, …), in which nothing of the request or the key stands.
 */
export interface Model {
  /** Provider and model, for the log and for people. */
  readonly name: string
  /** Where requests go, and nowhere else: shown before the first one. */
  readonly endpoint: string
  complete(request: ModelRequest): Promise<ModelReply>
  /** The models that the endpoint says it has. */
  list(signal: AbortSignal): Promise<string[]>
}
