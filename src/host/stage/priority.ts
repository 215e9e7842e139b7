import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, getPriority, setPriority } from 'node:os'

/** A step of the system's priorities: whoever is one below another has so much less of the processor. */
const step = 1.25
const most = 10

/** So many are looked at in one go; what they start inherits it anyway. */
const mostAtOnce = 200

/** Where there are more programs than processors, they step back until all of them together weigh as much as one on each. */
export function backBy(programs: number, processors: number): number {
  return programs <= processors ? 0 : Math.min(most, Math.round(Math.log(programs / processors) / Math.log(step)))
}

/** A program's place behind whoever else wants the processor. */
export interface Priority {
  /** Puts its processes there. False where some are to be tried again. */
  apply(pids: readonly number[]): boolean
  close(): void
}

let running = 0

/**
 * One program has its share as if the person had started it. Many at once do not crowd out what the person does on the machine, nor us, whom
 * clients wait for.
 */
export function openPriority(processors = availableParallelism()): Priority {
  let open = true
  running++
  return {
    apply(pids) {
      const back = backBy(running, processors)
      if (back === 0) return true
      const nice = Math.min(constants.priority.PRIORITY_LOW, getPriority() + back)
      return pids
        .slice(0, mostAtOnce)
        .map((pid) => lowerThreads(pid, nice) && lowerSession(pid, nice))
        .every(Boolean)
    },
    close() {
      if (open) running--
      open = false
    },
  }
}

function lowerThreads(pid: number, nice: number): boolean {
  try {
    if (getPriority(pid) < nice) for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice)
  } catch {
    // It has ended, or is somebody else's.
  }
  return true
}

/** Where the system shares the processor between sessions (autogroup), a priority counts within one only. It takes ten of these in a second. */
function lowerSession(pid: number, nice: number): boolean {
  const session = `/proc/${pid}/autogroup`
  try {
    const now = /nice (-?\d+)/.exec(readFileSync(session, 'latin1'))?.[1]
    if (now !== undefined && Number(now) < nice) writeFileSync(session, String(nice))
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code !== 'EAGAIN'
  }
}
