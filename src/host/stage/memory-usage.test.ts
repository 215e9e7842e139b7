import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { treeOf } from '../running.ts'
import { memoryOf } from './memory-usage.ts'
import { sweep } from '../../../test/support/soak.ts'

const shared = 40_000_000
/**
 * Forks six children that read what it shares with them and stay until they are told to go. Then children that end when they have read it, six at a
 * time, until it is told to stop.
 */
const churn = `
import mmap, os, select, sys
m = mmap.mmap(-1, ${shared})
for i in range(40): m.write(b"x" * 1000000)
go, going = os.pipe()
ready, readying = os.pipe()
for i in range(6):
  if os.fork() == 0:
    os.close(going); sum(m[::4096]); os.write(readying, b"r"); os.read(go, 1); os._exit(0)
for i in range(6): os.read(ready, 1)
print("up", flush=True)
sys.stdin.readline()
os.close(going)
for i in range(6): os.wait()
while not select.select([sys.stdin], [], [], 0)[0]:
  for i in range(6):
    if os.fork() == 0:
      sum(m[::4096]); os._exit(0)
  for i in range(6): os.wait()
`

test.skipIf(process.platform !== 'linux')('memory that many share is counted once, also while they end', async () => {
  const child = spawn('/usr/bin/python3', ['-c', churn], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(child.stdout, 'data')
    const here = (): number[] => treeOf([child.pid as number], 64)
    expect(here()).toHaveLength(7)
    // What is shared once, and what seven Pythons have of their own.
    const atRest = await memoryOf(here(), 1)
    expect(atRest).toBeGreaterThan(shared)
    expect(atRest).toBeLessThan(2 * shared)
    child.stdin.write('go\n')
    let most = 0
    let before = 0
    for (let look = 0; look < sweep(400, 50); look++) {
      const now = await memoryOf(here(), 1)
      // One look may find too much, two in a row do not.
      most = Math.max(most, Math.min(now, before))
      before = now
    }
    expect(most).toBeLessThan(2 * shared)
  } finally {
    child.stdin.end('stop')
    await once(child, 'exit')
  }
})

/** Maps the same memory again and again: little of it, and very much to walk through. */
const wide = `
import mmap, os, sys
f = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR); os.truncate(f, 50000000)
all = [mmap.mmap(f, 50000000) for i in range(40)]
for m in all: sum(m[::4096])
print("up", flush=True); sys.stdin.read()
`

test.skipIf(process.platform !== 'linux')('others go on while the system counts', async () => {
  const child = spawn('/usr/bin/python3', ['-c', wide], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(child.stdout, 'data')
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const bytes = await memoryOf([child.pid as number], 1)
    clearInterval(timer)
    expect(bytes).toBeGreaterThan(50_000_000)
    expect(turns).toBeGreaterThan(2)
  } finally {
    child.stdin.end()
    await once(child, 'exit')
  }
})
