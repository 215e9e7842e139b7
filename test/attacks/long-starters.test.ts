import { expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { openWorld } from '../support/world.ts'

/** What is too long or too much to be looked at may name anything: nothing of it is passed over in silence. */

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
const long = (line: string): string => line.repeat(Math.ceil(70_000 / line.length))
const repository = { '.git/HEAD': 'ref: refs/heads/main\n' }

const cases: Record<string, Record<string, string>> = {
  'a hook of git': { ...repository, '.git/hooks/pre-commit': `#!/bin/sh\n${long('# a comment\n')}sh tools/late.txt\n` },
  'settings of git': {
    ...repository,
    '.git/config': `[alias]\n${long('\tst = "!echo a.b c.d e.f g.h i.j k.l"\n').repeat(2)}[alias]\n\tzz = "!sh tools/late.txt"\n`,
  },
  'recipes that a hook calls': {
    '.husky/pre-commit': 'make check\n',
    Makefile: `check:\n${long('\t@true # no\n')}\tsh tools/late.txt\n`,
  },
  'a script that a hook calls': {
    '.husky/pre-commit': 'npm run check\n',
    'package.json': JSON.stringify({ scripts: { check: `${long('true a b; ')}sh tools/late.txt` } }),
  },
  'a text that is long once names in it are whole': {
    '.husky/pre-commit': `${'~/a '.repeat(16_000)}\nsh tools/late.txt\n`,
  },
  'one hook among a thousand files': {
    ...repository,
    '.git/config': '[core]\n\thooksPath = many\n',
    ...Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`many/a${n}`, ''])),
    'many/pre-commit': '#!/bin/sh\nsh tools/late.txt\n',
  },
}

test.for(Object.keys(cases))('%s', async (name) => {
  await using world = await openWorld({ flags, files: cases[name] ?? {} })
  const input = { path: 'tools/late.txt', content: 'x\n', dryRun: false }
  const fault = await world.call('write_to_file', input).catch((one: unknown) => one)
  expect(fault).toBeInstanceOf(Fault)
  expect((fault as Fault).details).toHaveProperty('approvalId')
})
