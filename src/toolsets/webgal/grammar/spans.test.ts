import { expect, test } from 'vitest'
import { draws } from '../../../../test/support/seed.ts'
import { choiceSpans, occurrencesIn, readStatements } from '../editor/occurrences.ts'
import { foldLines } from './fold.ts'
import { newestReading, parseChoices, parseStatement } from './parse.ts'
import { placeIn, spansOf } from './spans.ts'

const pieces = [
  'a',
  '海',
  '😀',
  ':',
  ';',
  '\\;',
  ' -',
  '-',
  '=',
  ' ',
  '|',
  '->',
  '(',
  ')',
  '[',
  ']',
  '{x}',
  'choose',
  'setVar',
  '\\',
  '.txt',
]
const line = (next: (below: number) => number): string =>
  Array.from({ length: 1 + next(14) }, () => pieces[next(pieces.length)]).join('')

test('spans cut a statement where the parser does, whatever it is', () => {
  const next = draws('spans')
  for (let round = 0; round < 1_000; round++) {
    const text = line(next)
    const parsed = parseStatement(text, 1, 1, newestReading)
    if (parsed.command === 'comment') continue
    const spans = spansOf(text)
    const said = ({ start, end }: { start: number; end: number }): string => text.slice(start, end).replaceAll('\\;', ';')
    expect([text, said(spans.head), said(spans.content)]).toEqual([text, parsed.head, parsed.content])
    expect([text, spans.args.length]).toEqual([text, parsed.args.length])
    for (const [index, { key, raw }] of parsed.args.entries()) {
      const own = spans.args[index]
      if (own && key !== 'vocal') expect([text, said(own.key), raw.includes('=')]).toEqual([text, key, own.value !== undefined])
    }
    const choices = parseChoices(parsed.content)
    const found = choiceSpans(text, spans.content)
    if (!text.includes('\\;'))
      expect([text, found.map(({ target }) => said(target))]).toEqual([text, choices.map(({ target }) => target)])
  }
})

test('every place in a statement over several lines is where the file has it', () => {
  const next = draws('folded spans')
  const wrong: unknown[] = []
  for (let round = 0; round < 200; round++) {
    const text = Array.from({ length: 1 + next(5) }, () => (next(2) === 0 ? '  -' : '') + line(next)).join('\n')
    const lines = text.split('\n')
    for (const folded of foldLines(text))
      for (let at = 0; at < folded.text.length; at++) {
        if (!folded.pieces) continue
        const place = placeIn(folded.pieces, folded.line, at)
        // The blank that is put before an argument stands in no line.
        if (folded.text[at] !== ' ' && lines[place.line - 1]?.[place.column] !== folded.text[at]) wrong.push({ text, at })
      }
    for (const read of readStatements(text, newestReading))
      for (const { at, name } of occurrencesIn(read, newestReading))
        if (at && lines[at.line - 1]?.slice(at.column, at.endColumn) !== name) wrong.push({ text, name })
  }
  expect(wrong).toEqual([])
})
