// @stage
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CheckResult } from '../../src/contracts/diagnostic.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { ToolNews } from '../../src/contracts/tool.ts'
import { proves } from '../support/proof.ts'
import { openWorld, type World } from '../support/world.ts'

const failing = `import assert from 'node:assert'
import { describe, it } from 'node:test'
describe('grp', () => {
  it('fails', () => {
    const s = 'é😀漢'; assert.equal(s, 2)
  })
  it('passes', () => {})
})
`

let world: World
beforeAll(async () => {
  world = await openWorld({
    files: {
      'package.json': '{"name":"root","private":true}',
      'pnpm-lock.yaml': '',
      'unit/package.json': '{"scripts":{"test":"node --test"}}',
      'unit/a.test.mjs': failing,
      'writes/package.json': '{"scripts":{"lint":"echo made > made.txt && rm package.json && echo done"}}',
      'loud/package.json': '{"scripts":{"lint":"node loud.mjs"}}',
      'loud/loud.mjs': `process.stderr.write('src/x.js:3:7 is wrong\\n' + '漢'.repeat(20_000)); process.exit(3)`,
      'loud/src/x.js': 'one\ntwo\nthree\n',
      'wrong/package.json': '{"scripts":{"typecheck":"sh -c \\"echo app/a.ts\\\\(1,14\\\\): error TS2322: Type.; exit 2\\""}}',
    },
  })
})
afterAll(() => world[Symbol.asyncDispose]())

async function check(input: object, more: object = {}): Promise<{ results: CheckResult[]; news: ToolNews[]; ok: boolean }> {
  const news: ToolNews[] = []
  const answer = await world.call<{ results: CheckResult[]; ok: boolean }>('run_checks', input, {
    onEvent: (one) => void news.push(one),
    ...more,
  })
  return { ...answer, news }
}

describe('run_checks', () => {
  proves(
    'checks.diagnostic',
    'node --test: the file, line and column of what failed, on a line that is not ASCII, and a command to run',
    async () => {
      const { results, news, ok } = await check({ checks: ['test'], cwd: 'unit' })
      expect(ok).toBe(false)
      expect(results).toMatchObject([{ check: 'test', ok: false, exitCode: 1, tool: 'node' }])
      expect(results[0]?.diagnostics).toEqual([
        {
          severity: 'error',
          code: 'TEST_FAILED',
          message: "fails: 'é😀漢' == 2",
          pointer: { file: 'unit/a.test.mjs', line: 5, column: 30 },
          action: { kind: 'run.command', command: 'cd unit && node --test --test-name-pattern fails a.test.mjs' },
          data: { source: 'node', test: 'fails' },
        },
      ])
      expect(news.map(({ kind }) => kind)).toEqual(['check.started', 'check.diagnostics', 'check.finished'])
      expect(news[2]?.payload).toEqual({ check: 'test', ok: false, exitCode: 1, durationMs: results[0]?.durationMs })
    },
  )

  proves('checks.result', 'a check never writes into the workspace', async () => {
    const { results } = await check({ checks: ['lint'], cwd: 'writes' })
    expect(results).toMatchObject([
      { ok: true, exitCode: 0, preview: 'done', tool: 'script', command: 'cd writes && pnpm run lint' },
    ])
    expect(existsSync(world.path('writes/made.txt'))).toBe(false)
    expect(existsSync(world.path('writes/package.json'))).toBe(true)
  })

  proves('checks.preview', 'what a script prints is cut at 4 KB, and the places it names are found', async () => {
    const { results } = await check({ checks: ['lint'], cwd: 'loud' })
    const [result] = results as [CheckResult]
    expect(Buffer.byteLength(result.preview ?? '')).toBeLessThanOrEqual(4_096)
    expect(result.preview).toMatch(/漢…$/)
    expect(result).toMatchObject({ ok: false, exitCode: 3 })
    expect(result.diagnostics[0]?.pointer).toEqual({ file: 'loud/src/x.js', line: 3, column: 7 })
  })

  test('nothing set up, no check at all, and a check nobody knows', async () => {
    const { results } = await check({ checks: ['typecheck', 'lint'] })
    expect(results.map(({ exitCode, diagnostics }) => [exitCode, diagnostics[0]?.code, diagnostics[0]?.severity])).toEqual([
      [127, 'CHECK_NOT_CONFIGURED', 'warning'],
      [127, 'CHECK_NOT_CONFIGURED', 'warning'],
    ])
    expect(results[1]?.diagnostics[0]?.action?.command).toBe('pnpm add -D eslint')
    expect(await check({ checks: [] })).toMatchObject({ results: [], news: [] })
    expect(await world.fault('run_checks', { checks: ['build'] })).toMatchObject({ code: 'E_BAD_ARGS' })
    expect(await world.fault('run_checks', { checks: ['lint'], cwd: '../..' })).toMatchObject({ code: 'E_DENY_PATH' })
  })

  test('whose time is up ends with CHECK_TIMEOUT, and nothing of it is left', async () => {
    const seconds = sleeper()
    world.write('slow/package.json', JSON.stringify({ scripts: { test: `sleep ${seconds} & sleep ${seconds}` } }))
    const { results } = await check({ checks: ['test'], cwd: 'slow', timeoutMs: 1_500 })
    expect(results).toMatchObject([{ ok: false, exitCode: 124, diagnostics: [{ code: 'CHECK_TIMEOUT', severity: 'error' }] }])
    expect(running(seconds)).toEqual([])
  })

  proves(
    'checks.partial',
    'cancelled: what was found by then comes with the fault, each started has its finished, and the tree is gone',
    async () => {
      const seconds = sleeper()
      world.write(
        'long/package.json',
        JSON.stringify({ scripts: { lint: 'echo fine', test: `trap '' TERM; (setsid sleep ${seconds} &) ; sleep ${seconds}` } }),
      )
      const abort = new AbortController()
      const news: ToolNews[] = []
      const calling = world.call(
        'run_checks',
        { checks: ['lint', 'test', 'typecheck'], cwd: 'long' },
        {
          signal: abort.signal,
          onEvent: (one) => void news.push(one),
        },
      )
      const thrown = calling.then(
        () => undefined,
        (fault: unknown) => fault,
      )
      while (running(seconds).length < 2) await new Promise((resolve) => setImmediate(resolve))
      abort.abort(new Fault('cancelled', 'Enough'))
      const fault = await thrown
      expect(fault).toMatchObject({ reason: 'cancelled' })
      const { results } = (fault as Fault).details as { results: CheckResult[] }
      expect(results.map(({ check, ok, exitCode }) => [check, ok, exitCode])).toEqual([
        ['lint', true, 0],
        ['test', false, 130],
      ])
      expect(results[1]?.diagnostics).toMatchObject([{ code: 'CHECK_CANCELLED', severity: 'warning' }])
      expect(news.map(({ kind }) => kind)).toEqual([
        'check.started',
        'check.finished',
        'check.started',
        'check.diagnostics',
        'check.finished',
      ])
      expect(running(seconds)).toEqual([])
    },
  )
})

/** A number of seconds that nobody else sleeps for. */
const sleeper = (): string => `${1_000 + randomInt(1_000_000)}.${randomInt(1_000_000_000)}`

/** Processes that sleep for so long, the dead ones that nobody has buried yet excepted. */
function running(seconds: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return words[0] === 'sleep' && words[1] === seconds && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      } catch {
        return false
      }
    })
}
