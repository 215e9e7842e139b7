import { randomBytes } from 'node:crypto'
import type { Chat, ChatMessage, Chats, Said } from '../contracts/chat.ts'
import { bounds } from '../contracts/kept.ts'
import type { Speaker } from '../contracts/turn.ts'
import type { Database } from '../host/database.ts'

const most = bounds.chats
/** So long what was said waits for more, to be written with it. */
const gatherMs = 50
/** Where very much is said it waits longer, so that writing it takes a small part of the time: most of that is pushed out by then, and never written. */
const share = 1 / 50
const longestGatherMs = 1_000
/** No more than this waits for long, and no more than twice of it at all: whoever wants to read has it written first. */
const mostResting = 500
/** So much is written in one go; the others have their turn after whoever else waits. */
const atOnce = { messages: 100, characters: 1 << 19 }
/** So many messages are written before what is beyond the bounds is looked for again. */
const between = 500
const longestName = 200

interface Waiting {
  speaker: Speaker
  said: (Said & { at: number })[]
}

interface Row extends Omit<Chat, 'created_at' | 'updated_at'> {
  created_at: number
  updated_at: number
}

/** Conversations over the gateway. What was said last is what stays. */
export function openChats(db: Database): Chats & { close(): void } {
  let waiting = new Map<string, Waiting>()
  let queued = 0
  let written = 0
  let timer: NodeJS.Timeout | undefined
  let restUntil = 0
  /** The timer does not wait. */
  let hurrying = false

  const keyOf = ({ session_id, user_id, channel }: Speaker): string => JSON.stringify([session_id, user_id, channel])
  const find = ({ session_id, user_id, channel }: Speaker): Row | undefined =>
    db.get<Row>('SELECT * FROM chats WHERE session_id = ? AND user_id = ? AND channel = ?', session_id, user_id, channel)
  const openRow = (speaker: Speaker, name: string, at: number): Row => {
    const known = find(speaker)
    if (known) return known
    const { session_id, user_id, channel } = speaker
    const id = `chat-${randomBytes(8).toString('hex')}`
    db.run(
      'INSERT INTO chats (id, name, session_id, user_id, channel, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      id,
      name,
      session_id,
      user_id,
      channel,
      at,
      at,
    )
    return { id, name, ...speaker, created_at: at, updated_at: at }
  }
  const keepNewest = (chat: string, messages: number): number =>
    db.run(
      'DELETE FROM chat_messages WHERE chat = ? AND seq <= (SELECT seq FROM chat_messages WHERE chat = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)',
      chat,
      chat,
      messages,
    )
  const write = ({ speaker, said }: Waiting): void => {
    const { id } = openRow(speaker, nameFrom(said), said[0]?.at ?? Date.now())
    for (const { role, type, text, metadata, at } of said)
      db.run(
        'INSERT INTO chat_messages (chat, role, type, text, metadata, at) VALUES (?, ?, ?, ?, ?, ?)',
        id,
        role,
        type,
        text,
        metadata === undefined ? null : JSON.stringify(metadata),
        at,
      )
    db.run('UPDATE chats SET updated_at = ? WHERE id = ?', said.at(-1)?.at ?? Date.now(), id)
    keepNewest(id, most.messages)
  }
  /** The chats that nobody added to for longest go, with all that was said in them. */
  const bound = (): void => {
    const beyond = 'SELECT id FROM chats ORDER BY updated_at DESC LIMIT -1 OFFSET ?'
    const gone = db.run(`DELETE FROM chats WHERE id IN (${beyond})`, most.most)
    if (gone > 0) db.run('DELETE FROM chat_messages WHERE chat NOT IN (SELECT id FROM chats)')
    level()
  }
  /** Messages beyond the bound go from the chats that have most of them, the oldest first: nobody who says much pushes out the others. */
  const level = (): void => {
    const chats = db.all<{ chat: string; n: number }>('SELECT chat, count(*) AS n FROM chat_messages GROUP BY chat ORDER BY n')
    let left = most.all
    for (const [at, { n }] of chats.entries()) {
      const each = Math.floor(left / (chats.length - at))
      left -= Math.min(n, each)
      if (n <= each) continue
      for (const { chat } of chats.slice(at)) keepNewest(chat, each)
      return
    }
  }
  const drop = (key: string): void => {
    queued -= waiting.get(key)?.said.length ?? 0
    waiting.delete(key)
  }
  /** What is taken of those who wait: whole chats, so many that it stays within what is written in one go; one at least. */
  const next = (): [string, Waiting][] => {
    const some: [string, Waiting][] = []
    let messages = 0
    let characters = 0
    for (const one of waiting) {
      const { said } = one[1]
      messages += said.length
      for (const { text } of said) characters += text.length
      if (some.length > 0 && (messages > atOnce.messages || characters > atOnce.characters)) break
      some.push(one)
    }
    return some
  }
  const flush = (some: readonly [string, Waiting][]): void => {
    if (some.length === 0) return
    db.transaction(() => {
      for (const [, one] of some) write(one)
      if (written === 0 || written >= between) bound()
    })
    if (written >= between) written = 0
    for (const [key, { said }] of some) {
      written += said.length
      drop(key)
    }
  }
  const flushSome = (): void => {
    clearTimeout(timer)
    timer = undefined
    hurrying = false
    const since = performance.now()
    try {
      flush(next())
    } catch (fault) {
      // A disk that refuses must not fill the memory: what was done is in the log.
      waiting = new Map()
      queued = 0
      console.error('handrail: chats:', (fault as Error).message.slice(0, 300))
    }
    const now = performance.now()
    restUntil = now + Math.min(longestGatherMs, (now - since) / share)
    if (waiting.size > 0) later()
  }
  const later = (): void => {
    if (queued > mostResting) {
      if (hurrying) return
      clearTimeout(timer)
      timer = undefined
    }
    hurrying = queued > mostResting
    timer ??= setTimeout(flushSome, hurrying ? 0 : Math.max(gatherMs, restUntil - performance.now())).unref()
  }
  const all = (): void => flush([...waiting])

  return {
    add(speaker, said) {
      const key = keyOf(speaker)
      const one = waiting.get(key) ?? { speaker, said: [] }
      const at = Date.now()
      for (const part of said.slice(-most.messages)) one.said.push({ ...part, text: cut(part.text, most.characters), at })
      queued += Math.min(said.length, most.messages)
      // What would be dropped at once is not written.
      const over = one.said.length - most.messages
      if (over > 0) queued -= one.said.splice(0, over).length
      waiting.set(key, one)
      if (queued > 2 * mostResting) flushSome()
      else later()
    },
    list({ user_id, channel, limit }) {
      all()
      return db
        .all<Row>(
          'SELECT * FROM chats WHERE (? IS NULL OR user_id = ?) AND (? IS NULL OR channel = ?) ORDER BY updated_at DESC, id LIMIT ?',
          user_id ?? null,
          user_id ?? null,
          channel ?? null,
          channel ?? null,
          limit,
        )
        .map(told)
    },
    get(id) {
      all()
      const row = db.get<Row>('SELECT * FROM chats WHERE id = ?', id)
      return row && told(row)
    },
    messages(id) {
      all()
      return db
        .all<{ seq: number; role: string; type: string; text: string; metadata: string | null }>(
          'SELECT seq, role, type, text, metadata FROM chat_messages WHERE chat = ? ORDER BY seq',
          id,
        )
        .map(({ seq, role, type, text, metadata }): ChatMessage => ({
          id: `msg_${seq}`,
          role,
          type,
          content: [{ type: 'text', text }],
          ...(metadata !== null && { metadata: JSON.parse(metadata) as Record<string, unknown> }),
        }))
    },
    open(speaker, name) {
      all()
      const known = find(speaker)
      if (known) return told(known)
      const row = db.transaction(() => {
        const opened = openRow(speaker, cut(name, longestName), Date.now())
        bound()
        return opened
      })
      return told(row)
    },
    rename(id, name) {
      all()
      db.run('UPDATE chats SET name = ?, updated_at = ? WHERE id = ?', cut(name, longestName), Date.now(), id)
      const row = db.get<Row>('SELECT * FROM chats WHERE id = ?', id)
      return row && told(row)
    },
    remove(ids) {
      all()
      return db.transaction(() => {
        let gone = 0
        for (const id of ids) {
          gone += db.run('DELETE FROM chats WHERE id = ?', id)
          db.run('DELETE FROM chat_messages WHERE chat = ?', id)
        }
        return gone
      })
    },
    close() {
      clearTimeout(timer)
      all()
    },
  }
}

const told = ({ created_at, updated_at, ...row }: Row): Chat => ({
  ...row,
  created_at: new Date(created_at).toISOString(),
  updated_at: new Date(updated_at).toISOString(),
})

/** The first words of whoever began it. */
function nameFrom(said: readonly Said[]): string {
  const text = said.find(({ role, text }) => role === 'user' && text.trim() !== '')?.text ?? said[0]?.text ?? ''
  return Array.from(text.trim().slice(0, 200)).slice(0, 20).join('') || 'New chat'
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text
  const kept = text.slice(0, characters).toWellFormed()
  // A slice would keep the whole in memory for as long as it waits.
  return `${text.length > 4 * characters ? Buffer.from(kept).toString() : kept}… (cut: ${text.length} characters)`
}
