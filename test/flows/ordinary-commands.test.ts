// @stage
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { withShell } from '../support/stage.ts'
import { cleanEnv, openWorld, type World } from '../support/world.ts'

const files = {
  'package.json': JSON.stringify({
    name: 'shop',
    type: 'module',
    scripts: { build: 'node build.js', lint: 'node lint.js' },
  }),
  'build.js':
    "import { mkdirSync, copyFileSync } from 'node:fs'\nmkdirSync('dist', { recursive: true })\ncopyFileSync('src/sum.js', 'dist/sum.js')\n",
  'lint.js': "console.error('src/sum.js:1 prefer const')\nprocess.exit(1)\n",
  'src/sum.js': 'export const sum = (a, b) => a + b // TODO: more of them\n',
  'src/old.js': 'export const old = 1\n',
  'test/sum.test.js':
    "import assert from 'node:assert'\nimport test from 'node:test'\nimport { sum } from '../src/sum.js'\ntest('sums', () => assert.equal(sum(1, 1), 3))\n",
  'pkg/__init__.py': 'answer = 42\n',
  'lib/__init__.py': 'answer = 43\n',
  'tests/__init__.py': '',
  'tests/test_pkg.py':
    'import unittest\nimport pkg\n\nclass Answer(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(pkg.answer, 42)\n',
  't/basic.t': "use Test::More tests => 1;\nok(1, 'perl works');\n",
  'c/Makefile': 'test: check\n\t./check\n\ncheck: check.c\n\tcc -o check check.c\n',
  'c/check.c': 'int main(void) { return 0; }\n',
  'data.json': '{"b":1,"a":[1,2]}\n',
  'notes/old.md': 'nobody reads this\n',
  'run.sh': '#!/bin/sh\necho run\n',
}

interface Row {
  /** A command line for `shell`, or the script of `execute_command`. */
  command?: string
  script?: string
  /** Whether a person is asked; a word of the reason. */
  asked?: string
  exit: number
  /** What stands in the project afterwards, without anybody having been asked. */
  applied?: string[]
  gone?: string[]
  /** What the agent reads: of its output, and of what has not happened. */
  prints?: RegExp
  notApplied?: RegExp
}

/** The table of docs/guide/programs.md, in its order. */
const rows: Row[] = [
  { command: 'ls -la', exit: 0, prints: /package\.json/ },
  { command: 'grep -rn TODO src', exit: 0, prints: /sum\.js:1/ },
  { command: 'NODE_V8_COVERAGE=coverage node --test', exit: 1, prints: /actual: 2/, applied: ['coverage'] },
  { command: 'python3 -m unittest discover -s tests -t .', exit: 0, prints: /OK/, applied: ['tests/__pycache__'] },
  { command: 'prove t/', exit: 0, prints: /All tests successful/ },
  { command: 'make -C c test', exit: 0, prints: /cc -o check/, asked: 'can be executed' },
  { command: 'python3 -c "import lib; print(lib.answer)"', exit: 0, prints: /43/, applied: ['lib/__pycache__'] },
  { command: 'jq . data.json > data.tmp && mv data.tmp data.json', exit: 0, applied: ['data.json'] },
  { script: 'build', exit: 0, applied: ['dist/sum.js'] },
  { script: 'lint', exit: 1, prints: /prefer const/ },
  { command: 'git status --short', exit: 0, prints: /dist\// },
  {
    command: 'git add -A && git commit -qm work && git log --oneline | head -1',
    exit: 0,
    prints: /work/,
    notApplied: /nothing was committed/,
  },
  { command: 'npm install --fetch-retries=0 left-pad', exit: 1, prints: /npm error/i },
  { command: "sed -i 's/more of them/done/' src/sum.js", exit: 0, applied: ['src/sum.js'] },
  { command: 'mv src/old.js src/older.js', exit: 0, applied: ['src/older.js'], gone: ['src/old.js'] },
  { command: 'rm notes/old.md', exit: 0, gone: ['notes/old.md'] },
  { command: 'mkdir -p docs/api && touch docs/api/index.md', exit: 0, applied: ['docs/api/index.md'] },
  { command: 'tar czf src.tgz src && mkdir copy && tar xzf src.tgz -C copy', exit: 0, applied: ['src.tgz', 'copy/src/sum.js'] },
  { command: 'chmod +x run.sh', exit: 0, asked: 'can be executed' },
  { command: 'ln -s src/sum.js main.js', exit: 0, asked: 'link' },
]

interface Told {
  not_applied?: string
  ok: boolean
  exit_code?: number
  exitCode?: number
  stdout?: string
  stderr?: string
  logs?: string[]
  applied?: false
  changes: { path: string }[]
}

/** What the agent is told: the answer, or what ran where a person is asked, with the question. */
async function told(world: World, row: Row): Promise<{ answer: Told; approval?: string }> {
  const [tool, input] = row.script ? ['execute_command', { scriptName: row.script }] : ['shell', { command: row.command }]
  try {
    return { answer: await world.call<Told>(tool, input, { approvalWaitMs: 0 }) }
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.details?.['approvalId'] === undefined) throw fault
    return { answer: fault.details['ran'] as Told, approval: String(fault.details['approvalId']) }
  }
}

test('twenty ordinary commands of a coding agent: three ask, all are answered with what they printed, what is applied can be undone', async () => {
  expect(rows).toHaveLength(20)
  expect(rows.filter(({ asked }) => asked !== undefined).length).toBeLessThanOrEqual(3)
  await using world = await openWorld({ files, flags: { ...withShell, mode: 'developer' } })
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.org']
  const git = (...args: string[]): string =>
    execFileSync('git', [...who, ...args], { cwd: world.project, env: cleanEnv(world.base), encoding: 'utf8' })
  git('init', '-q')
  git('config', 'user.name', 'test')
  git('config', 'user.email', 'test@example.org')
  git('add', '-A')
  git('commit', '-qm', 'first')
  for (const row of rows) {
    const what = row.command ?? `execute_command ${row.script}`
    const { answer, approval } = await told(world, row)
    expect(approval !== undefined, `${what} is asked about`).toBe(row.asked !== undefined)
    const printed = [answer.stdout, answer.stderr, ...(answer.logs ?? [])].join('\n')
    expect(answer.exit_code ?? answer.exitCode, `${what}: ${printed}`).toBe(row.exit)
    if (row.prints) expect(printed, what).toMatch(row.prints)
    for (const path of row.applied ?? []) expect(existsSync(world.path(path)), `${what} made ${path}`).toBe(true)
    for (const path of row.gone ?? []) expect(existsSync(world.path(path)), `${what} removed ${path}`).toBe(false)
    expect(answer.not_applied ?? '', what).toMatch(row.notApplied ?? /^$/)
    if (row.notApplied) {
      // Exit code 0 is not what an agent goes by first.
      expect(Object.keys(answer)[0]).toBe('not_applied')
      expect(answer.ok).toBe(false)
    }
    if (approval === undefined) continue
    expect(answer.applied).toBe(false)
    expect(answer.changes.length, what).toBeGreaterThan(0)
    const notes = world.runtime.approvals.get(approval)?.card.notes?.join('\n') ?? ''
    expect(notes, what).toContain(row.asked)
  }
  expect(git('log', '--oneline')).toMatch(/^\w+ first\n$/)
  expect(world.read('src/sum.js')).toContain('done')
  expect(readFileSync(world.path('run.sh'), 'utf8')).toBe(files['run.sh'])
  expect(existsSync(world.path('main.js')) || existsSync(world.path('c/check'))).toBe(false)
  // Each line of the log says how risky it was found to be, and why; and each call is taken back by its id.
  const ends = [...world.runtime.audit.lines()].filter(({ event }) => event === 'call.end' || event === 'call.suspended')
  const of = (row: Row): (typeof ends)[number] | undefined => ends[rows.indexOf(row)]
  for (const row of rows) {
    const line = of(row)
    expect(line?.risk, row.command).toBe(row.asked ? 'R2' : row.applied || row.gone ? 'R1' : 'R0')
    if (row.asked) expect(JSON.stringify(line?.details), row.command).toContain(row.asked)
  }
  const sed = of(rows.find(({ command }) => command?.startsWith('sed')) as Row)
  await world.call('undo', { call: sed?.call, dryRun: false }, { role: 'person' })
  expect(world.read('src/sum.js')).toBe(files['src/sum.js'])
  const rm = of(rows.find(({ command }) => command?.startsWith('rm')) as Row)
  await world.call('undo', { call: rm?.call, dryRun: false }, { role: 'person' })
  expect(world.read('notes/old.md')).toBe(files['notes/old.md'])
})

test('a program is found again by the files it changed, though it did not name them', async () => {
  await using world = await openWorld({ files: { 'notes/a.txt': 'one\n' }, flags: withShell })
  await world.call('shell', { command: 'for f in notes/*; do echo two >> $f; done' })
  const { hits } = await world.call<{ hits: { tool?: string; paths?: string[] }[] }>('search_memory', { path: 'notes/a.txt' })
  expect(hits).toMatchObject([{ tool: 'shell', paths: expect.arrayContaining(['notes/a.txt']) }])
})
