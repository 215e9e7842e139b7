import type { Speaker } from './turn.ts'

/** A conversation over the gateway, without what was said. */
export interface Chat extends Speaker {
  id: string
  name: string
  created_at: string
  updated_at: string
}

export interface ChatMessage {
  id: string
  role: string
  type: string
  content: { type: 'text'; text: string }[]
  metadata?: Record<string, unknown>
}

/** What one turn adds. */
export interface Said {
  role: string
  type: string
  text: string
  metadata?: Record<string, unknown>
}

/** What was said over the gateway. It is a convenience of chat front ends and no record of what was done: that is the log. */
export interface Chats {
  /** A turn that has ended, whole: what was asked and what was answered. On the disk a moment later, with others. */
  add(speaker: Speaker, said: readonly Said[]): void
  /** The last updated first. */
  list(wanted: { user_id?: string; channel?: string; limit: number }): Chat[]
  get(id: string): Chat | undefined
  messages(id: string): ChatMessage[]
  /** One that is there already is given as it is. */
  open(speaker: Speaker, name: string): Chat
  rename(id: string, name: string): Chat | undefined
  /** How many were there. */
  remove(ids: readonly string[]): number
}
