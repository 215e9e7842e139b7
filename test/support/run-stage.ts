import Type from 'typebox'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { toolsUsing, type Tool } from '../../src/contracts/tool.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { allTools } from '../../src/toolsets/index.ts'
import { cleanEnv, type World } from './world.ts'

const open = { type: 'object' }

/** A template of these steps that answers what its first one did. */
export const template = (id: string, steps: object[], more: object = {}): object => ({
  id,
  version: '1.0.0',
  title: id,
  description: id,
  inputs: open,
  results: open,
  steps,
  result: { steps: { $: `steps.${(steps[0] as { id: string }).id}` } },
  ...more,
})

/** Tools that do what a test tells them to. */
export function stage() {
  const began: { input: { name: string }; signal: AbortSignal; end: () => void; fail: () => void }[] = []
  let heard: (() => void) | undefined
  const define = toolsUsing<undefined>('stand-in')
  const input = Type.Object({ name: Type.String() }, { additionalProperties: false })
  const form = {
    title: 'stand-in',
    description: 'stand-in',
    input,
    output: Type.Object({ name: Type.Optional(Type.String()), much: Type.Optional(Type.Array(Type.String())) }),
    faults: ['io'],
    examples: [],
  } as const
  const wait = (given: { name: string }, call: { signal: AbortSignal }): Promise<{ name: string }> =>
    new Promise((resolve, reject) => {
      began.push({
        input: given,
        signal: call.signal,
        end: () => resolve({ name: given.name }),
        fail: () => reject(new Fault('io', 'told to')),
      })
      call.signal.addEventListener('abort', () => reject(call.signal.reason as Error), { once: true })
      heard?.()
    })
  const tools = [
    define({ ...form, name: 'wait_reading', risk: 'R0', waits: true, execute: (given, _, call) => wait(given, call) }),
    define({ ...form, name: 'wait_once', risk: 'R1', waits: true, execute: (given, _, call) => wait(given, call) }),
    define({
      ...form,
      name: 'leave_and_wait',
      risk: 'R0',
      waits: true,
      execute(given, _, call) {
        call.attach?.({ mimeType: 'application/xml', bytes: Buffer.from(`<left>${given.name} 一</left>`) })
        return wait(given, call)
      },
    }),
    define({
      ...form,
      name: 'say_much',
      risk: 'R0',
      execute: () => ({ much: Array<string>(21).fill('x'.repeat(50_000_000)) }),
    }),
  ].map((tool) => tool.bind(undefined))
  return {
    tools,
    began,
    /** Resolves once so many calls have begun. */
    async begun(count: number): Promise<void> {
      while (began.length < count) await new Promise<void>((resolve) => (heard = resolve))
    },
  }
}

/** The project of a world with these tools beside the real ones. */
export const openOn = (world: World, tools: readonly Tool[], flags: Record<string, string> = {}): Operator =>
  openRuntime({ project: world.project, environment: cleanEnv(world.base), flags }, (use) => [...allTools(use), ...tools])
