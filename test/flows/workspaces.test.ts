// @stage
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CheckResult } from '../../src/contracts/diagnostic.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { isSoak } from '../support/soak.ts'
import { eventually } from '../support/sockets.ts'
import { cleanEnv, repository } from '../support/world.ts'

// The real tools and real sources from the registry, in `npm run soak`: several hundred packages are too many for every run.

const cache = join(repository, '.cache', 'workspaces')
const line = 'const s = "é😀漢"; debugger\n'

/** One error for each tool, on a line that is not ASCII. */
const projects: Record<
  string,
  { check: string; files: Record<string, string>; found: [code: string, file: string, line: number, column: number] }
> = {
  ...Object.fromEntries(
    ['ts5', 'ts6', 'ts7'].map((name) => [
      name,
      {
        check: 'typecheck',
        files: {
          'package.json': '{"scripts":{"typecheck":"tsc --watch"}}',
          'tsconfig.json':
            '{"compilerOptions":{"strict":true,"target":"es2022","incremental":true,"types":[]},"include":["src"]}',
          'src/a.ts': 'const é = "é😀漢"; export const n: number = é\n',
        },
        found: ['TS2322', 'src/a.ts', 1, 32] as [string, string, number, number],
      },
    ]),
  ),
  solution: {
    check: 'typecheck',
    files: {
      'package.json': '{}',
      'tsconfig.json': '{"files":[],"references":[{"path":"./app"}]}',
      'app/tsconfig.json': '{"compilerOptions":{"composite":true,"strict":true,"types":[]}}',
      'app/a.ts': 'export const x: string = 1\n',
    },
    found: ['TS2322', 'app/a.ts', 1, 14],
  },
  eslint: {
    check: 'lint',
    files: {
      'package.json': '{}',
      'eslint.config.mjs': 'export default [{ rules: { "no-debugger": "error" } }]',
      'src/b.js': line,
    },
    found: ['no-debugger', 'src/b.js', 1, 19],
  },
  oxlint: {
    check: 'lint',
    files: { 'package.json': '{}', '.oxlintrc.json': '{"rules":{"no-debugger":"error"}}', 'src/b.js': line },
    found: ['eslint(no-debugger)', 'src/b.js', 1, 19],
  },
  biome: {
    check: 'lint',
    files: { 'package.json': '{}', 'biome.json': '{"root":true}', 'src/b.js': line },
    found: ['lint/suspicious/noDebugger', 'src/b.js', 1, 19],
  },
  vitest: {
    check: 'test',
    files: {
      'package.json': '{"scripts":{"test":"vitest"}}',
      'a.test.ts': `import { expect, test } from 'vitest'\ntest('fails', () => {\n  const s = 'é😀漢'; expect(s).toBe(2)\n})\n`,
    },
    found: ['TEST_FAILED', 'a.test.ts', 3, 31],
  },
  jest: {
    check: 'test',
    files: {
      'package.json': '{"scripts":{"test":"jest"}}',
      'a.test.js': `test('fails', () => {\n  const s = 'é😀漢'; expect(s).toBe(2)\n})\n`,
    },
    found: ['TEST_FAILED', 'a.test.js', 2, 31],
  },
  mocha: {
    check: 'test',
    files: {
      'package.json': '{"scripts":{"test":"npx mocha"}}',
      'test/a.test.js': `const assert = require('node:assert')\nit('fails', () => {\n  console.log('noise'); const s = 'é😀漢'; assert.equal(s, 2)\n})\n`,
    },
    found: ['TEST_FAILED', 'test/a.test.js', 3, 50],
  },
}

/** Whether a process that carries this word in its arguments runs. */
const isRunning = (word: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      const isOne = /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)
      return isOne && !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return false
    }
  })

/** What of TypeScript 6 is used, which is no package of ours. */
interface Compiler {
  transpileModule(
    text: string,
    options: { reportDiagnostics: true; fileName: string },
  ): { diagnostics: { messageText: unknown }[] }
}

const sources: Record<string, string> = {
  '@reduxjs/toolkit': 'src',
  '@tanstack/query-core': 'src',
  immer: 'src',
  rxjs: 'src',
  zod: 'src',
}

describe.skipIf(!isSoak)('the real tools, and real sources', () => {
  let project: string
  let base: string
  let runtime: Operator
  const caller = { surface: 'cli', client: 'test', session: 'soak', role: 'agent' } as const
  const call = async <T>(tool: string, input: object): Promise<T> => (await runtime.call(tool, input, caller)).output as T

  beforeAll(() => {
    const { status } = spawnSync(process.execPath, [join(repository, 'test/workspaces/install.mjs')], { stdio: ['ignore', 2, 2] })
    expect(status).toBe(0)
    base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-workspaces-')))
    project = join(base, 'project')
    mkdirSync(project)
    cpSync(join(cache, 'node_modules'), join(project, 'node_modules'), { recursive: true, verbatimSymlinks: true })
    writeFileSync(join(project, 'package.json'), '{}')
    for (const [name, { files }] of Object.entries(projects))
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(project, name, file)), { recursive: true })
        writeFileSync(join(project, name, file), text)
      }
    for (const name of ['ts5', 'ts6']) {
      mkdirSync(join(project, name, 'node_modules'))
      symlinkSync(join('..', '..', 'node_modules', name), join(project, name, 'node_modules', 'typescript'))
    }
    for (const [name, folder] of Object.entries(sources))
      cpSync(join(cache, 'node_modules', name, folder), join(project, 'packages', name), { recursive: true })
    runtime = openRuntime({ project, environment: { ...cleanEnv(base), XDG_STATE_HOME: join(base, 'state') } })
    runtime.openSession({ id: 'soak', surface: 'cli', client: 'test' })
  }, 600_000)
  afterAll(async () => {
    await runtime?.close()
    rmSync(base, { recursive: true, force: true, maxRetries: 20 })
  })

  test.each(Object.entries(projects))(
    '%s: the right file, line and column, and nothing is written',
    async (name, { check, found: [code, file, line, column] }) => {
      const before = readdirSync(join(project, name), { recursive: true })
      const { results } = await call<{ results: CheckResult[] }>('run_checks', { checks: [check], cwd: name, timeoutMs: 300_000 })
      const errors = results[0]?.diagnostics.filter(({ severity }) => severity === 'error')
      expect([results[0]?.ok, errors]).toMatchObject([
        false,
        [{ code, severity: 'error', pointer: { file: `${name}/${file}`, line, column } }],
      ])
      expect(results[0]?.diagnostics[0]?.action?.command).toBeTruthy()
      expect(readdirSync(join(project, name), { recursive: true })).toEqual(before)
    },
    600_000,
  )

  /** A test that never ends, with a child that carries its name, for each tool that runs tests. */
  const endless = `require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e3) // MARK'], { stdio: 'ignore' }); return new Promise(() => {})`
  test.each([
    ['vitest', 'a.test.ts', (body: string) => `import { test } from 'vitest'\ntest('x', () => { ${body} }, 1e9)`],
    ['jest', 'a.test.js', (body: string) => `test('x', () => { ${body} }, 1e9)`],
    ['mocha --timeout 0', 'test/a.js', (body: string) => `it('x', () => { ${body} })`],
    ['node --test', 'a.test.js', (body: string) => `require('node:test').test('x', () => { ${body} })`],
  ])(
    '%s: cancelled, nothing of it is left',
    async (script, file, written) => {
      const name = `cancelled-${script.split(' ')[0]}`
      const mark = `HANDRAIL-${name}-${process.pid}`
      mkdirSync(dirname(join(project, name, file)), { recursive: true })
      writeFileSync(join(project, name, 'package.json'), JSON.stringify({ scripts: { test: script } }))
      const body =
        script === 'vitest' ? `const require = process.getBuiltinModule('node:module').createRequire('/'); ${endless}` : endless
      writeFileSync(join(project, name, file), written(body.replace('MARK', mark)))
      const abort = new AbortController()
      const call = runtime.call('run_checks', { checks: ['test'], cwd: name, timeoutMs: 300_000 }, caller, {
        signal: abort.signal,
      })
      const ended = call.then(
        () => 'answered',
        () => 'cancelled',
      )
      await eventually('the child of the test', () => isRunning(mark) || undefined, 300_000)
      abort.abort()
      expect(await ended).toBe('cancelled')
      await eventually('the end of the child', () => !isRunning(mark) || undefined, 300_000)
    },
    600_000,
  )

  test.each(Object.keys(sources))(
    '%s: the index is the same twice, and what is written compiles',
    async (name) => {
      const path = `packages/${name}`
      const [first, second] = [await call<object>('anchor_index', { path }), await call<object>('anchor_index', { path })]
      expect(JSON.stringify(second)).toBe(JSON.stringify(first))
      await call('plan_autofill', { path })
      const constants = readdirSync(join(project, path), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
        .flatMap((file) =>
          [...readFileSync(join(project, path, file), 'utf8').matchAll(/^(?:export )?const (\w+)[^=\n]* = \{/gm)].map(
            ([, exportName]) => ({ file: `${path}/${file}`, exportName }),
          ),
        )
        .slice(0, 200)
      const deltas = constants.map((target) => ({
        target,
        ops: [{ op: 'addProperty', name: 'addedByHandrail', value: '[1, "é"]' }],
      }))
      const { plan, ops } = await call<{ plan: { operations: object[]; summary: { writableTotal: number } }; ops: object[] }>(
        'plan_transform',
        { deltas },
      )
      expect(ops).toHaveLength(deltas.length)
      const written = await call<{ modifiedFiles: { file: string }[] }>('apply_patch_plan', { plan })
      const typescript = createRequire(import.meta.url)(join(cache, 'node_modules/ts6')) as Compiler
      for (const { file } of written.modifiedFiles) {
        const text = readFileSync(join(project, file), 'utf8')
        const { diagnostics } = typescript.transpileModule(text, { reportDiagnostics: true, fileName: file })
        expect(diagnostics.map(({ messageText }) => `${file}: ${String(messageText)}`)).toEqual([])
        expect(text).toContain('addedByHandrail: [1, "é"]')
      }
      const again = await call<{ plan: { summary: { writableTotal: number } } }>('plan_transform', { deltas })
      expect(again.plan.summary.writableTotal).toBe(0)
      const { results } = await call<{ results: CheckResult[] }>('run_checks', {
        checks: ['typecheck', 'lint', 'test'],
        cwd: path,
        timeoutMs: 60_000,
      })
      expect(results.map(({ check }) => check)).toEqual(['typecheck', 'lint', 'test'])
    },
    600_000,
  )
})
