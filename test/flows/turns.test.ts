import { setTimeout as pause } from 'node:timers/promises'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import type { Tool } from '../../src/contracts/tool.ts'
import { openInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'
import { defineTool, files, form, openBench } from '../support/seats.ts'

// ---- the road: order, number, cancelling, time, progress ---------------------------------------------------------

/** Two tools whose calls stay inside until they are let go, and what happened in which order. */
function gates() {
  const inside = new Map<string, () => void>()
  const signals = new Map<string, AbortSignal>()
  const events: string[] = []
  const now = { active: 0, most: 0 }
  const stay = async (name: string, signal: AbortSignal): Promise<void> => {
    events.push(`in ${name}`)
    signals.set(name, signal)
    now.most = Math.max(now.most, ++now.active)
    await new Promise<void>((resolve) => inside.set(name, resolve))
    now.active--
    events.push(`out ${name}`)
  }
  const gate = (access: 'read' | 'write'): Tool =>
    defineTool({
      ...form,
      name: `${access}_gate`,
      risk: access === 'read' ? 'R0' : 'R1',
      input: Type.Object({ path: Type.String(), name: Type.String() }),
      touches: ({ path }) => [{ path, access }],
      async execute({ path, name }, _, call) {
        await stay(name, call.signal)
        if (access === 'write') await call.change([{ path, content: Buffer.from(`${name}\n`) }])
        return { name }
      },
    }).bind({})
  return {
    tools: [gate('read'), gate('write')],
    events,
    signals,
    most: () => now.most,
    isIn: (name: string) => inside.has(name),
    /** Waits until a call is inside. */
    async reached(name: string): Promise<void> {
      for (let tries = 0; tries < 2_000; tries++) {
        if (inside.has(name)) return
        await pause(5)
      }
      throw new Error(`${name} never got in; so far: ${events.join(', ')}`)
    },
    open: (name: string) => inside.get(name)?.(),
  }
}

/** Long enough for what is going to happen at once to happen, so that what must not happen can show. */
const settle = (): Promise<void> => pause(60)
describe('turns', () => {
  test('writers of one file go one by one in the order they came', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const names = ['w1', 'w2', 'w3', 'w4']
    const calls = names.map((name) => bench.call('write_gate', { path: 'a.txt', name }))
    for (const name of names) {
      await gate.reached(name)
      await settle()
      expect(names.filter(gate.isIn)).toEqual(names.slice(0, names.indexOf(name) + 1))
      gate.open(name)
    }
    await Promise.all(calls)
    expect(gate.events).toEqual(names.flatMap((name) => [`in ${name}`, `out ${name}`]))
    expect(bench.home.read('a.txt')).toBe('w4\n')
  })

  test('readers of a file go together, a writer alone, and nobody overtakes a waiting writer', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const call = (kind: string, name: string) => bench.call(`${kind}_gate`, { path: 'a.txt', name })
    const calls = [call('read', 'r1'), call('read', 'r2'), call('write', 'w'), call('read', 'r3')]
    await gate.reached('r1')
    await gate.reached('r2')
    await settle()
    expect(gate.isIn('w') || gate.isIn('r3')).toBe(false)
    gate.open('r1')
    gate.open('r2')
    await gate.reached('w')
    await settle()
    expect(gate.isIn('r3')).toBe(false)
    gate.open('w')
    await gate.reached('r3')
    gate.open('r3')
    await Promise.all(calls)
  })

  test('other spellings of a path are the same file', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const calls = [
      bench.call('read_gate', { path: 'a.txt', name: 'r' }),
      bench.call('write_gate', { path: './/a.txt', name: 'w' }),
    ]
    await gate.reached('r')
    await settle()
    expect(gate.isIn('w')).toBe(false)
    gate.open('r')
    await gate.reached('w')
    gate.open('w')
    await Promise.all(calls)
  })

  test('a call on another file does not wait behind those that queue for a busy one', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const calls = [
      bench.call('read_gate', { path: 'a.txt', name: 'holds' }),
      bench.call('write_gate', { path: 'a.txt', name: 'waits' }),
    ]
    await gate.reached('holds')
    const other = bench.call('read_gate', { path: 'b.txt', name: 'free' })
    await gate.reached('free')
    gate.open('free')
    await other
    gate.open('holds')
    await gate.reached('waits')
    gate.open('waits')
    await Promise.all(calls)
  })

  test('limits.maxConcurrent bounds how many are carried out at once, and all come through', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 3 }, files })
    const names = Array.from({ length: 10 }, (_, index) => `r${index}`)
    const calls = names.map((name) => bench.call('read_gate', { path: 'a.txt', name }))
    for (const name of names) {
      await gate.reached(name)
      await pause(5)
      gate.open(name)
    }
    expect(await Promise.all(calls)).toHaveLength(10)
    expect(gate.most()).toBe(3)
  })

  test('changes that wait, for the lock or for whatever else, keep no read out', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 2 }, files })
    const others = { session: 'sess_other' }
    const changes = [
      bench.call('write_gate', { path: 'w1.txt', name: 'w1' }),
      bench.call('write_gate', { path: 'w2.txt', name: 'w2' }, others),
      bench.call('write_gate', { path: 'w3.txt', name: 'w3' }),
    ]
    await gate.reached('w1')
    await gate.reached('w2')
    const read = bench.call('read_gate', { path: 'a.txt', name: 'r' }, others)
    await gate.reached('r')
    for (const name of ['r', 'w1', 'w2']) gate.open(name)
    await read
    await gate.reached('w3')
    gate.open('w3')
    expect(await Promise.all(changes)).toHaveLength(3)
  })

  test('limits.maxQueued bounds how many wait; one more is told so', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 1, 'limits.maxQueued': 2 }, files })
    const names = ['r1', 'r2', 'r3']
    const calls = names.map((name) => bench.call('read_gate', { path: 'a.txt', name }))
    await gate.reached('r1')
    await settle()
    const fault = await bench.fault('read_gate', { path: 'a.txt', name: 'r4' })
    expect(fault).toMatchObject({
      code: 'E_POLICY_VIOLATION',
      reason: 'busy',
      hint: expect.stringContaining('maxQueued') as string,
    })
    for (const name of names) {
      await gate.reached(name)
      gate.open(name)
    }
    expect(await Promise.all(calls)).toHaveLength(3)
    expect(gate.isIn('r4')).toBe(false)
  })
})

describe('cancelling', () => {
  const cancelled = { code: 'E_TIMEOUT', reason: 'cancelled', details: { cancelled: true } }

  test('a running call ends, its tool is told, and the project is free again', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const controller = new AbortController()
    const fault = bench.fault('write_gate', { path: 'a.txt', name: 'w' }, { signal: controller.signal })
    await gate.reached('w')
    controller.abort()
    expect(await fault).toMatchObject(cancelled)
    expect(gate.signals.get('w')?.aborted).toBe(true)
    gate.open('w')
    await settle()
    expect(bench.home.read('a.txt'), 'a tool that goes on anyway can change nothing').toBe('0\n')
    expect(bench.audit().at(-1)).toMatchObject({ event: 'call.end', tool: 'write_gate', outcome: 'cancelled' })
    const next = bench.call('write_gate', { path: 'a.txt', name: 'next' })
    await gate.reached('next')
    gate.open('next')
    await next
    expect(bench.home.read('a.txt')).toBe('next\n')
  })

  test('a call that waits for its turn leaves the queue and is never carried out', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const first = bench.call('read_gate', { path: 'a.txt', name: 'first' })
    await gate.reached('first')
    const controller = new AbortController()
    const second = bench.fault('write_gate', { path: 'a.txt', name: 'second' }, { signal: controller.signal })
    const third = bench.call('read_gate', { path: 'a.txt', name: 'third' })
    await settle()
    controller.abort()
    expect(await second).toMatchObject(cancelled)
    await gate.reached('third')
    gate.open('third')
    gate.open('first')
    await Promise.all([first, third])
    expect(gate.isIn('second')).toBe(false)
  })

  test.for(['read', 'write'])('a %s that was cancelled before it came is not carried out', async (kind) => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const fault = await bench.fault(`${kind}_gate`, { path: 'a.txt', name: 'late' }, { signal: AbortSignal.abort() })
    expect(fault).toMatchObject(cancelled)
    expect(gate.events).toEqual([])
  })

  test('a call cancelled before it came does not wait in the queue either', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 1 }, files })
    const first = bench.call('read_gate', { path: 'a.txt', name: 'first' })
    await gate.reached('first')
    const second = bench.fault('read_gate', { path: 'a.txt', name: 'second' }, { signal: AbortSignal.abort() })
    const outcome = await Promise.race([second, pause(30_000, 'still waits')])
    gate.open('first')
    await first
    expect(outcome).toMatchObject(cancelled)
  })
})

describe('the deadline', () => {
  test('limits.callTimeoutMs ends a call with E_TIMEOUT, and what its tool does later changes nothing', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.callTimeoutMs': 150 }, files })
    for (const kind of ['read', 'write']) {
      const fault = await bench.fault(`${kind}_gate`, { path: 'a.txt', name: kind })
      expect(fault).toMatchObject({
        code: 'E_TIMEOUT',
        reason: 'timeout',
        hint: expect.stringContaining('callTimeoutMs') as string,
      })
      expect(fault.details?.['cancelled']).toBeUndefined()
      expect(gate.signals.get(kind)?.aborted).toBe(true)
      gate.open(kind)
    }
    await settle()
    expect(bench.home.read('a.txt')).toBe('0\n')
    expect(bench.audit().filter((line) => line.error === 'E_TIMEOUT')).toHaveLength(2)
  })

  test('a call within the deadline is not cut', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.callTimeoutMs': 60_000 }, files })
    const call = bench.call('write_gate', { path: 'a.txt', name: 'w' })
    await gate.reached('w')
    gate.open('w')
    await call
    expect(bench.home.read('a.txt')).toBe('w\n')
  })
})

describe('progress', () => {
  const counting = defineTool({
    ...form,
    name: 'count',
    risk: 'R0',
    input: Type.Object({ to: Type.Integer() }),
    async execute({ to }, _, call) {
      for (let done = 1; done <= to; done++) {
        call.progress(done, to, `step ${done}`)
        await pause(1)
      }
      return { to }
    },
  }).bind({})

  test('is handed to the caller as it comes', async () => {
    await using bench = openBench([counting])
    const seen: unknown[] = []
    await bench.call('count', { to: 3 }, { onProgress: (...step) => void seen.push(step) })
    expect(seen).toEqual([
      [1, 3, 'step 1'],
      [2, 3, 'step 2'],
      [3, 3, 'step 3'],
    ])
    expect(await bench.call('count', { to: 2 }), 'nobody has to listen').toEqual({ to: 2 })
  })

  test('reaches an MCP client that asks for it, and only goes up', async () => {
    const many = Object.fromEntries(Array.from({ length: 11_000 }, (_, index) => [`many/${index % 10}/f${index}`, '']))
    await using world = await openWorld({ files: many })
    await using peer = await openInside(world.project)
    const seen: number[] = []
    const request = { name: 'list_files', arguments: { path: '.', globs: ['**/nothing'] } }
    const result = await peer.client.callTool(request, { onprogress: ({ progress }) => void seen.push(progress) })
    expect(result.structuredContent).toEqual({ entries: [] })
    // A client that gets the answer first no longer listens, so the last step may be missed.
    expect([[5_000], [5_000, 10_000]]).toContainEqual(seen)
  })
})
