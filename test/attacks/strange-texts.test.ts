import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

test('a key is the same key where it is the same text, whatever characters it has', async () => {
  await using world = await openWorld({ files: { 'a.txt': '' }, flags: { 'write-requires-diff': 'false' } })
  const answers: unknown[] = []
  const keys = ['k', 'k\0a', 'k\0b', 'k\ud800', 'k\ud801']
  const write = (idempotencyKey: string) =>
    world.call('write_to_file', { path: 'a.txt', content: JSON.stringify(idempotencyKey), dryRun: false, idempotencyKey })
  for (const key of keys) {
    answers.push(await write(key))
    expect(world.read('a.txt')).toBe(JSON.stringify(key))
  }
  await world.reopen()
  for (const [at, key] of keys.entries()) expect(await write(key)).toEqual(answers[at])
  expect(world.read('a.txt')).toBe(JSON.stringify(keys.at(-1)))
})

test('who asked, and what a person says with their no, are kept as they were said', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: { 'write-requires-diff': 'false' } })
  const note = 'not\0this \ud800 one'
  const input = { path: 'package.json', content: '{"scripts":{"test":"true"}}\n', dryRun: false }
  const fault = await world.fault('write_to_file', input, { approvalWaitMs: 0, client: 'c\0a/1', session: 'sess_\0a' })
  const { approvalId } = fault.details as { approvalId: string }
  world.runtime.approvals.decide(approvalId, { approve: false, by: 'me\0', note })
  expect(world.runtime.approvals.get(approvalId)).toMatchObject({
    client: 'c\0a/1',
    session: 'sess_\0a',
    decidedBy: 'me\0',
    note,
  })
})
