import { PassThrough, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLines } from '../../src/surfaces/cli/chat/lines.ts'

/** Somebody at the terminal, in the place of this process's own. */
async function atTerminal(act: (keys: PassThrough) => Promise<void>): Promise<void> {
  const keys = new PassThrough()
  const before = (['stdin', 'stdout'] as const).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const)
  Object.defineProperty(process, 'stdin', { configurable: true, value: keys })
  Object.defineProperty(process, 'stdout', {
    configurable: true,
    value: new Writable({ write: (_piece, _kind, done) => done() }),
  })
  try {
    await act(keys)
  } finally {
    for (const [name, descriptor] of before) Object.defineProperty(process, name, descriptor as PropertyDescriptor)
  }
}

test('what was typed before a question was there is no answer to it, with or without its Enter', () =>
  atTerminal(async (keys) => {
    const lines = openLines([])
    // A model can write what looks like a question; the answer to that must not fall to the next real one.
    keys.write('y\r')
    await turn()
    keys.write('yes, do it')
    await turn()
    const answer = lines.ask('Agree? ')
    keys.write('\r')
    expect(await answer).toBe('')
    const next = lines.ask('Agree? ')
    keys.write('n, not that\r')
    expect(await next).toBe('n, not that')
    lines.close()
  }))
