import { afterEach, expect, test, vi } from 'vitest'
import { rarely } from './serve.ts'

afterEach(() => void vi.useRealTimers())

test('what anybody may ask is asked once a second of whoever must be asked, however many ask, and however long the answer takes', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const answers: ((is: boolean) => void)[] = []
  const ask = rarely(() => new Promise<boolean>((resolve) => void answers.push(resolve)))
  const first = [ask(), ask()]
  vi.advanceTimersByTime(5_000)
  first.push(ask())
  expect(answers).toHaveLength(1)
  answers[0]?.(true)
  expect(await Promise.all(first)).toEqual([true, true, true])
  vi.advanceTimersByTime(999)
  expect(await ask()).toBe(true)
  vi.advanceTimersByTime(1)
  const second = ask()
  answers[1]?.(false)
  expect(await second).toBe(false)
  expect(answers).toHaveLength(2)
})
