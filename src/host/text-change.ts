import type { CardChange } from '../contracts/tool.ts'
import type { Diffs } from './diffs.ts'
import { packageRows } from '../text/package-rows.ts'
import { insideOf } from './readings/inside.ts'
import { sha256 } from './files.ts'

/** One change of a text as a card shows it: its lines, and which bytes exactly become which. */
export async function textChange(diffs: Diffs, path: string, before: string | undefined, after: string): Promise<CardChange> {
  const [old, now] = [before === undefined ? undefined : Buffer.from(before), Buffer.from(after)]
  return {
    path,
    ...insideOf('packages', packageRows(path, before ?? '', after)),
    kind: old ? 'modified' : 'created',
    says: old ? 'modified' : 'created',
    diff: await diffs.lines(before ?? '', after),
    sizes: [old?.length ?? null, now.length],
    hashes: [old ? sha256(old) : null, sha256(now)],
  }
}
