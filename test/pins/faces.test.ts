import { expect, expectTypeOf, test } from 'vitest'
import type { Caller } from '../../src/contracts/call.ts'
import type { ClientForms } from '../../src/contracts/client-forms.ts'
import type { AgentCaller, AgentGate } from '../../src/contracts/gate.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { openWorld } from '../support/world.ts'

/**
 * Code as `agent/` will be: it holds a gate, and tries for what only a person holds. `npm run check` compiles this file, and an
 * attempt that compiled would be an error there, since each is expected to be one.
 */
export async function selfApproving(gate: AgentGate, person: Caller): Promise<void> {
  // @ts-expect-error -- answering a question
  gate.approvals.decide('appr_1', { approve: true, by: 'me' })
  // @ts-expect-error -- under another name
  gate.decide('appr_1', { approve: true, by: 'me' })
  // @ts-expect-error -- through the form of a client
  gate.forms.answer('appr_1', person, { approve: true })
  // @ts-expect-error -- the person's credential
  gate.token('person')
  // @ts-expect-error -- the word of a link that signs the person in
  gate.consumeNonce('word', 1)
  // @ts-expect-error -- trust in the project's settings
  gate.trust.grant('digest', 'me')
  // @ts-expect-error -- what a session may do beyond the rules
  gate.grants.give({ kind: 'secret', path: '.env', by: 'me' })
  // @ts-expect-error -- the log itself
  gate.audit.renew()
  // @ts-expect-error -- what is kept for undo
  gate.pruning.apply({}, 'me')
  // @ts-expect-error -- the way back to the other face
  gate.operator.close()
  // @ts-expect-error -- a person's call
  await gate.call('undo', { last: true, dryRun: false }, person)
  // @ts-expect-error -- spelled out
  await gate.call('undo', {}, { surface: 'cli', client: 'me', session: 'mine', role: 'person' })
  const wanted = (operator: Operator): Promise<void> => operator.close()
  // @ts-expect-error -- a gate in the place of an operator
  await wanted(gate)
}

/** A surface that asks through a client's form has that power and no more of a person's. */
export function overreaching(forms: ClientForms, caller: AgentCaller): void {
  // @ts-expect-error -- in another's name
  forms.answer('appr_1', caller, { approve: true, by: 'person@page' })
  // @ts-expect-error -- what the card does not show
  forms.answer('appr_1', caller, { approve: true, unread: true })
  // @ts-expect-error -- taking a no back
  forms.lift('appr_1', 'me')
  // @ts-expect-error -- everybody's questions
  forms.list('pending')
}

test('a gate has nothing of the person by its type', () => {
  expectTypeOf<keyof AgentGate & keyof Operator>().toEqualTypeOf<
    'version' | 'tools' | 'listed' | 'offers' | 'openSession' | 'call'
  >()
  expectTypeOf<AgentCaller['role']>().toEqualTypeOf<'agent'>()
})

test('nor by what it is made of: not a name, and no call of a person', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.put('a.txt', 'two\n')
  const { gate } = world.runtime
  expect(Object.keys(gate).toSorted()).toEqual(
    [
      'version',
      'notice',
      'waits',
      'tools',
      'listed',
      'offers',
      'accepts',
      'assess',
      'offeredSkills',
      'onToolsChanged',
      'wraps',
      'mountsKnown',
      'openSession',
      'call',
      'events',
      'onNews',
      'lastLine',
      'snapshotIds',
    ].toSorted(),
  )
  expect(Object.keys(gate.waits).toSorted()).toEqual(['answerWithinMs', 'approvalWaitMs'])
  const person = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'person' } as unknown as AgentCaller
  await expect(gate.call('undo', { last: true, dryRun: false }, person)).rejects.toMatchObject({
    message: 'No such tool: undo',
  })
  expect(world.read('a.txt')).toBe('two\n')
})

test('a session hears of itself and of nobody else', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const { gate } = world.runtime
  const heard: (string | undefined)[] = []
  const first = gate.lastLine() + 1
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const stop = gate.events('sess_mine', { from: first }, (lines) => {
    heard.push(...lines.map(({ session }) => session))
    if (lines.some(({ event }) => event === 'call.end')) end()
  })
  for (const session of ['sess_other', 'sess_mine'])
    await world.call('write_to_file', { path: 'a.txt', content: `${session}\n`, dryRun: true }, { session })
  world.runtime.audit.note({ event: 'session.opened', session: 'sess_other' })
  for (const session of ['sess_other', 'sess_mine'])
    await world
      .call('write_to_file', { path: 'a.txt', content: `${session}\n`, dryRun: false }, { session })
      .catch(() => undefined)
  await ended
  stop()
  expect(new Set(heard)).toEqual(new Set(['sess_mine']))
})

test('a form answers for its own session, where forms count, as what it is, and once', async () => {
  await using world = await openWorld({ config: { policies: { writeRequiresDiff: false } }, flags: { 'approval-wait-ms': '0' } })
  const { forms, approvals } = world.runtime
  const mine: AgentCaller = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'agent' }
  const fault = await world.fault('write_to_file', { path: 'package.json', content: '{}\n', dryRun: false })
  const id = String(fault.details?.['approvalId'])
  const yes = { approve: true }
  forms.answer(id, { ...mine, session: 'sess_other' }, yes)
  forms.answer(id, { ...mine, surface: 'mcp-http' }, yes)
  expect([forms.question(id, 'sess_other'), approvals.state(id)]).toEqual([undefined, 'pending'])
  forms.answer(id, mine, { ...yes, by: 'person@page', unread: true } as typeof yes)
  expect(approvals.get(id)).toMatchObject({ state: 'approved', decidedBy: 'form@test/1' })
  forms.answer(id, mine, { approve: false })
  expect(approvals.state(id)).toBe('approved')
  expect(forms.reach('mcp-stdio', 'R3').form).toBe(false)
})
