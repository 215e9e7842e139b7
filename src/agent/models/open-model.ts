import { setTimeout as pause } from 'node:timers/promises'
import type { Provider } from '../../contracts/config-agent.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Model, ModelMessage, ModelReply, ModelRequest } from '../../contracts/model.ts'
import { parseJson } from '../../text/json.ts'
import { endpointOf, wantsKey } from './endpoint.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { refusalOf } from './model-faults.ts'
import { languageModel, listRequest, type LanguageModel } from './providers.ts'
import { readReply } from './read-reply.ts'

export interface ModelSettings {
  provider: Exclude<Provider, 'none'>
  model: string
  baseUrl: string
  silenceMs: number
  key: string | undefined
}

type Prompt = Parameters<LanguageModel['doStream']>[0]['prompt']

const tries = 3
const firstWaitMs = 1_000
/** An endpoint that wants to be left alone for longer is not waited for. */
const longestWaitMs = 30_000

/** One model at one endpoint. Nothing is loaded or sent before it is asked. */
export function openModel({ provider, model, baseUrl, silenceMs, key }: ModelSettings, wait = pauseFor): Model {
  if (model === '')
    throw new Fault('bad-input', 'No model is chosen', {
      hint: 'Set agent.model in your own settings; `handrail chat --models` lists what there is.',
    })
  if (key === undefined && wantsKey(provider))
    throw new Fault('unauthorized', `There is no key for ${provider}`, { hint: `Set one: \`handrail keys set ${provider}\`.` })
  const endpoint = endpointOf(provider, baseUrl, key !== undefined)
  const send = guardedFetch(endpoint, silenceMs)
  let loading: Promise<LanguageModel> | undefined
  const load = (): Promise<LanguageModel> => (loading ??= languageModel({ provider, model, endpoint, key, fetch: send }))

  const once = async (request: ModelRequest, onText: ModelRequest['onText']): Promise<ModelReply> => {
    const { stream } = await (
      await load()
    ).doStream({
      prompt: promptOf(request),
      abortSignal: request.signal,
      ...(request.maxTokens !== undefined && { maxOutputTokens: request.maxTokens }),
      ...(request.temperature !== undefined && { temperature: request.temperature }),
      ...(request.tools?.length && {
        tools: request.tools.map(({ name, description, input }) => ({ type: 'function', name, description, inputSchema: input })),
      }),
      ...(request.schema && { responseFormat: { type: 'json', schema: request.schema, name: 'answer' } }),
    })
    return readReply(stream, onText)
  }

  return {
    name: `${provider}/${model}`,
    endpoint,
    async complete(request) {
      for (let attempt = 1; ; attempt++) {
        let told = false
        try {
          return await once(request, (delta) => {
            told = true
            request.onText?.(delta)
          })
        } catch (thrown) {
          if (request.signal.aborted) throw new Fault('cancelled', 'The model was asked no further')
          const { fault, again, waitMs = firstWaitMs * 2 ** (attempt - 1) } = refusalOf(thrown, endpoint, key)
          // What was shown cannot be taken back, so only what nobody has seen is tried again.
          if (!again || told || attempt >= tries || waitMs > longestWaitMs) throw fault
          await wait(waitMs, request.signal)
        }
      }
    },
    async list(signal) {
      const { url, headers } = listRequest({ provider, endpoint, key })
      try {
        const response = await send(url, { headers, signal })
        const text = await response.text()
        if (!response.ok) throw Object.assign(new Error('it gives no list of its models'), { statusCode: response.status })
        return namesIn(parseJson(text))
      } catch (thrown) {
        if (signal.aborted) throw new Fault('cancelled', 'The list was asked for no longer')
        throw refusalOf(thrown, endpoint, key).fault
      }
    },
  }
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  // Those who were sent away together do not come back together.
  await pause(ms * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {
    throw new Fault('cancelled', 'The model was asked no further')
  })
}

function promptOf({ system, messages }: ModelRequest): Prompt {
  return [{ role: 'system', content: system }, ...messages.map(messageOf)]
}

function messageOf(message: ModelMessage): Prompt[number] {
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text: message.text }] }
  if (message.role === 'tool') {
    const { id: toolCallId, name: toolName, text: value } = message
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }] }
  }
  const calls = (message.calls ?? []).map(({ id: toolCallId, name: toolName, input, opaque }) => ({
    type: 'tool-call' as const,
    toolCallId,
    toolName,
    input,
    ...(opaque && { providerOptions: opaque as Record<string, Record<string, never>> }),
  }))
  return {
    role: 'assistant',
    content: [
      ...(message.thought === undefined ? [] : [{ type: 'reasoning' as const, text: message.thought }]),
      ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
      ...calls,
    ],
  }
}

/** `{data: [{id}]}`, or Google’s `{models: [{name: "models/…"}]}`. */
function namesIn(answer: unknown): string[] {
  const { data, models } = (answer ?? {}) as { data?: unknown; models?: unknown }
  const list = Array.isArray(data) ? data : Array.isArray(models) ? models : []
  return list
    .flatMap((one: { id?: unknown; name?: unknown } | null) => {
      const name = one?.id ?? one?.name
      return typeof name === 'string' ? [name.replace(/^models\//, '').slice(0, 200)] : []
    })
    .slice(0, 1_000)
    .sort()
}
