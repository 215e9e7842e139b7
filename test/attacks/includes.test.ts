import { mkdirSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { expand, whatRuns } from '../../src/text/files-that-run/index.ts'
import { includeNames, includeRowOf, includesIn } from '../../src/text/files-that-run/includes.ts'
import { openWorld, type World } from '../support/world.ts'

// What a file that runs takes in is part of it, whatever it is called.

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
let notes = ''
let count = 0
async function write(world: World, path: string, agree = false): Promise<string> {
  const input = { path, content: `x ${count++}\n`, dryRun: false }
  notes = ''
  try {
    await world.call('write_to_file', input)
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') throw fault
    notes = world.runtime.approvals.get(id)?.card.notes?.join('\n') ?? ''
    world.runtime.approvals.decide(id, { approve: agree, by: 'test' })
    // The next write is judged for itself, and not for this no.
    if (!agree) world.runtime.approvals.lift(id, 'test')
    if (agree) await world.call('write_to_file', input)
    return 'asked'
  }
}

/** Who takes in, how it says so, what is part of it, and what is not. */
const cases: [file: string, text: string, asks: string, free?: string][] = [
  ['Makefile', 'include rules.txt more.inc\n', 'more.inc', 'other.inc'],
  ['Makefile', 'all:\n\ttrue\n-include $(TOP)/mk/rules.txt # local\n', 'mk/rules.txt'],
  ['GNUmakefile', '  sinclude ./a b\n', 'b'],
  ['Makefile', 'include mk/*.inc\n', 'mk/new.inc', 'new.inc'],
  ['sub/Makefile', 'include ../rules.txt\n', 'rules.txt', 'sub/rules.txt'],
  ['BSDmakefile', '.include "rules.txt"\n', 'rules.txt'],
  ['CMakeLists.txt', 'include("${CMAKE_SOURCE_DIR}/build/flags.txt" OPTIONAL)\n', 'build/flags.txt'],
  ['justfile', "import 'just/common.txt'\nmod deploy 'ops/deploy.txt'\n", 'ops/deploy.txt'],
  ['Taskfile.yml', "version: '3'\nincludes:\n  docs:\n    taskfile: ./ops/docs.txt\n", 'ops/docs.txt'],
  ['Taskfile.yml', "version: '3'\nincludes:\n  docs: ./ops/docs.txt\n", 'ops/docs.txt'],
  ['tsconfig.json', '{ "extends": ["./ts/base", "@tsconfig/node20"] }', 'ts/base.json', 'ts/other.json'],
  ['tsconfig.json', '{ "compilerOptions": { "plugins": [{ "name": "./ts/plugin" }] } }', 'ts/plugin.js'],
  ['.gitlab-ci.yml', "include:\n  - local: '/ci/build.txt'\n  - '/ci/test.txt'\n", 'ci/test.txt'],
  ['.gitlab-ci.yml', 'include: ci/all.txt\n', 'ci/all.txt'],
  ['compose.yaml', 'include:\n  - ops/db.txt\nservices:\n  a:\n    build: .\n', 'ops/db.txt'],
  ['docker-compose.yml', 'services:\n  a:\n    extends:\n      file: ops/base.txt\n', 'ops/base.txt'],
  ['docker-compose.yml', 'services:\n  a:\n    build:\n      dockerfile: ops/image.txt\n', 'ops/image.txt'],
  [
    'vite.config.ts',
    "import { a } from './build/plugin'\nexport default { root: './src/app.ts' }\n",
    'build/plugin.ts',
    'src/app.ts',
  ],
  ['eslint.config.js', "const own = require('./lint/rules.cjs')\n", 'lint/rules.cjs'],
  ['.eslintrc.json', '{ "extends": ["./lint/base.json", "standard"] }', 'lint/base.json'],
  [
    'package.json',
    '{ "eslintConfig": { "extends": "./lint/base" }, "exports": { "require": "./out.cjs" } }',
    'lint/base.js',
    'out.cjs',
  ],
  ['jest.config.js', "module.exports = { globalSetup: './test/setup.js' }\n", 'test/setup.js'],
  ['conftest.py', 'pytest_plugins = ["tests.fixtures"]\n', 'tests/fixtures.py', 'tests/test_a.py'],
  ['pytest.ini', '[pytest]\naddopts = -p tests.plugin\n', 'tests/plugin.py'],
  ['mypy.ini', '[mypy]\nplugins = ./typing_plugin.py\n', 'typing_plugin.py'],
  ['requirements.txt', '-r deps/base.in\nflask\n', 'deps/base.in'],
  ['mkdocs.yml', 'site_name: a\nhooks:\n  - docs/hooks.py\n', 'docs/hooks.py'],
  ['Rakefile', "require_relative 'lib/tasks'\nload 'ops/deploy.txt'\n", 'lib/tasks.rb'],
  ['Gemfile', "eval_gemfile 'gems/dev.txt'\n", 'gems/dev.txt'],
  ['build.gradle', "apply from: 'gradle/publish.txt'\n", 'gradle/publish.txt'],
  ['build.gradle.kts', 'apply(from = "gradle/publish.txt")\n', 'gradle/publish.txt'],
  ['a.csproj', '<Project><Import Project="build\\own.txt" /></Project>\n', 'build/own.txt'],
  ['flake.nix', '{ outputs = _: import ./nix/all.txt; }\n', 'nix/all.txt'],
  ['SConstruct', "SConscript(['src/build.txt'])\n", 'src/build.txt'],
  ['Snakefile', 'include: "rules/align.txt"\n', 'rules/align.txt'],
  ['phpunit.xml', '<phpunit bootstrap="tests/start.php"></phpunit>\n', 'tests/start.php'],
]

test('each way to take in a file, in a folder of its own', async () => {
  const files = Object.fromEntries(cases.map(([file, text], at) => [`c${at}/${file}`, text]))
  await using world = await openWorld({ flags, files })
  for (const [at, [file, text, asks, free = 'plain/other.txt']] of cases.entries()) {
    expect([file, text, await write(world, `c${at}/${asks}`)]).toEqual([file, text, 'asked'])
    expect(notes).toMatch(/(is|may be) included by /)
    expect(notes).toContain(whatRuns(file)?.when)
    expect([file, text, await write(world, `c${at}/${free}`)]).toEqual([file, text, 'done'])
  }
})

test('what is taken in takes in others, also once it is there, and no longer once nobody takes it in', async () => {
  await using world = await openWorld({ flags, files: { Makefile: 'include a.txt\n', 'a.txt': 'include mk/b.txt\n' } })
  expect(await write(world, 'mk/b.txt')).toBe('asked')
  expect(notes).toContain('mk/b.txt: is included by Makefile')
  expect(await write(world, 'mk/c.txt')).toBe('done')
  mkdirSync(world.path('mk'), { recursive: true })
  writeFileSync(world.path('mk/b.txt'), 'include mk/c.txt\n')
  expect(await write(world, 'mk/c.txt')).toBe('asked')
  writeFileSync(world.path('a.txt'), '\n')
  expect(await write(world, 'mk/c.txt')).toBe('done')
  // In a circle, and far beyond any bound.
  const many = Object.fromEntries(
    Array.from({ length: 1_200 }, (_, n) => [`far/${n}.txt`, `include far/${n + 1}.txt far/0.txt\n`]),
  )
  for (const [path, text] of Object.entries(many)) world.write(path, text)
  writeFileSync(world.path('a.txt'), 'include far/0.txt a.txt Makefile\n')
  expect(await write(world, 'far/3.txt')).toBe('asked')
  expect(await write(world, 'far/1199.txt')).toBe('done')
})

test('once for a session, and with its own reason', async () => {
  await using world = await openWorld({ flags, files: { Makefile: 'include a.txt\n' } })
  expect(await write(world, 'a.txt', true)).toBe('asked')
  expect(await write(world, 'a.txt')).toBe('done')
  world.write('vite.config.ts', "import './a.txt'\n")
  world.write('Makefile', '\n')
  expect(await write(world, 'a.txt')).toBe('asked')
})

test('every file that takes others in is one that runs; no text keeps its reader busy', () => {
  for (const name of includeNames().flatMap(expand))
    expect([name, whatRuns(name.replace('*', 'x'))?.class]).not.toContain(undefined)
  const rows = new Set(includeNames().map((name) => includeRowOf(expand(name)[0]?.replace('*', 'x') ?? '')))
  for (const row of rows) {
    if (!row) throw new Error('a name that no row fits')
    for (const part of [
      'include ',
      'include:\n',
      '  - ',
      'plugins = \n ',
      "import '",
      '"extends": [',
      '(',
      '\t',
      '\n',
      '<Import ',
      './a ',
    ])
      expect(includesIn(row, part.repeat(200_000 / part.length)).length).toBeLessThanOrEqual(500)
  }
})
