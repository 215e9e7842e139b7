import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mostDeaths, type RunEnd, type RunStore, type Worker } from '../../src/contracts/run-ports.ts'
import type { RunView } from '../../src/contracts/run.ts'
import type { Card } from '../../src/contracts/tool.ts'
import type { World } from './world.ts'

const open = { type: 'object' }
const list = (items: object): object => ({
  type: 'object',
  properties: { items: { type: 'array', items } },
  required: ['items'],
  additionalProperties: false,
})
const file = { type: 'object', properties: { path: { type: 'string' }, text: { type: 'string' } }, required: ['path', 'text'] }
const base = {
  version: '1.0.0',
  title: 'stand-in',
  description: 'A stand-in for tests.',
  trust: ['local', 'remote'],
  results: open,
}

/** Templates of a person, made of real tools. */
export const standIns = {
  /** Appends to files, one after the other: each text must stand there once, whatever is killed. */
  append_all: {
    ...base,
    id: 'append_all',
    inputs: list(file),
    steps: [
      {
        id: 'append',
        tool: 'write_to_file',
        each: 'inputs.items',
        input: { path: { $: 'item.path' }, content: { $: 'item.text' }, mode: 'append', dryRun: false },
      },
    ],
    result: { summary: { $: 'steps.append.summary' } },
  },
  /** Reads files: as fast as a run can be. */
  read_all: {
    ...base,
    id: 'read_all',
    inputs: list({ type: 'string' }),
    steps: [{ id: 'read', tool: 'read_file', each: 'inputs.items', input: { path: { $: 'item' } } }],
    result: { summary: { $: 'steps.read.summary' }, items: { $: 'steps.read.items' } },
  },
  /** Replaces in one file: may not be done twice, and takes no key. */
  replace_once: {
    ...base,
    id: 'replace_once',
    inputs: open,
    steps: [
      { id: 'look', tool: 'read_file', input: { path: { $: 'inputs.path' } } },
      {
        id: 'replace',
        tool: 'replace_in_file',
        input: { path: { $: 'inputs.path' }, find: { $: 'inputs.find' }, replace: { $: 'inputs.replace' } },
      },
      { id: 'check', tool: 'read_file', input: { path: { $: 'inputs.path' } } },
    ],
    result: {
      before: { $: 'steps.look.output.content' },
      after: { $: 'steps.check.output.content' },
      count: { $: 'steps.replace.output.count' },
    },
  },
} as const

/** Puts templates into the person's folder. */
export function putTemplates(root: string, templates: Readonly<Record<string, object>> = standIns): void {
  const folder = join(root, 'config', 'handrail', 'templates')
  mkdirSync(folder, { recursive: true })
  for (const [name, template] of Object.entries(templates)) writeFileSync(join(folder, `${name}.json`), JSON.stringify(template))
}

export interface Handed {
  runId: string
  status: string
  mode: string
  deduplicated: boolean
}

export const handIn = (
  world: World,
  templateId: string,
  inputs: object,
  options: object = {},
): Promise<Handed & Partial<RunView>> => world.call('run_task_template', { templateId, inputs, options })

/** The run at its end. */
export async function ended(world: World, runId: string): Promise<RunView> {
  const runsApi = await world.runtime.runs()
  runsApi.work()
  return runsApi.wait(runId)
}

/** The run at its end, where a person answers whatever it waits for; and the cards they saw. */
export async function answered(
  world: World,
  runId: string,
  { approve = true, whenAsked }: { approve?: boolean; whenAsked?: () => void } = {},
): Promise<{ run: RunView; cards: Card[] }> {
  const { approvals } = world.runtime
  const cards: Card[] = []
  const run = await (
    await world.runtime.runs()
  ).wait(runId, {
    onProgress({ waiting }) {
      const asked = waiting && approvals.state(waiting.approvalId) === 'pending' ? approvals.get(waiting.approvalId) : undefined
      if (!asked) return
      cards.push(asked.card)
      whenAsked?.()
      approvals.decide(asked.id, { approve, by: 'the person' })
    },
  })
  return { run, cards }
}

/**
 * Processes that take up what there is, one after the other: each dies of the killer where it has that in hand, and else brings everything to
 * its end. Resolves with what failed, as the engine has it fail.
 */
export async function failedBesides(
  killer: string,
  { store, next }: { store: RunStore; next: () => Promise<Worker> },
): Promise<string[]> {
  const failed: string[] = []
  const end = (status: RunEnd['status']): RunEnd => ({ status, artifacts: [], activeMs: 1, artifactTtlMs: 1_000 })
  for (let life = 0; life < 30; life++) {
    const worker = await next()
    for (;;) {
      const held: string[] = []
      for (let run = await store.claim(worker, 5); run; run = await store.claim(worker, 5)) {
        if (run.deaths <= mostDeaths) held.push(run.id)
        else if (await store.finish(run.id, worker, end('failed'))) failed.push(run.id)
      }
      if (held.includes(killer)) break
      if (held.length === 0) return failed
      for (const id of held) await store.finish(id, worker, end('succeeded'))
    }
  }
  throw new Error('they never come to an end')
}
