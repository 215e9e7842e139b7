import type { AgentLimits, AgentRecord } from '../contracts/agent.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Model, ModelMessage, ModelTool } from '../contracts/model.ts'
import type { Prompts } from '../contracts/prompt.ts'
import { fenced } from './fence.ts'

/** So many of the newest messages are never shortened. */
const newest = 8
const shortened = 400
/** A conversation is made shorter before it takes this share of what the model takes in. */
const share = 0.75

/** A guess that is rather too high: three bytes are a token of most languages, Chinese included. */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)

const sizeOf = (messages: readonly ModelMessage[]): number =>
  messages.reduce(
    (sum, message) => sum + tokensOf(message.text) + ('calls' in message ? tokensOf(JSON.stringify(message.calls)) : 0),
    0,
  )

export interface Compacting {
  model: Model
  prompts: Pick<Prompts, 'render'>
  signal: AbortSignal
  limits: AgentLimits
  system: string
  tools: readonly ModelTool[]
}

/** Makes a conversation fit, in two steps: old answers of tools are cut down, then what is old is put into a few words by the model. */
export async function compact(record: AgentRecord, { model, prompts, signal, limits, system, tools }: Compacting): Promise<void> {
  const room = (limits.contextTokens - limits.replyTokens) * share - tokensOf(system) - tokensOf(JSON.stringify(tools))
  if (sizeOf(record.messages) <= room) return
  const kept = record.messages.length - newest
  record.messages = record.messages.map((message, at) =>
    at < kept && message.role === 'tool' && message.text.length > shortened
      ? {
          ...message,
          text: `${message.text.slice(0, shortened / 2)}\n[the rest was left out to save room; call the tool again if you need it]`,
        }
      : message,
  )
  if (sizeOf(record.messages) <= room) return
  const cut = boundary(record.messages)
  if (cut === 0) return tooLong(record, room)
  const old = record.messages.slice(0, cut)
  const summary = await inFewWords(old, record, { model, prompts, signal, limits })
  record.messages = [
    { role: 'user', text: `${record.goal}\n\n${fenced('the conversation so far, in few words', summary)}` },
    ...record.messages.slice(cut),
  ]
  tooLong(record, room)
}

/** Where one can cut so that no call is parted from its result; 0 where nowhere. */
function boundary(messages: readonly ModelMessage[]): number {
  for (let at = messages.length - newest; at > 1; at--) if (messages[at]?.role !== 'tool') return at
  return 0
}

async function inFewWords(
  old: readonly ModelMessage[],
  record: AgentRecord,
  { model, prompts, signal, limits }: Pick<Compacting, 'model' | 'prompts' | 'signal' | 'limits'>,
): Promise<string> {
  const told = old.map(
    (message) => `${message.role}: ${message.text}${'calls' in message ? ` ${JSON.stringify(message.calls)}` : ''}`,
  )
  // Of very much the newest: it must fit as well.
  const text = told.join('\n').slice(-limits.contextTokens)
  const { system, user = '' } = prompts.render('agent/compact', {
    goal: record.goal,
    conversation: fenced('the conversation', text),
  })
  try {
    const reply = await model.complete({ system, messages: [{ role: 'user', text: user }], maxTokens: 1_000, signal })
    record.usage = added(record.usage, reply.usage)
    if (reply.text.trim() !== '') return reply.text
  } catch (thrown) {
    if (signal.aborted) throw thrown
  }
  return `(${old.length} earlier messages were left out.)`
}

function tooLong(record: AgentRecord, room: number): void {
  if (sizeOf(record.messages) <= room) return
  throw new Fault('too-large', 'The conversation is longer than the model takes in', {
    hint: 'Begin a new one, ask for less at a time, or raise agent.contextTokens where the model takes more.',
  })
}

export function added(usage: AgentRecord['usage'], more: { input: number; output: number } | undefined): AgentRecord['usage'] {
  return { input: usage.input + (more?.input ?? 0), output: usage.output + (more?.output ?? 0) }
}
