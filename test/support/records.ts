import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { World } from './world.ts'

export const noDiff = { 'write-requires-diff': 'false', 'approval-wait-ms': '0' }
export const newCanary = (): string => `CANARY${randomBytes(12).toString('hex')}`
export const state = (world: World, name: string): string => world.state(name)
export const auditText = (world: World): string => {
  world.runtime.audit.verify()
  return readFileSync(state(world, 'audit.jsonl'), 'utf8')
}
export const write = (
  world: World,
  path: string,
  content: string,
  more: Record<string, unknown> = {},
): Promise<{ snapshotId: string }> => world.call('write_to_file', { path, content, dryRun: false, ...more })
export const codeOf = async (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => 'ok',
    (thrown: unknown) => {
      if (thrown instanceof Fault) return errorCodeOf(thrown)
      throw thrown
    },
  )

// G: approvals

export const pending = (world: World): string[] => world.runtime.approvals.list('pending').map((approval) => approval.id)
export const approve = (world: World, id: string | undefined, approve = true, note?: string): void =>
  void world.runtime.approvals.decide(id as string, { approve, by: 'test', ...(note !== undefined && { note }) })

/** Characters a terminal obeys, or does not show, other than the end of a line and a tab. */
export const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u
