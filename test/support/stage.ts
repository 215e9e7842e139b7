import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import type { CallOptions, Caller } from '../../src/contracts/call.ts'
import { runToEnd } from '../../src/text/steps.ts'
import { readStory, recordOf, type StageRecord, type StageStory } from '../../src/host/stage/records.ts'
import type { World } from './world.ts'
import { patienceMs } from './patience.ts'

/** The setting without which there is no `shell`. */
export const withShell = { 'enable-shell': 'true' }

/** With it, every change of a program is a card first: for tests of cards, of answers and of what a yes commits. */
export const shownFirst = { ...withShell, 'ask-from': 'R1' }

/** What stands at a path, in the words of an effect. */
export interface Standing {
  form: 'file' | 'link' | 'folder'
  mode: number
  bytes: number
  sha256: string
  target: string | null
}

/** Everything below a folder. */
export function treeOf(folder: string): Record<string, Standing> {
  const found: Record<string, Standing> = {}
  const enter = (within: string): void => {
    for (const name of readdirSync(join(folder, within)).sort()) {
      const path = within === '' ? name : `${within}/${name}`
      const stat = lstatSync(join(folder, path))
      const form = stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'file'
      const target = form === 'link' ? readlinkSync(join(folder, path)) : null
      const content = form === 'file' ? readFileSync(join(folder, path)) : Buffer.from(target ?? '')
      const mode = form === 'link' ? 0o777 : stat.mode & 0o7777
      found[path] = { form, mode, target, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
      if (form === 'folder') enter(path)
    }
  }
  enter('')
  return found
}

/** The folders of stages on the disk below a temporary base. What every stage shares does not count, nor one that is ready and bare. */
export function stagesLeft(base: string): string[] {
  const home = join(base, 'state', 'handrail', 'stages')
  if (!existsSync(home)) return []
  return readdirSync(home).flatMap((place) =>
    readdirSync(join(home, place))
      .filter((name) => /^\d+-\d+-/.test(name))
      .map((name) => join(home, place, name))
      .filter((folder) => recordOf(folder) !== undefined || existsSync(join(folder, 'before')) || !isBare(folder)),
  )
}

function isBare(folder: string): boolean {
  try {
    return readdirSync(join(folder, 'upper')).length === 0
  } catch {
    return false
  }
}

/** What is written down of the one stage there is, besides those that are known. */
export function theStage(base: string, known: string[] = []): { folder: string; record: StageRecord & Partial<StageStory> } {
  const [folder, ...more] = stagesLeft(base).filter((one) => !known.includes(one))
  expect(more).toEqual([])
  const record = folder === undefined ? undefined : recordOf(folder)
  if (folder === undefined || !record) throw new Error('there is no stage')
  return { folder, record: { ...record, ...runToEnd(readStory(folder)) } }
}

type Given = CallOptions & Partial<Caller>

/** Makes a call that must ask, and says what the person is shown. */
export async function ask(world: World, input: Record<string, unknown>, tool = 'shell', given: Given = {}): Promise<Approval> {
  const fault = await world.fault(tool, input, { approvalWaitMs: 0, ...given })
  const approval = world.runtime.approvals.get(String(fault.details?.['approvalId']))
  if (!approval) throw fault
  return approval
}

export function approve(world: World, { id }: { id: string }): void {
  world.runtime.approvals.decide(id, { approve: true, by: 'test', unread: true })
}

/** The way of a change: asked, approved, made again. */
export async function agreed(world: World, input: Record<string, unknown>, tool = 'shell'): Promise<Record<string, unknown>> {
  approve(world, await ask(world, input, tool))
  return world.call(tool, input, { approvalWaitMs: 0 })
}

/** Processes that carry a word in their command line and can still do something. */
export function processesWith(word: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word)) return false
        return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
      } catch {
        return false
      }
    })
}

/** Ends what a failed test would leave behind. */
export function endAllWith(word: string): void {
  for (const pid of processesWith(word)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It went by itself.
    }
  }
}

/** Waits until something holds; false where it did not in time. */
export async function soon(holds: () => boolean, mostMs = patienceMs): Promise<boolean> {
  const until = performance.now() + mostMs
  while (!holds()) {
    if (performance.now() > until) return false
    await pause(10)
  }
  return true
}

/** A command that forks, leaves its session, ignores SIGTERM, holds the pipe, and can be found by a word. */
export const stubborn = (word: string): string =>
  `setsid sh -c 'trap "" TERM HUP INT; echo up; while :; do sleep 1; : ${word}; done' & sh -c 'trap "" TERM; while :; do sleep 1; : ${word}; done'`

/** A system that lets nobody make namespaces, as far as Handrail can tell: what to set `bubblewrap` to. */
export function noNamespaces(folder: string): string {
  const file = join(folder, 'no-bwrap')
  writeFileSync(file, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', { mode: 0o755 })
  return file
}
