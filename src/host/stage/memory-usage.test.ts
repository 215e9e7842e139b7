import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { treeOf } from '../running.ts'
import { memoryOf } from './memory-usage.ts'

const shared = 40_000_000
/** Forks children that read what it shares with them and end, six at a time, until it is told to stop. */
const churn = `
import mmap, os, select, sys
m = mmap.mmap(-1, ${shared})
for i in range(40): m.write(b"x" * 1000000)
print("up", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
  for i in range(6):
    if os.fork() == 0:
      sum(m[::4096]); os._exit(0)
  for i in range(6): os.wait()
`

test.skipIf(process.platform !== 'linux')(
  'memory that many share is counted once, also while they end',
  async () => {
    const child = spawn('/usr/bin/python3', ['-c', churn], { stdio: ['pipe', 'pipe', 'inherit'] })
    try {
      await once(child.stdout, 'data')
      let most = 0
      let together = 0
      for (let look = 0; look < 400; look++) {
        const tree = treeOf([child.pid as number], 64)
        together = Math.max(together, tree.length)
        most = Math.max(most, memoryOf(tree, 1))
        if (look % 50 === 0) await turn()
      }
      expect(together).toBeGreaterThan(4)
      // What is shared once, and what seven Pythons have of their own.
      expect(most).toBeGreaterThan(shared)
      expect(most).toBeLessThan(2 * shared)
    } finally {
      child.stdin.end('stop')
      await once(child, 'exit')
    }
  },
  60_000,
)
