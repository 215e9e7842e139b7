import { expect, test } from 'vitest'
import type { Files } from '../../src/host/files.ts'
import { compareArtifacts, readArtifacts } from '../../src/surfaces/cli/plane/artifact-folders.ts'
import { eachNode, type Node } from '../../src/toolsets/workspace/anchors/syntax.ts'
import { framesOf, readers, readPlainText } from '../../src/toolsets/workspace/checks/diagnostics.ts'
import { planCheck } from '../../src/toolsets/workspace/checks/plan.ts'
import { resultOf } from '../../src/toolsets/workspace/checks/results.ts'

// A project's own tools say what they like about it, and its files hold what they like: Handrail reads it beside everybody's calls.
// Where a pattern goes over a text again from each of its signs, these do not come to an end within anybody's patience.

const many = 200_000

test('what a check printed is looked through once, whatever it is', () => {
  for (const sign of ['(', '[', '.', 'a.js:1', '(a.ts:', '/', '"', ' ', '\n', '(1,', '(1', ' at ', '\u001B[1'])
    readPlainText(sign.repeat(many / sign.length))
  for (const sign of ['(', ':1', '\n', ' ', '\n at (', '(a:1:1', 'file://', ' at async '])
    framesOf(`Error\n    at ${sign.repeat(many / sign.length)}`)
  for (const message of ['\n'.repeat(many), `\n${' '.repeat(many)}`])
    readers['jest']?.({ testResults: [{ assertionResults: [{ status: 'failed', failureMessages: [message] }] }] })
  expect(readPlainText('wrong (src/a.ts:1:2), x:((src/(shop)/b.ts:3:4)\n"c.mjs:5:6"')).toMatchObject([
    { file: 'src/a.ts', line: 1, message: 'wrong (src/a.ts:1:2), x:((src/(shop)/b.ts:3:4)' },
    { file: 'src/(shop)/b.ts', line: 3 },
    { file: 'c.mjs', line: 5, message: '"c.mjs:5:6"' },
  ])
})

/** A project of these texts and no disk. */
function filesOf(texts: (path: string) => string | undefined): { files: Files; reads: string[] } {
  const reads: string[] = []
  const read = (path: string): string | undefined => {
    reads.push(path)
    return texts(path)
  }
  const files = {
    root: '/p',
    normal: (path: string) => path,
    readText: (path: string) => read(path) ?? '',
    peek: (path: string) => {
      const text = read(path)
      return text === undefined ? undefined : Buffer.from(text)
    },
  }
  return { files: files as unknown as Files, reads }
}

test('a forged report has the files of a project read in bounds, and counts what it leaves out', () => {
  const { files, reads } = filesOf(() => 'x'.repeat(5 * many))
  const diagnostics = Array.from({ length: 6_000 }, (_, at) => ({
    severity: 'error',
    message: `m${at}`,
    filename: `f${at}.ts`,
    labels: [{ span: { line: 1, column: 3 } }],
  }))
  const around = { check: 'lint' as const, files, folder: '', plan: { attempts: [] }, manager: { name: 'npm' as const } }
  const run = { code: 1, text: '', report: { diagnostics }, dropped: 0 }
  const result = resultOf({ tool: 'oxlint', runs: [run] }, 1, around)
  expect(reads.length).toBeLessThan(20)
  expect(result.diagnostics).toHaveLength(201)
  expect(result.diagnostics.at(-1)).toMatchObject({ code: 'CHECK_MORE', data: { dropped: 5_800 } })
})

test('scripts and settings of a project are looked at once', () => {
  const { files } = filesOf((path) =>
    path === 'package.json' ? JSON.stringify({ scripts: { test: 'echo '.repeat(many / 5) } }) : undefined,
  )
  expect(planCheck('test', [{ files, folder: '' }]).script).toBe('test')
  // Two that only refer to each other, for ever.
  const circle = filesOf((path) => {
    const other = { 'tsconfig.json': 'b.json', 'b.json': 'tsconfig.json' }[path]
    return other && JSON.stringify({ files: [], references: [{ path: other }] })
  })
  expect(planCheck('typecheck', [{ files: circle.files, folder: '' }]).attempts).toMatchObject([{ tool: 'tsc', runs: [] }])
})

test('a program of very many statements is gone through', () => {
  const body = Array.from({ length: 150_000 }, (_, at) => ({ type: 'EmptyStatement', start: at, end: at }))
  let seen = 0
  eachNode({ type: 'Program', start: 0, end: 0, body } as unknown as Node, () => seen++)
  expect(seen).toBe(150_001)
})

test('artifacts are compared without going over the same again at each level', async () => {
  let looks = 0
  const nested = (leaf: string): object => {
    let value: object = {
      get leaf() {
        looks++
        return leaf
      },
    }
    for (let depth = 0; depth < 190; depth++) value = { k: value }
    return value
  }
  const side = (leaf: string) => [{ file: 'a.json', value: nested(leaf), digest: leaf }]
  const { report } = await compareArtifacts(side('one'), side('other'))
  expect(report).toMatchObject({ status: 'violation', changed: [{ file: 'a.json', changedPaths: [`${'/k'.repeat(190)}/leaf`] }] })
  expect(looks).toBeLessThan(10)
})

test('a folder of artifacts is read in bounds', async () => {
  const entries = Array.from({ length: 200 }, (_, at) => `f${at}.json`)
  let reads = 0
  const reading = {
    call: <T>() => Promise.resolve({ entries } as T),
    read: () => {
      reads++
      return Promise.resolve(JSON.stringify('x'.repeat(20 * many)))
    },
  }
  await expect(readArtifacts(reading, 'out')).rejects.toMatchObject({ message: expect.stringContaining('bytes of artifacts') })
  expect(reads).toBeLessThan(10)
})
