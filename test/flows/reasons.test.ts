// @stage
import { expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { auditText } from '../support/records.ts'
import { openWorld, type World } from '../support/world.ts'

// What contract 000 tells with one code is told apart inside, by the reason alone.

const write = (path: string, content = 'x\n') => ({ path, content, dryRun: false })
const free = { 'write-requires-diff': 'false', 'approval-wait-ms': '0' }
const shell = { ...free, 'enable-shell': 'true' }

const lastLine = (world: World): unknown => JSON.parse(auditText(world).trim().split('\n').at(-1) ?? '')

const policy: Record<string, [flags: Record<string, string>, act: (world: World) => Promise<unknown>]> = {
  'no-dry-run': [{}, (world) => world.call('write_to_file', write('a.txt'))],
  'read-only': [{ ...free, 'read-only': 'true' }, (world) => world.call('write_to_file', write('a.txt'))],
  'needs-approval': [free, (world) => world.call('write_to_file', write('package.json'))],
  declined: [
    free,
    async (world) => {
      const asked = await world.fault('write_to_file', write('package.json'))
      world.runtime.approvals.decide(String(asked.details?.['approvalId']), { approve: false, by: 'the person' })
      return world.call('write_to_file', write('package.json'))
    },
  ],
  policy: [{ ...free, 'batch-max-lines': '1' }, (world) => world.call('write_to_file', write('a.txt', 'x\n'.repeat(9)))],
  'over-limit': [
    { ...shell, 'stage-disk-bytes': '2000000' },
    (world) => world.call('shell', { command: 'head -c 50000000 /dev/zero > big' }),
  ],
}

test.for(Object.entries(policy))('%s', async ([reason, [flags, act]]) => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags })
  const fault = await act(world).then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  )
  expect(fault).toMatchObject({ reason })
  expect(errorCodeOf(fault as never)).toBe('E_POLICY_VIOLATION')
})

test('a call that is taken back is cancelled, one that is late is not, and the log says which', async () => {
  await using world = await openWorld({ flags: shell })
  const late = await world.fault('shell', { command: 'sleep 60', timeout_seconds: 1 })
  expect([late.reason, late.code]).toEqual(['timeout', 'E_TIMEOUT'])
  expect(lastLine(world)).toMatchObject({ outcome: 'error', error: 'E_TIMEOUT', reason: 'timeout' })
  const stop = new AbortController()
  const call = world.fault('shell', { command: 'sleep 60' }, { signal: stop.signal, onProgress: () => stop.abort() })
  const taken = await call
  expect([taken.reason, taken.code]).toEqual(['cancelled', 'E_TIMEOUT'])
  expect(lastLine(world)).toMatchObject({ outcome: 'cancelled', error: 'E_TIMEOUT', reason: 'cancelled' })
})

test('a tool nobody knows is not one that does not work here', async () => {
  await using world = await openWorld()
  const fault = await world.fault('no_such_tool', {})
  expect([fault.reason, fault.code]).toEqual(['unknown-tool', 'E_UNSUPPORTED'])
})
