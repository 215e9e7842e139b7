import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repository } from '../support/world.ts'

const sources = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => ({ name, text: readFileSync(join(repository, 'src', name), 'utf8') }))

const linesWith = (pattern: RegExp, allowed: RegExp): string[] =>
  sources
    .filter(({ name }) => !allowed.test(name))
    .flatMap(({ name, text }) => text.split('\n').flatMap((line) => (pattern.test(line) ? [`${name}: ${line.trim()}`] : [])))

test('codes of contract 000 stand in its table and in the words of its surface, nowhere else', () => {
  expect(
    linesWith(
      /\bE_(DENY|NOT|IO|TOO|ENC|PARSE|LINT|CONF|PREV|TIME|POL|TOOL|UNS|BAD|INT)[A-Z_]*\b/,
      /^(contracts\/faults|surfaces)\//,
    ),
  ).toEqual([])
})

test('nothing decides by reading a message', () => {
  // Ours, and those of others as far as they can be told by their names and codes.
  const reads =
    /(\bmessage|\.ended|\.hint)\)?\.(startsWith|endsWith|includes|match|search|replace)\(|\.test\([^'"]*\.message\)|\.message [!=]==/
  // What a page prints to its console, and how the reader of TOML begins a sentence: left out of what is shown, nothing hangs on it.
  const shown = /^host\/(preview\/open-scene|client-config-toml)\.ts$/
  expect(linesWith(reads, shown)).toEqual([])
})
