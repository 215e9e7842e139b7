import { expect, test } from 'vitest'
import { terminalJson } from './terminal-json.ts'

test('nothing that a terminal obeys or hides is printed raw, and the value is the same', () => {
  const evil = 'E\x1b[2J\u009b31m\u202e\u2066\u200b\u200d\u{e0041}\u2028\u2029\r\n\x7f\u00ad\u180e\ufeff\u061c\u115f"\\ 你好 🙂 é'
  for (const indent of [undefined, 2]) {
    const text = terminalJson({ [evil]: [evil, 1, null] }, indent)
    expect(JSON.parse(text)).toEqual({ [evil]: [evil, 1, null] })
    expect(text).not.toMatch(
      /[\0-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/u,
    )
    expect(text).toContain('你好 🙂 é')
  }
})
