import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { killedAt, moments } from '../support/killed-at.ts'
import { runInside } from '../support/inside.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** A process dies at each moment between a person's yes and what it lets through: the log and the store tell the same story. */
const config = { policies: { askFrom: 'R1', writeRequiresDiff: false } }
const asCli = { session: 'cli-default', surface: 'cli', client: 'handrail-cli', approvalWaitMs: 0 } as const

const input = (n: number) => ({ path: 'a.txt', content: `line ${n}\n`, mode: 'append', dryRun: false })

async function asked(world: World, n: number): Promise<string> {
  const fault = await world.fault('write_to_file', input(n), asCli)
  return String(fault.details?.['approvalId'])
}

/** Of a question, its answer, and whether it was used. */
const told = (world: World, approval: string): AuditLine[] =>
  [...world.runtime.audit.lines()].filter(
    (line) => line.approval === approval && /^(approval\.\w+|call\.resumed|recovered)$/.test(line.event),
  )

const stateOf = (world: World, id: string): string | undefined => world.runtime.approvals.get(id)?.state

const written = (world: World, n: number): number => world.read('a.txt').split(`line ${n}\n`).length - 1

for (const answer of ['approve', 'deny'] as const)
  test(`${answer}: whenever its process dies, the question waits or is answered, and the log says which`, async () => {
    await using world = await openWorld({ files: { 'a.txt': '' }, config })
    let unfinished = 0
    for (const moment of moments(answer, 24)) {
      const id = await asked(world, moment)
      const end = await killedAt(world.base, world.project, ['approvals', answer, id], moment, 'SELECT * FROM approvals')
      const state = stateOf(world, id)
      const at = `killed before write ${moment}: ${end.err}`
      expect(state, at).toBe(state === 'pending' ? 'pending' : answer === 'approve' ? 'approved' : 'denied')
      // Whatever is opened next finds it.
      expect((await runInside(world.project, ['approvals', 'list'])).code).toBe(0)
      const last = told(world, id).at(-1)
      if (state === 'pending') {
        expect(last?.event, at).toMatch(/^(approval\.requested|recovered)$/)
        if (last?.event === 'recovered') unfinished++
        world.runtime.approvals.decide(id, { approve: true, by: 'test' })
      } else expect(last, at).toMatchObject({ event: 'approval.decided', approved: answer === 'approve' })
      const again = told(world, id).filter(({ event }) => event === 'recovered')
      expect(again.length, 'said once').toBeLessThan(2)
      if (stateOf(world, id) === 'approved') {
        await world.call('write_to_file', input(moment), asCli)
        expect(await asked(world, moment), 'a yes counts once').not.toBe(id)
        expect(written(world, moment)).toBe(1)
        expect(told(world, id).filter(({ event }) => event === 'call.resumed')).toHaveLength(1)
      }
      if (end.code === 0) break
    }
    if (isSoak) expect(unfinished, 'some died between the log and the store').toBeGreaterThan(0)
  })

test('whenever the caller dies, its yes is used once at most', async () => {
  await using world = await openWorld({ files: { 'a.txt': '' }, config })
  const call = (n: number): string[] => ['call', 'write_to_file', JSON.stringify(input(n)), '--wait', '0']
  for (const moment of moments('the caller', 24)) {
    const id = await asked(world, moment)
    world.runtime.approvals.decide(id, { approve: true, by: 'test' })
    const end = await killedAt(world.base, world.project, call(moment), moment, 'input_digest = ? AND session')
    const state = stateOf(world, id)
    const at = `killed before write ${moment}: ${end.err}`
    expect(state, at).toMatch(/^(approved|used)$/)
    const again = await runInside(world.project, call(moment))
    expect(again.code, `${at} ${again.err}`).toBe(state === 'approved' ? 0 : 1)
    expect(written(world, moment), at).toBe(state === 'approved' || end.code === 0 ? 1 : written(world, moment) && 1)
    const acts = told(world, id).filter(({ event }) => event === 'call.resumed')
    expect(acts.length, at).toBeLessThanOrEqual(1)
    if (written(world, moment)) expect(acts, at).toHaveLength(1)
    if (end.code === 0) break
  }
})

test(
  'whenever its process dies, no grant is in force that the log says was taken back, and none that it does not say was given',
  {
    timeout: 240_000,
  },
  async () => {
    await using world = await openWorld({ files: { '.env': 'A=1\n' } })
    world.runtime.openSession({ id: 'sess_test', surface: 'mcp-stdio', client: 'test/1' })
    const logged = (event: string): number => world.runtime.audit.last(1_000, (line) => line.event === event).length
    for (const args of [['allow', 'secret', '.env'], ['revoke']])
      for (const moment of moments(`grants ${args[0]}`, 24)) {
        for (const { id } of world.runtime.grants.list()) world.runtime.grants.revoke(id, 'test')
        const given =
          args[0] === 'revoke' ? [(await world.runtime.grants.give({ kind: 'secret', subject: '.env', by: 'test' })).id] : []
        const before = { given: logged('grant.given'), revoked: logged('grant.revoked') }
        const words = args[0] === 'revoke' ? 'FROM grants WHERE id' : 'FROM sessions'
        const end = await killedAt(world.base, world.project, ['grants', ...args, ...given], moment, words)
        const applySettings = world.runtime.grants.list().length
        const at = `${args[0]} killed before write ${moment}: ${end.err}`
        if (args[0] === 'allow') expect(logged('grant.given') - before.given, at).toBeGreaterThanOrEqual(applySettings)
        else expect(logged('grant.revoked') - before.revoked, at).toBeLessThanOrEqual(1 - applySettings)
        if (end.code === 0) break
      }
  },
)
