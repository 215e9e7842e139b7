/** The folder of a project in which it may say our prompts in other words, by their ids. */
export const promptsInProject = ['handrail', 'prompts'] as const

/** The parts of a prompt, in the order in which they are said. */
export const promptRoles = ['system', 'user', 'assistant'] as const
export type PromptRole = (typeof promptRoles)[number]

export interface PromptInput {
  name: string
  says: string
}

/** A prompt as its file has it (seed 004 §3). */
export interface Prompt {
  /** Its path below `prompts/`, without `.md`. */
  id: string
  name: string
  version: string
  used_by: readonly string[]
  inputs: readonly PromptInput[]
  output: { type: 'json' | 'text'; schema_fields: readonly string[]; constraints: readonly string[] }
  model_hints: Readonly<Record<string, unknown>>
  sections: Readonly<Partial<Record<PromptRole, string>>>
  from: 'handrail' | 'project'
}

/** What is sent to a model: nothing in braces is left, and what a value holds is as it was given. */
export interface RenderedPrompt {
  id: string
  version: string
  system: string
  user?: string
  assistant?: string
  output: Prompt['output']
  model_hints: Prompt['model_hints']
  /** Values that the prompt does not declare: they are not used. */
  warnings: readonly string[]
}

export interface Prompts {
  /** Throws `not-found` for an id there is none of, `bad-input` where a declared value is missing. */
  render(id: string, values: Readonly<Record<string, string>>): RenderedPrompt
  load(id: string): Prompt
}

/** The prompts there are. */
export interface PromptLibrary extends Prompts {
  list(): readonly Prompt[]
  /** Everything that is wrong, by id: with those that come with Handrail and with those of the project. */
  check(): readonly { id: string; from: Prompt['from']; version: string; wrong: readonly string[] }[]
}
