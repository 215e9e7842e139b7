import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sweep } from '../../test/support/soak.ts'
import { processName, treeOf } from './running.ts'

/** Has a child, and threads that start and end all the time, in a function of the C library. */
const churn = `
import ctypes, os, select, sys, time
lib = ctypes.CDLL(None); lib.pthread_create.argtypes = [ctypes.c_void_p] * 4
child = os.fork()
if child == 0: sys.stdin.read(); os._exit(0)
attr = ctypes.create_string_buffer(64); lib.pthread_attr_init(attr); lib.pthread_attr_setdetachstate(attr, 1); lib.pthread_attr_setstacksize(attr, 65536)
thread = ctypes.create_string_buffer(8); to = ctypes.cast(lib.usleep, ctypes.c_void_p).value
print(child, flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
  for i in range(50): lib.pthread_create(ctypes.addressof(thread), ctypes.addressof(attr), to, 1500)
`

test.skipIf(process.platform !== 'linux')('a thread that ends while it is looked hides nobody’s children', async () => {
  const parent = spawn('/usr/bin/python3', ['-c', churn], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    const [said] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(said.toString())
    let missed = 0
    for (let look = 0; look < sweep(2_000, 400); look++) {
      if (!treeOf([parent.pid as number], 10).includes(pid)) missed++
      if (look % 50 === 0) await turn()
    }
    expect(missed).toBe(0)
  } finally {
    parent.stdin.end('stop')
    await once(parent, 'exit')
  }
})

/** Has a child that has ended, and does not ask how. */
const unasked = `
import os, sys
child = os.fork()
if child == 0: os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(child, flush=True)
sys.stdin.read()
`

test.skipIf(process.platform !== 'linux')(
  'one that has ended runs no more, though its parent never asks for its exit code',
  async () => {
    const parent = spawn('/usr/bin/python3', ['-c', unasked], { stdio: ['pipe', 'pipe', 'inherit'] })
    try {
      const [said] = (await once(parent.stdout, 'data')) as [Buffer]
      const pid = Number(said.toString())
      expect([existsSync(`/proc/${pid}`), processName(pid)]).toEqual([true, undefined])
      expect(processName(parent.pid as number)).toMatch(/^\d+-\d+$/)
    } finally {
      parent.stdin.end()
      await once(parent, 'exit')
    }
  },
)
