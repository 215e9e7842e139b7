import Type from 'typebox'
import { entry, text, time, whole } from './config-bounds.ts'
import { closed } from './shapes.ts'

/** Whom the agent asks, what that may cost and how far it goes by itself: the person's to say, never a project's. */
const own = { tighter: 'person' } as const

export const providers = ['none', 'openai', 'anthropic', 'google', 'ollama', 'compatible'] as const
export type Provider = (typeof providers)[number]

/** The agent that comes with Handrail. Without a provider there is no model, and rules, skills and plans work all the same. */
export const agent = Type.Object(
  {
    provider: Type.Enum([...providers], {
      type: 'string',
      ...own,
      default: 'none',
      description:
        'Who the agent’s model is asked of: `openai`, `anthropic`, `google`, `ollama` (on this machine), or `compatible`, any endpoint that speaks OpenAI’s chat completions, at `baseUrl`. `none`: no model. Not in a project’s own file.',
    }),
    model: Type.String({
      ...entry,
      ...own,
      default: '',
      description: 'The model, as its provider calls it. Not in a project’s own file.',
    }),
    baseUrl: Type.String({
      ...text,
      ...own,
      pattern: '^(https?://[^\\s]+)?$',
      default: '',
      description:
        'Where the model is asked, up to and with the version: http://127.0.0.1:8080/v1. Empty: the provider’s own. The agent sends nowhere else. Not in a project’s own file.',
    }),
    contextTokens: Type.Integer({
      ...whole,
      ...own,
      minimum: 2_000,
      default: 128_000,
      description:
        'How many tokens the model takes in at once; a conversation is shortened before it is longer. Not in a project’s own file.',
    }),
    replyTokens: Type.Integer({
      ...whole,
      ...own,
      minimum: 16,
      default: 8_192,
      description: 'Most tokens of one answer of the model. Not in a project’s own file.',
    }),
    budgetTokens: Type.Integer({
      ...whole,
      ...own,
      minimum: 0,
      default: 2_000_000,
      description: 'Most tokens that one conversation may use, in and out; 0: no limit. Not in a project’s own file.',
    }),
    budgetCents: Type.Integer({
      ...own,
      minimum: 0,
      maximum: 100_000_000,
      default: 0,
      description:
        'Most that one conversation may cost, in hundredths of your currency, by `inputCents` and `outputCents`; 0: no limit. Not in a project’s own file.',
    }),
    inputCents: Type.Integer({
      ...own,
      minimum: 0,
      maximum: 100_000_000,
      default: 0,
      description:
        'What a million tokens cost that the model reads, in hundredths of your currency. Not in a project’s own file.',
    }),
    outputCents: Type.Integer({
      ...own,
      minimum: 0,
      maximum: 100_000_000,
      default: 0,
      description:
        'What a million tokens cost that the model writes, in hundredths of your currency. Not in a project’s own file.',
    }),
    maxSteps: Type.Integer({
      ...own,
      minimum: 1,
      maximum: 1_000,
      default: 60,
      description: 'How often the model is asked in one turn before it must stop. Not in a project’s own file.',
    }),
    modelTimeoutMs: Type.Integer({
      ...time,
      ...own,
      minimum: 10,
      default: 120_000,
      description: 'How long the model may say nothing (ms). Waiting for a person does not count. Not in a project’s own file.',
    }),
    agentSessions: Type.Integer({
      ...own,
      minimum: 1,
      maximum: 10_000,
      default: 200,
      description: 'How many conversations with the agent are kept; beyond that, the oldest go. Not in a project’s own file.',
    }),
  },
  closed,
)
