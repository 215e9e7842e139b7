import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { afterEach, beforeEach } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** What the test took of the processors, the programs that it ran to their end included; absent where tests share a process. */
    processorMs?: number
  }
}

/** The system counts in hundredths of a second. */
const tickMs = 10

/** Of this process, and of those that it started and has seen the end of. */
function usedMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * tickMs, 0)
}

// Before every test file: `node scripts/slowest.mjs` reads it from the report. Threads have no time of their own.
if (isMainThread && process.platform === 'linux') {
  let before = 0
  beforeEach(() => {
    before = usedMs()
  })
  afterEach(({ task }) => {
    task.meta.processorMs = usedMs() - before
  })
}
