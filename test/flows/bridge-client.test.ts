import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { BridgeEventOf } from '../../src/client/api.ts'
import { BridgeFailure, connect } from '../../src/client/node.ts'
import { serveBridge } from '../../src/runtime/bridge.ts'
import { openBridgeWorld, token, type BridgeWorld } from '../support/bridge.ts'
import { eventually } from '../support/sockets.ts'
import { cleanEnv, repository, testFolder } from '../support/world.ts'

// `handrail/client` against a real bridge.

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

async function ground(): Promise<BridgeWorld> {
  const one = await openBridgeWorld()
  open.push(one)
  return one
}
async function enter(url: string, options: Parameters<typeof connect>[1] = {}) {
  const client = await connect(url, { token, ...options })
  open.push({ [Symbol.asyncDispose]: async () => client.close() })
  return client
}
const failure = async (doing: Promise<unknown>): Promise<BridgeFailure> => {
  const thrown: unknown = await doing.then(
    () => undefined,
    (one: unknown) => one,
  )
  expect(thrown).toBeInstanceOf(BridgeFailure)
  return thrown as BridgeFailure
}

test('methods, results and events have their types, and failures their codes', async () => {
  const { url, world } = await ground()
  const client = await enter(url)
  expect(client.server?.cwd).toBe(world.project)
  expect((await client.info()).capabilities.write).toBe(false)
  expect((await client.snapshot({ maxBytes: 100 })).cliConfig.found).toBe(false)
  const events: BridgeEventOf[] = []
  const { results } = await client.runChecks({ checks: ['lint'] }, { onEvent: (event) => events.push(event) })
  expect(results[0]?.exitCode).toBe(127)
  expect(events.map(({ kind }) => kind)).toEqual([
    'dev.event.check.started',
    'dev.event.check.diagnostics',
    'dev.event.check.finished',
  ])
  expect((await failure(client.run({ argv: ['write', 'a', 'b', '--mode', 'write'] }))).code).toBe('ERR_FORBIDDEN')
  expect((await failure(client.cancel('none'))).data).toMatchObject({ targetRequestId: 'none' })
})

test('a signal cancels at the server, and the request ends by its own answer; before it is sent it is over at once', async () => {
  const { url, ran } = await ground()
  const client = await enter(url)
  const abort = new AbortController()
  const told: string[] = []
  const waiting = client.run({ argv: ['wait'] }, { signal: abort.signal, onEvent: ({ kind }) => told.push(kind) })
  await eventually('the command', () => ran[0])
  abort.abort()
  expect((await failure(waiting)).code).toBe('ERR_CANCELLED')
  expect(told).toEqual(['dev.event.request.cancelled'])
  expect((await failure(client.run({ argv: ['wait'] }, { signal: abort.signal }))).code).toBe('ERR_CANCELLED')
  expect(ran).toHaveLength(1)
  expect((await failure(client.run({ argv: ['wait'] }, { timeoutMs: 50 }))).code).toBe('CALL_TIMEOUT')
})

test('a wrong token is known at once and not tried again; nobody there is said', async () => {
  const { url } = await ground()
  expect((await failure(connect(url, { token: 'wrong' }))).code).toBe('ERR_UNAUTHORIZED')
  expect((await failure(connect('ws://127.0.0.1:9', { token }))).code).toBe('CONNECTION_LOST')
})

test('it connects again: what only reads is asked again, what was under way is said to be lost', async () => {
  const at = await ground()
  const states: string[] = []
  let isOpen = (): void => undefined
  const client = await enter(at.url, {
    reconnect: { leastMs: 5, mostMs: 20 },
    onState(state) {
      states.push(state)
      if (state === 'open') isOpen()
    },
  })
  const lost = failure(client.run({ argv: ['wait'] }))
  await client.info()
  await at.server.close()
  expect(['ERR_CANCELLED', 'CONNECTION_LOST']).toContain((await lost).code)
  const asked = client.info()
  const opened = new Promise<void>((resolve) => (isOpen = resolve))
  const again = await serveBridge(at.world.runtime, {
    host: '127.0.0.1',
    port: at.port,
    allowRemote: false,
    allowOrigins: [],
    allowWrite: true,
    token,
    stateFile: `${at.world.base}/again.json`,
  })
  open.push({ [Symbol.asyncDispose]: () => again.close() })
  await opened
  expect((await asked).capabilities.write).toBe(true)
  expect(client.server?.capabilities.write).toBe(true)
  expect(states).toEqual(expect.arrayContaining(['open', 'waiting', 'connecting']))
  client.close()
  expect((await failure(client.info())).code).toBe('CONNECTION_LOST')
})

test('a project that installed the package imports it with its types, in Node and for pages', () => {
  const base = mkdtempSync(join(testFolder(), 'handrail-client-'))
  try {
    mkdirSync(join(base, 'node_modules'))
    symlinkSync(repository, join(base, 'node_modules', 'handrail'))
    writeFileSync(
      join(base, 'use.ts'),
      `import { connect, BridgeFailure, type Diagnostic } from 'handrail/client'
const client = await connect('ws://127.0.0.1:1', { token: 'x' })
const { results } = await client.runChecks({ checks: ['lint'] }, { onEvent: (event) => { if (event.kind === 'dev.event.check.started') event.payload.check satisfies string } })
const found: Diagnostic[] = results.flatMap((one) => one.diagnostics)
// @ts-expect-error there is no such check
await client.runChecks({ checks: ['build'] })
export { found, BridgeFailure }
`,
    )
    writeFileSync(join(base, 'package.json'), '{"type":"module"}')
    const tsc = join(repository, 'node_modules/typescript/bin/tsc')
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--types',
      '',
      'use.ts',
    ]
    execFileSync(process.execPath, [tsc, ...flags], { cwd: base, env: cleanEnv(base), stdio: 'pipe' })
    const words = `import { connect } from 'handrail/client'; console.log(typeof connect)`
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', words], { cwd: base, encoding: 'utf8' })
    expect(said.trim()).toBe('function')
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
})
