import { expect, test } from 'vitest'
import { openCrashSuspects } from './crash-suspects.ts'

test('whoever ends browsers has one of their own after a few of them, and nobody else is with them', () => {
  const holders = Array.from({ length: 16 }, (_, n) => `client ${n}`)
  for (const culprit of holders) {
    const suspects = openCrashSuspects()
    let crashes = 0
    const beside = (): string[] => holders.filter((one) => suspects.whichFor(one) === suspects.whichFor(culprit))
    while (beside().length > 1 && crashes < 20) {
      suspects.crashed(beside())
      crashes++
    }
    expect(beside()).toEqual([culprit])
    expect(suspects.whichFor(culprit)).toBe('apart')
    expect(crashes).toBeLessThanOrEqual(6)
    suspects.crashed([culprit, 'a newcomer'])
    expect(suspects.whichFor('a newcomer'), 'who it is, is known').toBe('usual')
    expect(suspects.whichFor(undefined)).toBe('usual')
  }
})

test('two of them, one after the other, are both kept apart', () => {
  const suspects = openCrashSuspects()
  suspects.crashed(['one'])
  suspects.crashed(['one'])
  suspects.crashed(['two'])
  expect(['one', 'two', 'three'].map(suspects.whichFor)).toEqual(['apart', 'apart', 'usual'])
})

test('a suspicion ends, and there are never very many', () => {
  let time = 0
  const suspects = openCrashSuspects(() => time)
  suspects.crashed(['one'])
  expect(suspects.whichFor('one')).toBe('apart')
  time = 1_800_001
  expect(suspects.whichFor('one')).toBe('usual')
  for (let n = 0; n < 1_000; n++) suspects.crashed([`many ${n}`])
  expect(suspects.whichFor('many 0')).toBe('usual')
  expect(suspects.whichFor('many 999')).toBe('apart')
})
