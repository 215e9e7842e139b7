import type { AuditEntry, AuditLine, AuditListener, Subscription } from '../../contracts/audit.ts'
import type { RunEvent, RunStatus } from '../../contracts/run.ts'
import type { Postgres } from '../../host/postgres.ts'

/** Told in one answer; the cursor says where to go on. */
const mostEvents = 500
/** What is told while the database is away waits in line, so many at most: what became of a run stands in its row all the same. */
const mostUntold = 1_000
const channel = 'handrail_runs'
/** How long what nobody waits for is kept back, so that it goes along with what comes next. */
const unhurriedMs = 20
const hurried = new Set(['run.ended', 'run.waiting'])

export interface ClusterNotifications {
  /** Tells the other processes, soon. What it was told in one turn goes in one statement. */
  tell(entry: AuditEntry): void
  /** Hears what happens to the runs of the space, whichever machine does it. */
  subscribe(wanted: Subscription, listener: AuditListener): () => void
  /** A run waits that only these may carry out: they come for it. */
  tellBound(queue: string): void
  onBound(listener: (queue: string) => void): void
  /** Runs to which something happened on another machine. */
  onElsewhere(listener: (runs: readonly string[]) => void): () => void
  since(run: string, after: number): Promise<{ cursor: number; events: RunEvent[] }>
  close(): Promise<void>
}

/** What happens to runs, between machines: rows that last as long as the run, and a notice for whoever listens. `mark`s are digests. */
export function openClusterNotifications(db: Postgres, mark: string, placeMark: string): ClusterNotifications {
  const listeners = new Set<{ wanted: Subscription; listener: AuditListener }>()
  let onBound: (queue: string) => void = () => undefined
  let later: NodeJS.Timeout | undefined
  const elsewhere = new Set<(runs: readonly string[]) => void>()
  let untold: AuditEntry[] = []
  let telling: Promise<void> | undefined
  let closed = false

  const hear = (notice: string): void => {
    const [space, place, run, event, status] = notice.split(' ')
    if (space !== mark || run === undefined || event === undefined) return
    if (event === 'run.bound') return onBound(run)
    // All that is heard of it: whoever wants more reads it.
    const line = { seq: 0, at: '', prev: '', hash: '', event, run, details: { status } } as unknown as AuditLine
    for (const { wanted, listener } of listeners) if (wanted.events?.(event) ?? true) void listener([line], 0)
    if (place !== placeMark) for (const tell of elsewhere) tell([run])
  }
  const stopListening = db.listen(
    channel,
    (payload) => {
      for (const notice of payload.split('\n')) hear(notice)
    },
    () => {
      for (const { wanted } of listeners) wanted.onLost?.('the database was out of reach')
    },
  )
  const flush = async (): Promise<void> => {
    await Promise.resolve()
    while (untold.length > 0) {
      const some = untold.slice(0, mostUntold)
      await db.often('SELECT handrail.tell($1, $2, $3, $4, $5)', [
        mark,
        placeMark,
        some.map(({ run }) => run),
        some.map(({ event }) => event),
        some.map(detailsOf),
      ])
      untold = untold.slice(some.length)
    }
  }
  const start = (): void => {
    clearTimeout(later)
    later = undefined
    // Where it cannot be told, the next that is told takes it along.
    telling ??= flush()
      .catch(() => undefined)
      .finally(() => (telling = undefined))
  }
  return {
    tell(entry) {
      if (entry.run === undefined || closed) return
      untold.push(entry)
      if (untold.length > mostUntold) untold.shift()
      if (hurried.has(entry.event)) start()
      else later ??= setTimeout(start, unhurriedMs).unref()
    },
    tellBound(queue) {
      // Where it is not heard, it is found by whoever looks next.
      void db.query('SELECT pg_notify($1, $2)', [channel, [mark, placeMark, queue, 'run.bound'].join(' ')]).catch(() => undefined)
    },
    onBound: (listener) => void (onBound = listener),
    subscribe(wanted, listener) {
      const one = { wanted, listener }
      listeners.add(one)
      return () => void listeners.delete(one)
    },
    onElsewhere(listener) {
      elsewhere.add(listener)
      return () => void elsewhere.delete(listener)
    },
    async since(run, after) {
      const rows = await db.query<{ id: number; event: string; at: number; details: string }>(
        `SELECT id, event, at, details FROM handrail.run_events WHERE run = $1 AND id > $2 ORDER BY id LIMIT ${mostEvents}`,
        [run, after],
      )
      return { cursor: rows.at(-1)?.id ?? after, events: rows.map(eventIn) }
    },
    async close() {
      start()
      await telling
      closed = true
      for (const { wanted } of listeners) wanted.onEnd?.()
      await stopListening()
    },
  }
}

function detailsOf({ details, approval }: AuditEntry): string {
  return JSON.stringify({ ...(details as object | undefined), ...(approval !== undefined && { approvalId: approval }) })
}

function eventIn({ id, event, at, details }: { id: number; event: string; at: number; details: string }): RunEvent {
  const { status, progress, ...rest } = JSON.parse(details) as { status?: RunStatus; progress?: RunEvent['progress'] }
  return {
    cursor: id,
    event,
    at: new Date(at).toISOString(),
    ...(status !== undefined && { status }),
    ...(progress !== undefined && { progress }),
    ...(Object.keys(rest).length > 0 && { details: rest }),
  }
}
