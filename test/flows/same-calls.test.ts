import { expect, test } from 'vitest'
import { openLock } from '../../src/host/lock.ts'
import { approve, soon } from '../support/stage.ts'
import { openWorld } from '../support/world.ts'

const config = { policies: { askFrom: 'R1', writeRequiresDiff: false } }

for (const keyed of [true, false])
  test(`the same call made again while the first is being committed${keyed ? ', with a key' : ''}: it is answered by what becomes of that`, async () => {
    await using world = await openWorld({ files: { 'a.txt': '' }, config })
    const input = { path: 'a.txt', content: 'line\n', mode: 'append', dryRun: false, ...(keyed && { idempotencyKey: 'once' }) }
    const asked: string[] = []
    const call = (): Promise<unknown> => world.call('write_to_file', input, { onApproval: (id) => void asked.push(id) })
    const lock = openLock(world.state('locks/project.db'))
    let release: () => void = () => undefined
    const held = lock.hold(() => new Promise<void>((resolve) => (release = resolve)))
    const first = call()
    expect(await soon(() => asked.length === 1)).toBe(true)
    world.runtime.approvals.list('pending').forEach((one) => approve(world, one))
    const used = (): boolean => world.runtime.approvals.get(asked[0] ?? '')?.state === 'used'
    expect(await soon(used), 'the first is on its way, and waits for the lock').toBe(true)
    const second = call().catch((fault: unknown) => fault)
    // Its question, where it asks one, is there long before this comes back.
    await world.call('search_files', { path: '.', regex: 'line' }, { session: 'sess_other' })
    release()
    await held
    const answer = await first
    if (keyed) expect(await second).toEqual(answer)
    else expect(await second).toMatchObject({ reason: 'conflict' })
    expect(asked).toHaveLength(1)
    expect(world.runtime.approvals.list('pending')).toEqual([])
    expect(world.read('a.txt')).toBe('line\n')
    lock.close()
  })

test('a call that others made more of after its yes asks anew, and does not wait for itself', async () => {
  await using world = await openWorld({ config })
  const input = { path: 'd/HEAD', content: 'x\n', dryRun: false }
  const asked: string[] = []
  const lock = openLock(world.state('locks/project.db'))
  let release: () => void = () => undefined
  const held = lock.hold(() => new Promise<void>((resolve) => (release = resolve)))
  const giveUp = new AbortController()
  const call = world.call('write_to_file', input, { onApproval: (id) => void asked.push(id), signal: giveUp.signal })
  const ended = call.catch((fault: unknown) => fault)
  const answer = async (nth: number): Promise<boolean> => {
    if (!(await soon(() => asked.length === nth))) return false
    approve(world, { id: asked[nth - 1] ?? '' })
    return true
  }
  try {
    expect(await answer(1)).toBe(true)
    expect(await soon(() => world.runtime.approvals.get(asked[0] ?? '')?.state === 'used')).toBe(true)
    world.write('d/objects/x', '')
    world.write('d/refs/x', '')
    release()
    await held
    expect(await answer(2), 'it asks a second time').toBe(true)
    expect(world.runtime.approvals.get(asked[1] ?? '')?.card.notes?.join('')).toContain('git repository')
    expect(await ended).toMatchObject({ applied: true })
    expect(world.read('d/HEAD')).toBe('x\n')
  } finally {
    giveUp.abort()
    await ended
    lock.close()
  }
})
