import { Fault } from '../../contracts/faults/fault.ts'
import type { ModelCall, ModelReply } from '../../contracts/model.ts'
import { parseJson } from '../../text/json.ts'
import type { LanguageModel } from './providers.ts'

type Streamed = Awaited<ReturnType<LanguageModel['doStream']>>['stream']
type Part = Streamed extends ReadableStream<infer P> ? P : never
type Finish = Extract<Part, { type: 'finish' }>

/** A model without end is cut off: in characters of text, of one call's input and of all, and in calls. */
const most = { text: 1_048_576, thought: 262_144, input: 4_194_304, inputs: 8_388_608, calls: 64 }

/** What a model answers, read to its end. Calls of an answer that did not end well are not handed on. */
export async function readReply(stream: Streamed, onText: ((delta: string) => void) | undefined): Promise<ModelReply> {
  let text = ''
  let thought = ''
  const calls: ModelCall[] = []
  /** Calls come whole at the end of an answer: what is under way is counted, so that it has an end. */
  let begun = 0
  let written = 0
  let finish: Finish | undefined
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const part = next.value
      if (part.type === 'text-delta') {
        text += part.delta
        if (text.length > most.text) throw endless()
        if (part.delta !== '') onText?.(part.delta)
      } else if (part.type === 'reasoning-delta') thought = (thought + part.delta).slice(0, most.thought)
      else if (part.type === 'tool-input-start') {
        if (++begun > most.calls) throw endless()
      } else if (part.type === 'tool-input-delta') {
        written += part.delta.length
        if (written > most.inputs) throw endless()
      } else if (part.type === 'tool-call') {
        if (calls.length >= most.calls || part.input.length > most.input) throw endless()
        calls.push(callOf(part))
      } else if (part.type === 'error') throw part.error
      else if (part.type === 'finish') finish = part
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
  if (!finish || finish.finishReason.unified === 'error')
    throw new Fault('model-failed', 'The answer of the model broke off', { hint: 'Try again.' })
  return { text, ...(thought !== '' && { thought }), ...endOf(finish, calls), usage: usageOf(finish) }
}

function endOf({ finishReason: { unified } }: Finish, calls: ModelCall[]): Pick<ModelReply, 'end' | 'calls'> {
  if (unified === 'length') return { end: 'cut', calls: [] }
  if (unified === 'content-filter') return { end: 'refused', calls: [] }
  return calls.length > 0 ? { end: 'calls', calls } : { end: 'done', calls }
}

function usageOf({ usage: { inputTokens, outputTokens } }: Finish): ModelReply['usage'] {
  const [input, output] = [inputTokens.total, outputTokens.total]
  return input === undefined && output === undefined ? undefined : { input: input ?? 0, output: output ?? 0 }
}

function callOf({
  toolCallId: id,
  toolName: name,
  input: text,
  providerMetadata,
}: Extract<Part, { type: 'tool-call' }>): ModelCall {
  const call = { id, name, ...(providerMetadata && { opaque: providerMetadata }) }
  try {
    const input = text.trim() === '' ? {} : parseJson(text)
    if (typeof input === 'object' && input !== null && !Array.isArray(input))
      return { ...call, input: input as Record<string, unknown> }
    return { ...call, input: {}, broken: 'it is no JSON object' }
  } catch {
    return { ...call, input: {}, broken: 'it is no JSON' }
  }
}

const endless = (): Fault =>
  new Fault('model-failed', 'The model answers without end, and was cut off', { hint: 'Try another model.' })
