import type { AuditLine } from '../contracts/audit.ts'
import type { RunEvent, RunStatus } from '../contracts/run.ts'
import { onAbort } from '../text/aborts.ts'
import type { RunPorts } from './ports.ts'

/** Told in one answer; the cursor says where to go on. */
const mostEvents = 500
/** A process that ends a run may die before it says so. */
const lookEveryMs = 5_000

export interface RunEvents {
  /** What the log says of a run after a line, and the line up to which it was read. */
  since(run: string, after: number): Promise<{ cursor: number; events: RunEvent[] }>
  /** Now, and each time something may have happened to a run, until the signal or the end of this process's Handrail. */
  follow(run: string, signal: AbortSignal | undefined): AsyncIterable<void>
}

const ofRuns = (event: string): boolean => event.startsWith('run.')

export function openEvents({ log, cluster }: Pick<RunPorts, 'log' | 'cluster'>): RunEvents {
  return {
    since(run, after) {
      if (cluster) return cluster.since(run, after)
      const last = log.lastLine()
      if (after >= last) return Promise.resolve({ cursor: Math.max(after, last), events: [] })
      return new Promise((resolve) => {
        const events: RunEvent[] = []
        const end = (cursor: number): void => {
          stop()
          resolve({ cursor, events })
        }
        const stop = log.subscribe(
          { from: after + 1, events: ofRuns, onLost: () => end(last), onEnd: () => end(after) },
          (lines, upTo) => {
            for (const line of lines) if (line.run === run && events.length < mostEvents) events.push(eventIn(line))
            if (events.length >= mostEvents) end((events.at(-1) as RunEvent).cursor)
            else if (upTo >= last) end(upTo)
          },
        )
      })
    },
    async *follow(run, signal) {
      let news: (() => void) | undefined
      let isNew = true
      let over = false
      const tell = (): void => {
        isNew = true
        news?.()
      }
      const end = (): void => {
        over = true
        tell()
      }
      const stop = log.subscribe({ events: ofRuns, onLost: tell, onEnd: end }, (lines) => {
        if (lines.some((line) => line.run === run)) tell()
      })
      const stopListening = onAbort(signal, end)
      // Keeps the process: a command that waits for a run which waits for a person has nothing else that does.
      const looking = setInterval(tell, lookEveryMs)
      try {
        while (!over) {
          if (!isNew) await new Promise<void>((resolve) => (news = resolve))
          isNew = false
          if (!over) yield
        }
      } finally {
        clearInterval(looking)
        stopListening()
        stop()
      }
    },
  }
}

function eventIn({ seq, event, at, details, approval }: AuditLine): RunEvent {
  const { status, progress, ...rest } = (details ?? {}) as { status?: RunStatus; progress?: RunEvent['progress'] }
  const more = { ...rest, ...(approval !== undefined && { approvalId: approval }) }
  return {
    cursor: seq,
    event,
    at,
    ...(status !== undefined && { status }),
    ...(progress !== undefined && { progress }),
    ...(Object.keys(more).length > 0 && { details: more }),
  }
}
