import { asFault } from '../../contracts/faults/fault.ts'
import type { Memory, MemoryHit, MemoryQuery, MemoryStatus } from '../../contracts/memory.ts'
import type { StateFolder } from '../../host/state-folder.ts'
import { openPace, type Pace } from '../../text/steps.ts'
import { doneOf, indexLog, knownLines, OtherLog, type Records, type Sight } from './done.ts'
import { hitOf, wanted, type Entry } from './entry.ts'
import { indexBytes, newestIn, openIndexFile, type Found } from './index-file.ts'
import { indexTalks, talkOf, type Talks } from './talk.ts'

/** For whom it is searched. */
export interface Reader extends Sight {
  conversations: boolean
}

export interface MemoryStore {
  for(reader: Reader): Pick<Memory, 'search'>
  rebuild: Memory['rebuild']
  status: Memory['status']
  /** Drops what is no longer kept, and what is beyond the bound. */
  tidy(): Promise<void>
  close(): void
}

type Progress = (done: number, total: number) => void
type Open = ReturnType<typeof openIndexFile>

/** An agent's call has so long for what is new in the log; what is left is taken up by the next. */
const patienceMs = 5_000
/** SQLite's words for "not now", and for a disk that is full: the index is all right. */
const notNow = new Set([5, 6, 13])

export function openMemory(state: StateFolder, records: Records & Talks): MemoryStore {
  let opened: Open | undefined
  let madeAnew: string | undefined
  let syncing: Promise<void> | undefined
  const closing = new AbortController()

  const close = (): void => {
    try {
      opened?.close()
    } catch {
      // It is damaged: there is nothing to be put in order.
    }
    opened = undefined
  }
  /** The one that failed; another one is opened, be it made by somebody else. */
  let bad = 0
  const index = (): Open => {
    if (opened?.isGone()) close()
    return (opened ??= openIndexFile(state, bad))
  }
  const makeAnew = (why: string): void => {
    bad = opened?.number ?? newestIn(state)
    close()
    madeAnew = why
  }
  /** Whatever the index is like: where it fails it is made anew, once, and then what was wanted is done again. */
  const sound = async <T>(act: (now: Open) => Promise<T>): Promise<T> => {
    try {
      return await act(index())
    } catch (thrown) {
      const why = wrongWith(thrown)
      if (why === undefined) throw thrown
      makeAnew(why)
    }
    return act(index())
  }
  const catchUp = async (now: Open, pace: Pace, before: number, onProgress?: Progress): Promise<void> => {
    await indexLog(now, records, pace, onProgress)
    await indexTalks(now, records, pace)
    while (now.bound(before)) await pace.turn()
  }
  /** One at a time in this process. Who comes meanwhile waits for that one, and looks once more for what came after it began. */
  const sync = (onProgress?: Progress, before = 0): Promise<void> => {
    const earlier = syncing?.catch(() => undefined) ?? Promise.resolve()
    const mine = earlier.then(() => sound((now) => catchUp(now, openPace(closing.signal), before, onProgress)))
    syncing = mine
    void mine
      .catch(() => undefined)
      .finally(() => {
        if (syncing === mine) syncing = undefined
      })
    return mine
  }

  const look = async (
    now: Open,
    query: MemoryQuery,
    reader: Reader,
    pace: Pace,
  ): Promise<{ hits: MemoryHit[]; more: boolean }> => {
    const { words, facets } = wanted(query)
    const { since = 0, until = Number.MAX_SAFE_INTEGER, limit } = query
    const pages = async function* (area: 'log' | 'talk'): AsyncGenerator<Found> {
      let below = Number.MAX_SAFE_INTEGER
      for (;;) {
        const page = now.page(area, below, [...words, ...facets], since, until)
        if (!page) return
        yield* page.found
        below = page.below
        if (pace.due()) await pace.turn()
      }
    }
    const hits: MemoryHit[] = []
    const take = (entry: Entry | undefined): void => {
      const hit = entry && hitOf(entry, query)
      if (hit) hits.push(hit)
    }
    for await (const found of pages('log')) {
      if (hits.length > limit) break
      take(await doneOf(found, records, reader))
      if (pace.due()) await pace.turn()
    }
    if (reader.conversations && (query.kind ?? 'conversation') === 'conversation') {
      const said: Found[] = []
      for await (const found of pages('talk')) said.push(found)
      const room = hits.length + limit
      for (const { ref } of said.toSorted((a, b) => b.at - a.at)) {
        if (hits.length > room) break
        take(talkOf(ref, records))
        if (pace.due()) await pace.turn()
      }
    }
    hits.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
    return { hits: hits.slice(0, limit), more: hits.length > limit }
  }

  const status = (now = index()): MemoryStatus => ({
    entries: now.entries(),
    bytes: indexBytes(state),
    upTo: knownLines(now),
    head: records.audit.head().seq,
    ...(madeAnew !== undefined && { madeAnew }),
  })

  return {
    for: (reader) => ({
      async search(query, signal, onProgress) {
        // What comes while it looks is not what was asked about.
        const { seq: head } = records.audit.head()
        // Where others have it in hand, or the disk is full, what is known is looked through.
        const done = sync(onProgress).catch(() => undefined)
        // A person who watches it waits to the end.
        await (onProgress ? done : Promise.race([done, after(patienceMs)]))
        signal?.throwIfAborted()
        return sound(async (now) => {
          const found = await look(now, query, reader, openPace(signal))
          return { ...found, behind: Math.max(0, head - knownLines(now)) }
        })
      },
    }),
    async rebuild(onProgress) {
      await syncing?.catch(() => undefined)
      close()
      makeAnew('a person asked for it')
      await sync(onProgress)
      return status()
    },
    status: () => {
      try {
        return status()
      } catch (thrown) {
        const why = wrongWith(thrown)
        if (why === undefined) throw thrown
        makeAnew(why)
        return status()
      }
    },
    async tidy() {
      // Nobody looked for anything yet: there is nothing to tidy.
      if (indexBytes(state) === 0) return
      const first = firstOf(records.audit.lines())
      await sync(undefined, first ? Date.parse(first.at) : 0)
    },
    close() {
      closing.abort()
      close()
    },
  }
}

/** Why it must be made anew; nothing where that would not help. */
function wrongWith(thrown: unknown): string | undefined {
  if (thrown instanceof OtherLog) return 'the log is another one'
  const { reason, message, cause } = asFault(thrown)
  const code = (cause as { errcode?: number } | undefined)?.errcode
  if (reason === 'unsupported') return message
  return reason === 'io' && code !== undefined && !notNow.has(code & 0xff) ? message : undefined
}

function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item
  return undefined
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())
