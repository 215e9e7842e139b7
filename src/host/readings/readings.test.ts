import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { picture } from '../../../test/support/picture.ts'
import { insideRows } from '../../text/printable.ts'
import { signedRows } from '../../text/rows.ts'
import { archiveRows } from './archive-rows.ts'
import { insideOf } from './inside.ts'
import { pictureKind } from './picture-kind.ts'

/** A tar as `tar` makes it, by hand: names, and contents of some length. */
function tar(files: Record<string, number>): Buffer {
  const parts = Object.entries(files).map(([name, size]) => {
    const head = Buffer.alloc(512)
    head.write(name, 0)
    head.write('0000644', 100)
    head.write(size.toString(8).padStart(11, '0'), 124)
    head.write('0', 156)
    head.write('ustar', 257)
    return Buffer.concat([head, Buffer.alloc(Math.ceil(size / 512) * 512, 1)])
  })
  return Buffer.concat([...parts, Buffer.alloc(1_024)])
}

/** A zip with nothing but what its list says. */
function zip(files: Record<string, number>): Buffer {
  const entries = Object.entries(files).map(([name, size]) => {
    const head = Buffer.alloc(46)
    head.writeUInt32LE(0x02014b50, 0)
    head.writeUInt32LE(size, 24)
    head.writeUInt16LE(Buffer.byteLength(name), 28)
    return Buffer.concat([head, Buffer.from(name)])
  })
  const list = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(4, 16)
  return Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4]), list, end])
}

const none = Buffer.alloc(0)

test('archives are told as the files in them: what comes, what goes, what is of another size', () => {
  for (const make of [tar, zip, (files: Record<string, number>) => gzipSync(tar(files))]) {
    const rows = archiveRows(make({ 'a.txt': 5, 'gone.txt': 1 }), make({ 'a.txt': 6, 'sub/new.sh': 700 })) ?? []
    expect(rows.map((row) => row.split(/ bytes/)[0])).toEqual(['- a.txt 5', '+ a.txt 6', '- gone.txt 1', '+ sub/new.sh 700'])
    expect(archiveRows(none, make({ 'a.txt': 5 }))).toHaveLength(1)
  }
})

test('what is no archive, is torn, or unpacks to more than anybody reads is not told as one', () => {
  expect(archiveRows(none, Buffer.from('plain words, and more of them'))).toBeUndefined()
  expect(archiveRows(none, gzipSync(Buffer.alloc(50_000_000)))).toBeUndefined()
  expect(archiveRows(none, none)).toBeUndefined()
  const torn = zip({ 'a.txt': 5, 'b.txt': 6 })
  torn.writeUInt32LE(0xffffff00, torn.length - 6)
  expect(archiveRows(none, torn)).toBeUndefined()
  expect(
    insideOf('archive', archiveRows(none, tar(Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`f${at}`, 0]))))),
  ).toMatchObject({
    inside: { what: 'archive', more: 700 },
  })
})

test('what some program would unpack stands on the card, or nothing of it does', () => {
  const plain = { 'a.txt': 5 }
  // Content of the same length.
  const other = tar(plain)
  other[512] = 2
  expect(archiveRows(tar(plain), other)).toHaveLength(2)
  // A name in an entry of its own.
  const header = (kind: string, content: string): Buffer => {
    const one = tar({ x: Buffer.byteLength(content) }).subarray(0, -1_024)
    one.write(kind, 156)
    one.fill(0, 512).write(content, 512)
    return one
  }
  const evil = '../../.bashrc'
  for (const named of [header('L', `${evil}\0`), header('x', `${evil.length + 9} path=${evil}\n`)])
    expect(archiveRows(none, Buffer.concat([named, tar({ README: 3 })]))).toEqual([
      expect.stringMatching(/^\+ \.\.\/\.\.\/\.bashrc 3 bytes/),
    ])
  for (const odd of [header('x', '11 size=99\n'), header('g', '12 path=evil\n'), header('x', '99 path=')])
    expect(archiveRows(none, Buffer.concat([odd, tar({ README: 3 })]))).toBeUndefined()
  // More behind the end.
  expect(archiveRows(none, Buffer.concat([tar(plain), tar({ evil: 5 })]))).toBeUndefined()
  expect(archiveRows(none, tar(plain).subarray(0, 514))).toBeUndefined()
  // Twice the same name, an end within the end, one that is not counted, more than are listed.
  const twice = zip({ 'a.txt': 5, 'b.txt': 6 })
  twice.write('a.txt', twice.lastIndexOf('b.txt'))
  expect(archiveRows(zip(plain), twice)).toEqual([expect.stringMatching(/^\+ a\.txt \(2\) 6 bytes/)])
  const ended = zip(plain)
  ended.writeUInt16LE(22, ended.length - 2)
  expect(archiveRows(none, Buffer.concat([ended, zip({ evil: 1 }).subarray(-22)]))).toBeUndefined()
  const uncounted = zip({ 'a.txt': 5, evil: 6 })
  uncounted.writeUInt16LE(1, uncounted.length - 12)
  expect(archiveRows(none, uncounted)).toBeUndefined()
  const many = (count: number): Buffer => zip(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, 0])))
  expect(archiveRows(many(5_000), many(5_001))).toBeUndefined()
})

test('a name in an archive is one row, and nothing in it moves a cursor or turns a line around', () => {
  const names = ['a\n+ forged 5', 'b\r@@ 3 more @@', '\u001b[2Jc', 'd\u202egnp.exe', 'e\u2028f\u0085g']
  const { inside } = insideOf('archive', archiveRows(none, zip(Object.fromEntries(names.map((name) => [name, 1])))))
  const rows = insideRows(inside ? { inside } : {}).flatMap((row) => signedRows(row, 100))
  expect(rows).toHaveLength(1 + names.length)
  for (const { text } of rows) expect(text).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u)
})

test('a picture is known by its bytes; what is larger than a browser should decode is none', () => {
  expect(pictureKind(picture(40, 30, [1, 2, 3]))).toEqual({ type: 'image/png', width: 40, height: 30 })
  const huge = picture(1, 1, [0, 0, 0])
  huge.writeUInt32BE(100_000, 16)
  huge.writeUInt32BE(100_000, 20)
  expect(pictureKind(huge)).toBeUndefined()
  expect(pictureKind(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"></svg>'))).toBeUndefined()
  expect(pictureKind(Buffer.concat([Buffer.from('GIF89a'), Buffer.from([2, 0, 3, 0]), Buffer.alloc(30)]))).toMatchObject({
    width: 2,
    height: 3,
  })
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 7, 0, 9, ...Array<number>(20).fill(0)])
  expect(pictureKind(jpeg)).toEqual({ type: 'image/jpeg', width: 9, height: 7 })
})

test('no bytes whatever make reading throw', () => {
  const starts = [
    [],
    [0xff, 0xd8],
    [0x50, 0x4b, 3, 4],
    [0x1f, 0x8b],
    [...Buffer.from('GIF89a')],
    [...Buffer.from('RIFF....WEBPVP8X')],
  ]
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 800 }), (start, rest) => {
      const bytes = Buffer.from([...start, ...rest])
      pictureKind(bytes)
      archiveRows(none, bytes)
    }),
    { numRuns: 300 },
  )
})
