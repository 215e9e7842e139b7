import type { AgentPhase } from '../../src/contracts/agent-phase.ts'
import type { AgentCaller } from '../../src/contracts/gate.ts'
import type { TurnEvent } from '../../src/contracts/turn.ts'
import { scriptedModel, type AskedMessage, type Script, type ScriptedModel } from './scripted-model.ts'
import { openWorld, type World } from './world.ts'

export interface Taken {
  events: TurnEvent[]
  /** `completed` or `failed`. */
  end: Extract<TurnEvent, { type: 'completed' | 'failed' }>
}

export interface AgentWorld {
  world: World
  model: ScriptedModel
  /** One turn of the agent. Questions are answered by `person`, at once; without, they stay open. */
  ask(
    text: string,
    how?: {
      session?: string
      mode?: AgentPhase
      signal?: AbortSignal
      person?: (approval: string) => void
      tell?: (event: TurnEvent) => void
    },
  ): Promise<Taken>
  [Symbol.asyncDispose](): Promise<void>
}

export const caller = (session = 'chat_test'): AgentCaller => ({ surface: 'cli', client: 'test', session, role: 'agent' })

/** A project with the agent on it, and a scripted model behind real HTTP. */
export async function openAgentWorld(
  script: Script,
  options: Parameters<typeof openWorld>[0] & { agent?: Record<string, unknown>; key?: string; route?: object } = {},
): Promise<AgentWorld> {
  const { agent, key, config, route, ...rest } = options
  const model = await scriptedModel(script, route)
  const settings = {
    ...(config as object | undefined),
    agent: { provider: 'compatible', model: 'scripted', baseUrl: model.url, ...agent },
  }
  const world = await openWorld({ ...rest, config: settings, environment: () => ({ HANDRAIL_KEYRING: 'off' }) })
  if (key !== undefined) await world.runtime.modelKeys.set('compatible', new URL(model.url).origin, key)
  return {
    world,
    model,
    async ask(text, { session, mode, signal = new AbortController().signal, person, tell } = {}) {
      const events: TurnEvent[] = []
      const { taker } = await world.runtime.agent()
      await taker.take(
        {
          speaker: { session_id: 's', user_id: 'u', channel: 'test' },
          messages: text === '' ? [] : [{ role: 'user', type: 'message', text }],
          caller: caller(session),
          ...(mode && { mode }),
        },
        (event) => {
          events.push(event)
          tell?.(event)
          if (event.type === 'approval') person?.(event.approval)
        },
        signal,
      )
      const end = events.at(-1)
      if (end?.type !== 'completed' && end?.type !== 'failed') throw new Error('the turn did not end')
      return { events, end }
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]()
      await model.close()
    },
  }
}

/** What the model was told of its calls, in the newest request. */
export const toolTexts = (model: ScriptedModel): string[] =>
  (model.asked.at(-1)?.body.messages ?? []).filter(({ role }) => role === 'tool').map(textOf)

/** The text of a message, whichever way it was sent. */
export function textOf({ content }: AskedMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text = '' }) => text).join('')
}
