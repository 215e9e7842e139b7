import fc from 'fast-check'
import { expect, test } from 'vitest'
import { captureBothEnds } from './output.ts'

const marker = /\n?… (\d+) bytes left out …\n/

function kept(most: number, bytes: Buffer, cuts: readonly number[] = []) {
  const keeping = captureBothEnds(most)
  let from = 0
  for (const at of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    keeping.add(bytes.subarray(from, at))
    from = at
  }
  return keeping.end()
}

test('nothing is nothing', () => {
  expect(captureBothEnds(10).end()).toEqual({ text: '', bytes: 0, cut: false })
})

test('what fits is kept as it is, to the last byte', () => {
  for (let length = 0; length <= 20; length++)
    for (let most = length; most <= 21; most++) {
      const text = 'abcdefghijklmnopqrstuvwxyz'.slice(0, length)
      expect(kept(most, Buffer.from(text))).toEqual({ text, bytes: length, cut: false })
    }
})

test('what does not fit keeps both ends and says how much is missing, at every size', () => {
  const text = 'abcdefghijklmnopqrstuvwxyz'
  for (let most = 0; most < text.length; most++) {
    const head = text.slice(0, Math.ceil(most / 2))
    const tail = text.slice(text.length - Math.floor(most / 2))
    const between = `${head === '' ? '' : '\n'}… ${text.length - most} bytes left out …\n`
    expect(kept(most, Buffer.from(text))).toEqual({ text: `${head}${between}${tail}`, bytes: text.length, cut: true })
  }
})

test('a character is kept whole or not at all, wherever the cut falls', () => {
  for (const character of ['é', '汉', '😀', 'e\u0301'])
    for (const shift of ['', 'x', 'xx', 'xxx']) {
      const bytes = Buffer.from(shift + character.repeat(40))
      for (let most = 1; most < bytes.length; most++) {
        const { text, cut } = kept(most, bytes)
        expect(cut).toBe(true)
        expect(text).not.toContain('\ufffd')
        const [, missing] = marker.exec(text) ?? []
        const [head = '', tail = ''] = text.split(/\n?… \d+ bytes left out …\n/)
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + Number(missing)).toBe(bytes.length)
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(most)
        expect(bytes.toString().startsWith(head) && bytes.toString().endsWith(tail)).toBe(true)
      }
    }
})

test('how it comes in pieces makes no difference, bytes that are no text included', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(120), fc.array(fc.nat(400), { maxLength: 12 }), (given, most, cuts) => {
      const bytes = Buffer.from(given)
      const inside = cuts.filter((at) => at <= bytes.length)
      const found = kept(most, bytes, inside)
      expect(found).toEqual(kept(most, bytes))
      expect(found.bytes).toBe(bytes.length)
      expect(found.cut).toBe(bytes.length > most)
    }),
    { numRuns: 500 },
  )
})

test('characters that are cut between two pieces come out whole', () => {
  const bytes = Buffer.from('a汉b😀c')
  for (let at = 0; at <= bytes.length; at++) expect(kept(100, bytes, [at]).text).toBe('a汉b😀c')
})

test('a flood, a few bytes or a megabyte at a time, keeps the right ends', () => {
  for (const size of [7, 4_096, 1_048_576]) {
    const keeping = captureBothEnds(1_000)
    keeping.add(Buffer.from('START'))
    const count = Math.ceil(2_000_000 / size)
    for (let turn = 0; turn < count; turn++) keeping.add(Buffer.alloc(size, 'm'))
    keeping.add(Buffer.from('END'))
    const { text, bytes, cut } = keeping.end()
    expect({ bytes, cut }).toEqual({ bytes: count * size + 8, cut: true })
    expect(text.startsWith('STARTm')).toBe(true)
    expect(text.endsWith('mEND')).toBe(true)
    expect(text.length).toBeLessThan(1_100)
  }
})

test('pieces may be used again by whoever gave them', () => {
  const keeping = captureBothEnds(8)
  const piece = Buffer.from('abcd')
  keeping.add(piece)
  keeping.add(Buffer.from('middle, long enough to go'))
  const last = Buffer.from('wxyz')
  keeping.add(last)
  expect(keeping.end().text).toMatch(/^abcd\n.*\nwxyz$/)
  expect(piece.toString() + last.toString()).toBe('abcdwxyz')
})

test('only the newest is kept where no head is wanted', () => {
  const keeping = captureBothEnds(5, [], 0)
  keeping.add(Buffer.from('abcdefgh'))
  expect(keeping.end().text).toBe('… 3 bytes left out …\ndefgh')
  keeping.add(Buffer.from('ij'))
  expect(keeping.end()).toEqual({ text: '… 5 bytes left out …\nfghij', bytes: 10, cut: true })
})

test('secrets are left out wherever they stand whole, also across pieces, and the totals stay true', () => {
  const keeping = captureBothEnds(100, ['s3cret', '$&'])
  for (const piece of ['a s3c', 'ret b ', 's3crets3cret $& ', 's3cre t']) keeping.add(Buffer.from(piece))
  expect(keeping.end()).toEqual({ text: 'a [secret] b [secret][secret] [secret] s3cre t', bytes: 34, cut: false })
})

test('where the cut goes through a secret, no half of it is left', () => {
  const secret = 'ABCDEFGHIJKLMNOP'
  for (let at = 0; at < 60; at++) {
    const keeping = captureBothEnds(80, [secret])
    keeping.add(Buffer.from(`${'.'.repeat(at)}${secret}${'.'.repeat(300)}${secret}${'.'.repeat(at)}`))
    expect(keeping.end().text).not.toMatch(/[A-P]/)
  }
})
