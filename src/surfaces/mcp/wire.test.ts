import { expect, test } from 'vitest'
import { drawBytes, draws } from '../../../test/support/seed.ts'
import { toResult } from './dialect.ts'
import { toWire } from './wire.ts'

const messageOf = (output: Record<string, unknown>, id: string | number = 7): object => ({
  jsonrpc: '2.0',
  id,
  result: toResult(output, 'call_1'),
})
const lineOf = (message: object): string => toWire(message).toString()

/** Every kind of character there is to JSON and to UTF-8: quotes, controls, one to four bytes. */
const letters = ['"', '\\', '/', '\n', '\t', '\0', '\u001f', '\u007f', 'a', ' ', 'é', '\u2028', '海', '😀']

/** Mostly plain letters, since four of those go at once, or mostly others. */
function drawText(purpose: string, length: number): string {
  const bytes = drawBytes(`wire ${purpose}`, length + 1)
  const most = (bytes[0] as number) % 2 ? 200 : 20
  return [...bytes.subarray(1)].map((byte) => letters[byte % most] ?? 'x').join('')
}

test('an answer on the wire is, byte for byte, what JSON.stringify makes of it', () => {
  const below = draws('wire')
  for (let round = 0; round < 60; round++) {
    const output: Record<string, unknown> = {
      path: drawText(`path ${round}`, below(20)),
      content: drawText(`content ${round}`, 4_096 + below(round === 0 ? 60_000 : 8_000)),
      ...(below(2) === 0 && { encoding: 'utf-8', nothing: undefined, bytes: below(1e6), list: [drawText('list', 9), null] }),
    }
    const message = messageOf(output, below(2) === 0 ? round : drawText('id', 5))
    expect(lineOf(message)).toBe(JSON.stringify(message))
  }
})

test('at every length, a character that needs more than one byte or an escape is the last one', () => {
  for (const letter of letters)
    for (let more = 0; more < 8; more++) {
      const message = messageOf({ content: 'x'.repeat(4_096 + more) + letter })
      expect(lineOf(message)).toBe(JSON.stringify(message))
    }
})

test('the shortest, the longest, the only and the last field, and a text of controls alone', () => {
  const shapes: Record<string, unknown>[] = [
    { content: 'x'.repeat(4_095) },
    { content: 'x'.repeat(65_536) },
    { content: '\u0001'.repeat(65_536) },
    { content: '海'.repeat(65_536) },
    { content: 'x'.repeat(65_537) },
    { a: 1, content: 'x'.repeat(5_000) },
    { content: 'x'.repeat(5_000), nothing: undefined },
    { nothing: undefined, content: 'x'.repeat(5_000) },
    { '"odd" \n name': 'x'.repeat(5_000), 7: 'y'.repeat(5_000) },
    { ok: true },
  ]
  for (const shape of shapes) expect(lineOf(messageOf(shape))).toBe(JSON.stringify(messageOf(shape)))
})

test('half of a surrogate pair is written as JSON writes it', () => {
  const message = messageOf({ content: `${'x'.repeat(5_000)}\ud83d` })
  expect(lineOf(message)).toBe(JSON.stringify(message))
})

test('two answers made one after the other do not share their bytes', () => {
  const [one, two] = ['a', 'b'].map((letter) => messageOf({ content: letter.repeat(5_000) })) as [object, object]
  const [first, second] = [toWire(one), toWire(two)]
  expect([first.toString(), second.toString()]).toEqual([JSON.stringify(one), JSON.stringify(two)])
})

test('messages that are no answers of ours are left as they are', () => {
  for (const message of [
    { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'x'.repeat(9_000) }], structuredContent: { a: 'x' } } },
    { jsonrpc: '2.0', id: 1, result: { tools: [] } },
    { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } },
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } },
  ])
    expect(lineOf(message)).toBe(JSON.stringify(message))
})
