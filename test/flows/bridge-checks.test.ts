// @stage
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect } from 'vitest'
import { openBridgeWorld, openRawClient, type BridgeWorld, type RawClient } from '../support/bridge.ts'
import { runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { eventually } from '../support/sockets.ts'

// The bridge with the real checks and the real commands.

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

const secret = 'the-whole-text-of-a-source-file'
const sources = {
  'package.json': JSON.stringify({
    name: 'sample',
    packageManager: 'yarn@4.0.0',
    scripts: { lint: 'node lint.mjs', test: 'node slow.mjs', typecheck: 'node noisy.mjs' },
  }),
  'lint.mjs': `console.log('src/a.ts:1:5: error: wrong'); process.exitCode = 1`,
  'slow.mjs': `import { spawn } from 'node:child_process'
spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000) // SLOW-CHILD-MARK'], { stdio: 'ignore' })
setInterval(() => {}, 1000)`,
  'noisy.mjs': `console.log('x'.repeat(100000)); process.exitCode = 1`,
  'src/a.ts': `export const text = '${secret}'\n`,
}

async function ground(
  options: Parameters<typeof openBridgeWorld>[0] = {},
): Promise<{ at: BridgeWorld; raw: RawClient; other: RawClient }> {
  const at = await openBridgeWorld({ files: sources, config: { mode: 'developer' }, real: true, ...options })
  open.push(at)
  const [raw, other] = [await openRawClient(at.url), await openRawClient(at.url)]
  open.push({ [Symbol.asyncDispose]: async () => [raw, other].forEach(({ socket }) => socket.terminate()) })
  return { at, raw, other }
}

/** Whether a process that carries this word in its arguments runs. */
const runs = (word: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word) &&
        !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      )
    } catch {
      return false
    }
  })

proves(
  ['bridge.checks', 'bridge.untested.preview'],
  'what a check found, its exit code and the beginning of what it printed',
  async () => {
    const { raw } = await ground()
    raw.ask('l', 'dev.runChecks', { checks: ['lint', 'typecheck'], timeoutMs: 60_000 })
    const { results } = (await raw.response('l')).result as { results: { preview: string; diagnostics: unknown[] }[] }
    expect(results).toMatchObject([
      { check: 'lint', ok: false, exitCode: 1, durationMs: expect.any(Number) as number },
      { check: 'typecheck', ok: false, exitCode: 1 },
    ])
    expect(JSON.stringify(results[0]?.diagnostics)).toContain('src/a.ts')
    expect(Buffer.byteLength(results[1]?.preview ?? '')).toBeLessThanOrEqual(4_096)
  },
)

proves('bridge.checks.events', 'started and finished of each, in order, before the response', async () => {
  const { raw } = await ground()
  raw.ask('e', 'dev.runChecks', { checks: ['lint', 'typecheck'] })
  await raw.response('e')
  const told = raw.heard.flatMap(({ event }) =>
    event && !event.kind.endsWith('diagnostics') ? [[event.kind, event.payload['check']]] : [],
  )
  expect(told).toEqual([
    ['dev.event.check.started', 'lint'],
    ['dev.event.check.finished', 'lint'],
    ['dev.event.check.started', 'typecheck'],
    ['dev.event.check.finished', 'typecheck'],
  ])
})

proves(
  ['bridge.checks.cancel', 'bridge.tested.cancel'],
  'from another connection: ERR_CANCELLED with what was done, its end told, and the whole tree gone',
  async () => {
    const { raw, other } = await ground()
    raw.ask('s', 'dev.runChecks', { checks: ['lint', 'test'] })
    await raw.event('s', 'dev.event.check.finished')
    await eventually('the child of the check', () => runs('SLOW-CHILD-MARK') || undefined)
    other.ask('c', 'dev.cancel', { targetRequestId: 's' })
    expect((await other.response('c')).ok).toBe(true)
    const { ok, error } = await raw.response('s')
    expect([ok, error?.code]).toEqual([false, 'ERR_CANCELLED'])
    expect(error?.data?.['results']).toMatchObject([
      { check: 'lint', ok: false },
      { check: 'test', ok: false },
    ])
    const mine = raw.heard.filter(({ requestId }) => requestId === 's').map(({ event, type }) => event?.kind ?? type)
    expect(mine.filter((kind) => kind.endsWith('started'))).toHaveLength(2)
    expect(mine.filter((kind) => kind.endsWith('check.finished'))).toHaveLength(2)
    expect(mine.at(-1)).toBe('response')
    await eventually('the end of the child', () => !runs('SLOW-CHILD-MARK') || undefined)
  },
)

proves(
  ['bridge.untested.timeout', 'bridge.untested.lost'],
  'a check that takes too long is CHECK_TIMEOUT, and a connection that is lost takes its check with it',
  async () => {
    const { raw, other } = await ground()
    raw.ask('t', 'dev.runChecks', { checks: ['test'], timeoutMs: 1_000 })
    const { result } = await raw.response('t')
    expect(result).toMatchObject({ results: [{ ok: false, diagnostics: [{ code: 'CHECK_TIMEOUT' }] }] })
    await eventually('the end of the child', () => !runs('SLOW-CHILD-MARK') || undefined)
    other.ask('l', 'dev.runChecks', { checks: ['test'] })
    await eventually('the child of the check', () => runs('SLOW-CHILD-MARK') || undefined)
    other.socket.terminate()
    await eventually('the end of the child', () => !runs('SLOW-CHILD-MARK') || undefined)
  },
)

proves('bridge.same-result', 'a command over the bridge and at the terminal: the same line, the same exit code', async () => {
  const { at, raw } = await ground()
  for (const words of [
    ['describe'],
    ['anchor', 'index'],
    ['artifact', 'validate', '--in', 'nowhere'],
    ['nonsense'],
    ['check', '--frobnicate'],
  ]) {
    raw.ask('same', 'dev.run', { argv: words })
    const { outcome } = (await raw.response('same')).result as { outcome: { result: { artifacts: unknown[] }; exitCode: number } }
    expect(outcome.result).toMatchObject({ kind: 'CommandResult', runId: 'same' })
    if (words[0] === 'nonsense') {
      expect(outcome).toMatchObject({ exitCode: 2, result: { error: { code: 'CLI_INVALID_COMMAND' } } })
      continue
    }
    const { code, out } = await runInside(at.world.project, [...words, '--json', '--runId', 'same'])
    expect([words, code]).toEqual([words, outcome.exitCode])
    // `describe` says how it was called, which differs; all else is equal.
    if (words[0] !== 'describe') expect(JSON.parse(out)).toEqual(outcome.result)
  }
})

proves(
  ['bridge.tested.write', 'bridge.tested.trace'],
  'with --allowWrite a command that writes is run; a trial is told as a trace',
  async () => {
    const { at, raw } = await ground({
      files: { ...sources, 'try.mjs': `export const run = () => console.log('tried')\n` },
      allowWrite: true,
    })
    raw.ask('w', 'dev.run', { argv: ['transform', 'module', '--mode', 'write', '--ops', 'none.json'] })
    expect(await raw.response('w')).toMatchObject({ ok: true, result: { outcome: { exitCode: 2, result: { ok: false } } } })
    raw.ask('t', 'dev.run', {
      argv: ['trial', '--entry', 'try.mjs#run', '--includeTrace'],
      trace: { enabled: true, maxBytes: 4_096, chunkBytes: 256 },
    })
    expect(await raw.response('t')).toMatchObject({ ok: true, result: { outcome: { exitCode: 0 } } })
    const told = raw.heard.flatMap(({ event }) => event ?? [])
    expect([told[0]?.kind, told.at(-1)]).toMatchObject([
      'dev.event.trace.started',
      { kind: 'dev.event.trace.finished', payload: { available: true } },
    ])
    expect(at.world.read('try.mjs')).toContain('tried')
  },
)

proves('bridge.least', 'no answer holds the text of a file', async () => {
  const { raw } = await ground()
  raw.ask('1', 'dev.workspace.snapshot')
  raw.ask('2', 'dev.run', { argv: ['anchor', 'index'] })
  raw.ask('3', 'dev.run', { argv: ['describe'] })
  raw.ask('4', 'dev.runChecks', { checks: ['lint'] })
  for (const id of ['1', '2', '3', '4']) expect((await raw.response(id)).ok).toBe(true)
  expect(JSON.stringify(raw.heard)).not.toContain(secret)
})

proves('bridge.no-git', 'a git that tells when it is run is not run by anything the bridge does', async () => {
  const before = process.env['PATH']
  const { at, raw } = await ground({ files: { ...sources, '.git/HEAD': 'ref: refs/heads/main\n' } })
  const told = join(at.world.base, 'git-was-run')
  mkdirSync(join(at.world.base, 'bin'))
  writeFileSync(join(at.world.base, 'bin/git'), `#!/bin/sh\necho "$@" >> ${told}\n`)
  chmodSync(join(at.world.base, 'bin/git'), 0o755)
  try {
    process.env['PATH'] = `${join(at.world.base, 'bin')}:${before}`
    raw.ask('1', 'dev.workspace.snapshot')
    expect((await raw.response('1')).result).toMatchObject({ repoRoot: at.world.project })
    raw.ask('2', 'dev.run', { argv: ['anchor', 'index'] })
    await raw.response('2')
    raw.ask('3', 'dev.runChecks', { checks: ['lint'] })
    await raw.response('3')
    expect(existsSync(told)).toBe(false)
  } finally {
    process.env['PATH'] = before
  }
})

proves(
  ['bridge.snapshot.config', 'bridge.untested.snapshot'],
  'missing, good and wrong settings of the commands; only their own section is shown',
  async () => {
    const config = (cli: unknown): Record<string, string> => ({
      ...sources,
      'handrail.config.json': JSON.stringify({ mode: 'developer', cli }),
    })
    const shown = async (files: Record<string, string>): Promise<unknown> => {
      const { raw } = await ground({ files })
      raw.ask('s', 'dev.workspace.snapshot')
      const { result } = await raw.response('s')
      expect(result).toMatchObject({ packageManager: 'yarn' })
      return result?.['cliConfig']
    }
    expect(await shown(sources)).toEqual({ found: false })
    const good = { schemaVersion: 1, defaults: { budgetBytes: 100 }, profiles: { ci: {}, a: {} } }
    expect(await shown(config(good))).toEqual({
      found: true,
      path: 'handrail.config.json',
      ok: true,
      config: good,
      profiles: ['a', 'ci'],
    })
    expect(await shown(config({ schemaVersion: 1, defaults: { mode: 'write' } }))).toMatchObject({
      found: true,
      ok: false,
      error: { code: 'CLI_CONFIG_INVALID' },
    })
  },
)

proves(
  ['bridge.snapshot.budget', 'bridge.untested.snapshot'],
  'beyond maxBytes its beginning and its size stand there, marked, and the profiles stay',
  async () => {
    const good = { schemaVersion: 1, defaults: { outRoot: 'é'.repeat(500) }, profiles: { ci: {} } }
    const { raw } = await ground({ files: { ...sources, 'handrail.config.json': JSON.stringify({ cli: good }) } })
    raw.ask('s', 'dev.workspace.snapshot', { maxBytes: 100 })
    const { cliConfig } = (await raw.response('s')).result as { cliConfig: { config: { preview: string } } }
    expect(cliConfig).toMatchObject({
      found: true,
      ok: true,
      truncated: true,
      profiles: ['ci'],
      config: { _tag: 'oversized', bytes: expect.any(Number) as number },
    })
    expect(Buffer.byteLength(cliConfig.config.preview)).toBeLessThanOrEqual(256)
    raw.ask('w', 'dev.workspace.snapshot', {})
    expect((await raw.response('w')).result?.['cliConfig']).toMatchObject({ config: good })
  },
)
