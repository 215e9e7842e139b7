import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import Type from 'typebox'
import { expect, test } from 'vitest'
import type { Caller } from '../../src/contracts/call.ts'
import type { AgentCaller, AgentGate } from '../../src/contracts/gate.ts'
import type { Profile } from '../../src/contracts/profile.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { defineTool, form, openHome } from '../support/seats.ts'
import { cleanEnv, openWorld } from '../support/world.ts'

const caller: AgentCaller = { surface: 'mcp-http', client: 'other/1', session: 'sess_other', role: 'agent' }
const person: Caller = { surface: 'cli', client: 'person', session: 'sess_person', role: 'person' }
const ask = async (gate: AgentGate, tool: string, input: object): Promise<unknown> =>
  gate.call(tool, input, caller).then(
    ({ output }) => output,
    (fault: { reason: string }) => fault.reason,
  )

/** As contract 001 has it: absolute paths, no dry run. */
const absolute: Profile = { paths: 'absolute', dryRun: false, forbids: ['drafts'] }

test('each gate has its own path rules and its own demand for a dry run, over the same files, log and undo', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'one\n', 'drafts/b.txt': 'draft\n', '.env': 'KEY=1\n', 'secret.txt': 'x\n', 'plain.txt': 'KEY=2\n' },
    config: { policies: { forbiddenDirs: ['.git', 'secret.txt'] } },
  })
  symlinkSync('plain.txt', world.path('.env.local'))
  const { gate } = world.runtime
  const other = world.runtime.gateFor(absolute)
  expect(world.runtime.gateFor(absolute)).toBe(other)
  const at = world.path('a.txt')
  const write = (path: string): object => ({ path, content: 'two\n', dryRun: false })

  expect(await ask(other, 'read_file', { path: at })).toMatchObject({ content: 'one\n' })
  expect(await ask(other, 'read_file', { path: 'a.txt' })).toMatchObject({ content: 'one\n' })
  // What one gate has found in order is not known to the other.
  expect(await ask(gate, 'read_file', { path: at })).toBe('path-denied')
  expect(await ask(gate, 'read_file', { path: 'drafts/b.txt' })).toMatchObject({ content: 'draft\n' })
  const denied = [
    'drafts/b.txt',
    world.path('drafts/b.txt'),
    world.path('.env'),
    world.path('secret.txt'),
    world.path('plain.txt'),
    '.env',
    '/etc/passwd',
  ]
  const escapes = [`${world.project}/../x`, `${world.project}-other/a.txt`, `${world.project}//etc/passwd`, join(world.base, 'x')]
  for (const path of [...denied, ...escapes]) {
    expect([path, await ask(other, 'read_file', { path })]).toEqual([path, 'path-denied'])
    expect([path, await ask(other, 'write_to_file', write(path))]).toEqual([path, 'path-denied'])
  }

  expect(await ask(gate, 'write_to_file', write('a.txt'))).toBe('no-dry-run')
  expect(await ask(other, 'write_to_file', write(at))).toMatchObject({ applied: true })
  const [state] = world.runtime.snapshots(1, '')
  expect(state).toMatchObject({ path: 'a.txt', session: 'sess_other' })
  expect(world.runtime.audit.last(1, ({ event }) => event === 'call.end')[0]).toMatchObject({
    client: 'other/1',
    outcome: 'ok',
  })
  await world.runtime.call('undo', { snapshot: state?.id, dryRun: false }, person)
  expect(world.read('a.txt')).toBe('one\n')
})

test('a profile only tightens what the person has set, but for the dry run', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'one\n' },
    flags: { 'read-only': 'true', 'disabled-tools': 'list_files' },
  })
  const other = world.runtime.gateFor({ dryRun: false, withholds: ['search_files'] })
  expect(await ask(other, 'write_to_file', { path: 'a.txt', content: 'two\n', dryRun: false })).toBe('read-only')
  expect([other.offers('list_files'), other.offers('search_files'), other.offers('read_file')]).toEqual([false, false, true])
  expect(world.runtime.gate.offers('search_files')).toBe(true)
  const most = Number.MAX_SAFE_INTEGER
  expect(world.runtime.gateFor({ deadlines: { answerMs: most } }).waits).toEqual(world.runtime.gate.waits)
})

test('deadlines are the profile’s', async () => {
  await using home = openHome()
  const waits = defineTool({
    ...form,
    name: 'wait_here',
    risk: 'R0',
    input: Type.Object({}),
    touches: () => [],
    execute: (_input, _use, call) => new Promise((resolve) => call.signal.addEventListener('abort', () => resolve({}))),
  }).bind({})
  const operator = openRuntime({ project: home.project, environment: cleanEnv(home.base) }, () => [waits])
  try {
    expect(await ask(operator.gateFor({ deadlines: { callMs: 20 } }), 'wait_here', {})).toBe('timeout')
  } finally {
    await operator.close()
  }
})

test('a tool knows whether anybody takes what it shows beside its answer, and need not make it where nobody does', async () => {
  await using home = openHome()
  const shows = defineTool({
    ...form,
    name: 'show_here',
    risk: 'R0',
    input: Type.Object({}),
    touches: () => [],
    execute(_input, _use, call) {
      call.attach?.({ mimeType: 'image/png', bytes: Buffer.from('x') })
      made.push(call.attach !== undefined)
      return Promise.resolve({})
    },
  }).bind({})
  const made: boolean[] = []
  const taken: string[] = []
  const operator = openRuntime({ project: home.project, environment: cleanEnv(home.base) }, () => [shows])
  try {
    await operator.gate.call('show_here', {}, caller)
    await operator.gate.call('show_here', {}, caller, { onAttachment: ({ mimeType }) => void taken.push(mimeType) })
  } finally {
    await operator.close()
  }
  expect([made, taken]).toEqual([[false, true], ['image/png']])
})

test('settings that change take effect at every gate', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const operator = openRuntime({ project: world.project, environment: cleanEnv(world.base), live: true })
  try {
    const other = operator.gateFor(absolute)
    const changed = new Promise<void>((resolve) => operator.gate.onToolsChanged(resolve))
    world.settings({ disabledTools: ['search_files'], policies: { forbiddenDirs: ['a.txt'] } })
    await changed
    expect([operator.gate.offers('search_files'), other.offers('search_files')]).toEqual([false, false])
    expect(await ask(other, 'read_file', { path: world.path('a.txt') })).toBe('path-denied')
  } finally {
    await operator.close()
  }
})
