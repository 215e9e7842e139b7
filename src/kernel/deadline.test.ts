import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { deadline } from './deadline.ts'

test('nothing stays on the signal of the caller, nor on its own, once it is over', async () => {
  const { signal } = new AbortController()
  for (let times = 0; times < 20; times++) {
    const limit = deadline(60_000, signal)
    const own = limit.signal()
    expect(await limit.within(Promise.resolve(times))).toBe(times)
    await expect(limit.within(Promise.reject(new Error('no')))).rejects.toThrow('no')
    await new Promise((resolve) => setImmediate(resolve))
    expect(getEventListeners(own, 'abort')).toEqual([])
    limit.done()
  }
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('the reason of the caller is passed on', async () => {
  const stop = new AbortController()
  const limit = deadline(60_000, stop.signal)
  const doing = limit.within(new Promise(() => undefined))
  stop.abort(new Error('enough'))
  await expect(doing).rejects.toThrow('enough')
  expect(limit.signal().reason).toEqual(new Error('enough'))
  limit.done()
})
