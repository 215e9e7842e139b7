import type { AgentRecord, AgentSessions } from '../../contracts/agent.ts'
import type { Chats } from '../../contracts/chat.ts'
import { bounds } from '../../contracts/kept.ts'
import { redact } from '../../text/redact/redact.ts'
import { paced, type Pace } from '../../text/steps.ts'
import { facetsOf, mostText, wholeWords, type Entry } from './entry.ts'
import type { IndexFile } from './index-file.ts'
import { wordsIn } from '../../text/memory-words.ts'

export interface Talks {
  agentSessions: Pick<AgentSessions, 'list' | 'load'>
  chats: Pick<Chats, 'list' | 'get' | 'messages'>
}

const mostSessions = 10_000

/** Conversations, as they are kept: with the agent (`talk`) and over the gateway (`chat`), and when each was last added to. */
function talksIn({ agentSessions, chats }: Talks): Map<string, number> {
  return new Map([
    ...agentSessions.list(mostSessions).map(({ session, updatedAt }) => [`talk ${session}`, updatedAt] as const),
    ...chats.list({ limit: bounds.chats.most }).map(({ id, updated_at }) => [`chat ${id}`, Date.parse(updated_at)] as const),
  ])
}

/** Takes up what was said since, and forgets what is no longer kept. */
export async function indexTalks(index: IndexFile, talks: Talks, pace: Pace): Promise<void> {
  const there = talksIn(talks)
  for (const { ref, at } of index.refs('talk')) {
    if (there.get(ref) === at) there.delete(ref)
    else index.forget(ref)
    if (pace.due()) await pace.turn()
  }
  for (const [ref, at] of there) {
    const entry = talkOf(ref, talks)
    if (entry) await paced(index.put('talk', [{ ref, at, words: [...wordsIn(entry.text), ...facetsOf(entry)] }]), pace)
    if (pace.due()) await pace.turn()
  }
}

/** What was said in a conversation by the person and the agent, without secrets; what tools answered is not part of it. */
export function talkOf(ref: string, { agentSessions, chats }: Talks): Entry | undefined {
  const id = ref.slice(5)
  if (ref.startsWith('talk ')) {
    const record = agentSessions.load(id)
    return record && entry(id, id, record.updatedAt, record.goal, saidIn(record))
  }
  const chat = chats.get(id)
  return (
    chat &&
    entry(
      id,
      chat.session_id,
      Date.parse(chat.updated_at),
      chat.name,
      chats.messages(id).flatMap(({ content }) => content.map(({ text }) => text)),
    )
  )
}

const saidIn = ({ messages }: AgentRecord): string[] =>
  messages.flatMap((message) => (message.role === 'tool' || message.text === '' ? [] : [message.text]))

/** Of a long one the end. */
function entry(id: string, session: string, at: number, title: string, said: readonly string[]): Entry {
  let text = ''
  for (const one of said.toReversed()) {
    if (text.length >= mostText) break
    text = `${beginningOf(one, mostText - text.length)}\n${text}`
  }
  return {
    kind: 'conversation',
    id,
    session,
    at,
    what: redact(beginningOf(title, 200)),
    text: redact(`${beginningOf(title, 200)}\n${text}`),
  }
}

const beginningOf = (text: string, most: number): string => (text.length <= most ? text : wholeWords(text.slice(0, most)))
