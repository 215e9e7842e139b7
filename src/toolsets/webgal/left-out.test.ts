import { expect, test } from 'vitest'
import { leftOutIn, leftOutSentence } from './left-out.ts'

test('what is left out is said in one language, with what stands in it', () => {
  const path = 'game/scene/a of b only the first 3 entries'
  const said = [
    leftOutSentence('Of {path} only the first {n} entries were looked at.', { path, n: 7 }),
    leftOutSentence('{name}: only the first {n} of {all} are listed.', { name: 'unused', n: 2, all: 9 }),
    leftOutSentence('Only the first {n} of {all} scenes were read.', { n: 5, all: 6 }),
    'something of somebody else’s',
  ]
  expect(leftOutIn('EN', said)).toEqual(said)
  expect(leftOutIn('ZH', said)).toEqual([
    `${path} 里只看了前 7 项。`,
    'unused：9 个里只列出前 2 个。',
    '6 个场景里只读了前 5 个。',
    'something of somebody else’s',
  ])
})
