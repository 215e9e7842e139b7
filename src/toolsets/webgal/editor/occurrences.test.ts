import { expect, test } from 'vitest'
import { newestReading } from '../grammar/parse.ts'
import { occurrencesIn, readStatements } from './occurrences.ts'

test('a speaker whose name is a variable is that variable, so that a rename takes it along', () => {
  const [one] = [...readStatements('{name}先生:你好，{name}。;', newestReading)]
  expect(one && occurrencesIn(one, newestReading).map(({ kind, name, at }) => [kind, name, at?.column])).toEqual([
    ['variable', 'name', 1],
    ['speaker', '{name}先生', 0],
    ['variable', 'name', 13],
  ])
})
