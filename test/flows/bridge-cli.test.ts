import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBridgeState } from '../../src/host/bridge-state.ts'
import { openRawClient, token } from '../support/bridge.ts'
import { runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { openServe } from '../support/serve.ts'
import { cleanEnv, openWorld, program, type World } from '../support/world.ts'

// `handrail devserver`, the real program: what it prints, the file it leaves, who may use it and how it ends.

let world: World
let child: ChildProcess
let started: Record<string, unknown>
let stateFile: string
const lines: string[] = []
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>

beforeAll(async () => {
  world = await openWorld({
    files: {
      'package.json': '{"name":"sample","packageManager":"pnpm@10.0.0"}',
      'packages/one/package.json': '{"name":"one"}',
      '.git/HEAD': 'ref: refs/heads/main\n',
      'src/todo.ts': `import { createSlice } from '@reduxjs/toolkit'\nexport const todo = createSlice({ name: 'todo' })\n`,
      'handrail.config.json': '{"cli":{"schemaVersion":1,"profiles":{"ci":{}}}}',
    },
  })
  stateFile = join(world.base, 'here.json')
  child = spawn(process.execPath, [program, 'devserver', 'start', '--project', world.project, '--stateFile', stateFile], {
    env: cleanEnv(dirname(world.project)),
    cwd: join(world.project, 'packages/one'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const reading = createInterface(child.stdout as never)
  reading.on('line', (line) => lines.push(line))
  await once(reading, 'line')
  started = json(lines[0] as string)
})
afterAll(async () => {
  child.kill('SIGKILL')
  await world[Symbol.asyncDispose]()
})

const devserver = async (args: string[], env: Record<string, string> = {}) => {
  const { code, out } = await runInside(world.project, ['devserver', ...args], { env })
  expect(out.trimEnd().split('\n')).toHaveLength(1)
  return { code, said: json(out) }
}
const call = (args: string[], env?: Record<string, string>) => devserver(['call', ...args, '--stateFile', stateFile], env)

proves(
  ['bridge.tested.start', 'bridge.incident.argv'],
  'start prints one line, without the token, and the state file is for this user alone',
  () => {
    expect(started).toEqual({
      schemaVersion: 1,
      kind: 'DevServerStarted',
      protocol: 'intent-flow.devserver.v1',
      host: '127.0.0.1',
      port: expect.any(Number) as number,
      url: `ws://127.0.0.1:${String(started['port'])}`,
      pid: child.pid,
      stateFile,
    })
    expect(statSync(stateFile).mode & 0o777).toBe(0o600)
    const state = json(readFileSync(stateFile, 'utf8'))
    expect(state).toMatchObject({ kind: 'DevServerState', url: started['url'], pid: child.pid, port: started['port'] })
    expect(state['token']).toMatch(/^[\w-]{43}$/)
    expect(lines).toHaveLength(1)
  },
)

proves(
  'bridge.tested.call',
  'call finds the server by its address or its file; status and events; exit codes say whether the call worked',
  async () => {
    const own = String(json(readFileSync(stateFile, 'utf8'))['token'])
    const byFile = await call(['dev.info', '--requestId', 'mine'])
    expect(byFile).toMatchObject({ code: 0, said: { type: 'response', ok: true, requestId: 'mine' } })
    const byUrl = await devserver(['call', '--method', 'dev.info', '--url', String(started['url']), '--token', own])
    expect(byUrl).toMatchObject({ code: 0, said: { ok: true, result: byFile.said['result'] } })
    expect(await devserver(['status', '--stateFile', stateFile])).toMatchObject({
      code: 0,
      said: { kind: 'DevServerStatus', ok: true, info: { capabilities: { write: false } } },
    })
    const checks = await call(['dev.runChecks', '--checks', 'lint', '--includeEvents'])
    expect(checks).toMatchObject({
      code: 0,
      said: {
        ok: true,
        events: [{ event: { kind: 'dev.event.check.started' } }, {}, { event: { kind: 'dev.event.check.finished' } }],
      },
    })
    expect(await call(['dev.cancel', '--targetRequestId', 'none'])).toMatchObject({
      code: 1,
      said: { ok: false, error: { code: 'ERR_NOT_FOUND' } },
    })
    expect(await call([])).toMatchObject({
      code: 2,
      said: { ok: false, requestId: 'unknown', error: { code: 'ERR_INVALID_ARGS' } },
    })
    expect(await call(['dev.runChecks', '--timeoutMs', 'soon', '--requestId', 'r'])).toMatchObject({
      code: 2,
      said: { requestId: 'r' },
    })
    const nobody = await devserver(['call', 'dev.info', '--url', 'ws://127.0.0.1:9'])
    expect(nobody).toMatchObject({ code: 1, said: { ok: false, error: { code: 'ERR_CALL_FAILED' } } })
  },
)

proves(
  ['bridge.tested.run', 'bridge.tested.read-only'],
  'call dev.run: a CommandResult under the id of the request; a write is forbidden in one line, and nothing ran',
  async () => {
    const run = (id: string, ...words: string[]) =>
      devserver(['call', 'dev.run', '--requestId', id, '--stateFile', stateFile, '--', ...words])
    expect(await run('r-1', 'describe', '--json')).toMatchObject({
      code: 0,
      said: {
        ok: true,
        requestId: 'r-1',
        result: { outcome: { kind: 'result', exitCode: 0, result: { kind: 'CommandResult', runId: 'r-1' } } },
      },
    })
    const before = world.read('src/todo.ts')
    expect(await run('r-2', 'anchor', 'autofill', '--mode', 'write', '--json')).toMatchObject({
      code: 1,
      said: { ok: false, requestId: 'r-2', error: { code: 'ERR_FORBIDDEN' } },
    })
    expect(world.read('src/todo.ts')).toBe(before)
  },
)

proves(
  ['bridge.snapshot', 'bridge.tested.snapshot'],
  'from a folder below: the root of the repository, the folder, and who installs its packages',
  async () => {
    const { said } = await call(['dev.workspace.snapshot'])
    expect(said['result']).toMatchObject({
      repoRoot: world.project,
      cwd: join(world.project, 'packages/one'),
      packageManager: 'pnpm',
      devserver: { protocol: 'intent-flow.devserver.v1', version: world.runtime.version },
      cliConfig: { found: true, ok: true, path: 'handrail.config.json', profiles: ['ci'], config: { schemaVersion: 1 } },
    })
  },
)

proves(
  ['bridge.tested.token', 'bridge.incident.argv'],
  'no token, another one, and the token of a file that is about another address: refused',
  async () => {
    const other = join(world.base, 'other.json')
    const env = { HANDRAIL_DEVSERVER_TOKEN: '' }
    const url = String(started['url'])
    const without = await devserver(['call', 'dev.info', '--url', url, '--stateFile', other], env)
    expect(without).toMatchObject({ code: 1, said: { ok: false, error: { code: 'ERR_UNAUTHORIZED' } } })
    const state = json(readFileSync(stateFile, 'utf8'))
    writeFileSync(other, JSON.stringify({ ...state, url: 'ws://127.0.0.1:9', port: 9 }), { mode: 0o600 })
    expect((await devserver(['call', 'dev.info', '--url', url, '--stateFile', other], env)).said).toMatchObject({
      error: { code: 'ERR_UNAUTHORIZED' },
    })
    const file = join(world.base, 'token.txt')
    writeFileSync(file, `${String(state['token'])}\n`)
    const named = ['call', 'dev.info', '--url', url, '--stateFile', join(world.base, 'none.json')]
    expect((await devserver([...named, '--tokenFile', file])).code).toBe(0)
    expect((await devserver(named, { HANDRAIL_DEVSERVER_TOKEN: String(state['token']) })).code).toBe(0)
  },
)

proves(
  'bridge.untested.start',
  'a second server for the same file does not start; both flags, a taken port and a file of others are said',
  async () => {
    const again = await devserver(['start', '--stateFile', stateFile])
    expect(again).toMatchObject({ code: 1, said: { kind: 'DevServerStartFailed', error: { code: 'ERR_START_FAILED' } } })
    expect(json(readFileSync(stateFile, 'utf8'))['pid']).toBe(child.pid)
    expect(await devserver(['start', '--allowWrite', '--readOnly'])).toMatchObject({
      code: 2,
      said: { error: { code: 'ERR_INVALID_ARGS' } },
    })
    expect(await devserver(['start', '--host', '0.0.0.0'])).toMatchObject({
      code: 2,
      said: { error: { code: 'ERR_INVALID_ARGS' } },
    })
    const free = join(world.base, 'free.json')
    expect(await devserver(['start', '--port', String(started['port']), '--stateFile', free])).toMatchObject({
      code: 1,
      said: { error: { code: 'ERR_START_FAILED' } },
    })
    expect(existsSync(free)).toBe(false)
    const link = join(world.base, 'link.json')
    symlinkSync(join(world.base, 'elsewhere.json'), link)
    expect(await devserver(['start', '--stateFile', link])).toMatchObject({
      code: 1,
      said: { error: { code: 'ERR_START_FAILED' } },
    })
    expect(existsSync(join(world.base, 'elsewhere.json'))).toBe(false)
  },
)

proves(
  'bridge.untested.start',
  'what a server that was killed left is stale: it is said, nobody is sent its token, and the next one takes its place',
  async () => {
    const file = join(world.base, 'stale.json')
    const state = json(readFileSync(stateFile, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...state, pid: 999_999_999, process: '999999999-1' }), { mode: 0o600 })
    expect(await devserver(['status', '--stateFile', file])).toMatchObject({
      code: 1,
      said: { ok: false, error: { code: 'ERR_STATE_NOT_FOUND' } },
    })
    expect((await devserver(['call', 'dev.info', '--stateFile', file])).code).toBe(1)
    const place = openBridgeState(world.project, cleanEnv(world.base), file)
    const release = place.claim({ ...(state as never as object), pid: process.pid, port: 1 } as never)
    expect(place.read()).toMatchObject({ state: { pid: process.pid } })
    // What is another's by now is not taken away.
    writeFileSync(file, JSON.stringify({ ...state, port: 2 }), { mode: 0o600 })
    release()
    expect(existsSync(file)).toBe(true)
  },
)

test('at /dev of serve: the same bridge with the server’s token, which nobody ends over it', async () => {
  await using served = await openServe(world.project)
  const raw = await openRawClient(`${served.url.replace('http', 'ws')}/dev`, { own: served.token })
  raw.ask('i', 'dev.info')
  expect((await raw.response('i')).result).toMatchObject({ capabilities: { write: false } })
  raw.ask('s', 'dev.stop')
  expect((await raw.response('s')).error?.code).toBe('ERR_FORBIDDEN')
  raw.ask('t', 'dev.info', {}, { auth: { token } })
  expect((await raw.response('t')).error?.code).toBe('ERR_UNAUTHORIZED')
  raw.socket.terminate()
})

proves('bridge.tested.stop', 'stop: the server answers, exits 0, its file is gone, and nothing more was printed', async () => {
  const ended = once(child, 'exit')
  expect(await devserver(['stop', '--stateFile', stateFile])).toMatchObject({
    code: 0,
    said: { kind: 'DevServerStopResult', ok: true, stopped: true },
  })
  expect((await ended)[0]).toBe(0)
  expect(existsSync(stateFile)).toBe(false)
  expect(lines).toHaveLength(1)
  expect(await devserver(['stop', '--stateFile', stateFile])).toMatchObject({
    code: 1,
    said: { ok: false, error: { code: 'ERR_STATE_NOT_FOUND' } },
  })
})
