import { snapshotIdPattern, type Form, type Snapshot } from '../contracts/snapshot.ts'
import type { OldState } from '../contracts/state.ts'
import { runToEnd } from '../text/steps.ts'
import { sha256 } from '../host/files.ts'
import type { OldFolder } from '../host/old-state.ts'
import { splitPath, type PathRules } from '../host/paths.ts'
import type { SnapshotStore } from './snapshots.ts'

/** Bounds of what is read of a folder that anybody may have written. */
const mostStates = 100_000
const mostContentBytes = 64 * 1_048_576
const mostBytes = 4 * 1_073_741_824
const mostMetaBytes = 16_384
const mostReasons = 5
const mostPathBytes = 4_096

const idForm = new RegExp(snapshotIdPattern)

/**
 * Goes through the kept states of an older version. Each is judged by itself: every field, its path by the rules of this project,
 * its content by its hash. They come in as states a person can restore, with no call and no session: none of them is ever part of
 * an undo, which would trust their order and origin.
 */
export function checkOldStates(
  old: OldFolder,
  rules: PathRules,
  each: (snapshot: Snapshot, content: Buffer) => void = () => undefined,
): Omit<OldState, 'auditBytes'> {
  const paths = new Set<string>()
  const found = { snapshots: 0, paths: 0, bytes: 0, refused: 0, reasons: [] as string[] }
  for (const name of old.descriptions(mostStates)) {
    const judged = checkOldState(old, name, rules, mostBytes - found.bytes)
    if (typeof judged === 'string') {
      found.refused++
      if (found.reasons.length < mostReasons) found.reasons.push(`${name.slice(0, 80)}: ${judged}`)
      continue
    }
    found.snapshots++
    found.bytes += judged.content.byteLength
    paths.add(judged.snapshot.path)
    each(judged.snapshot, judged.content)
  }
  return { ...found, paths: paths.size }
}

/** Takes the states in; those that are kept already stay as they are. The caller holds the project's lock. */
export function importOldStates(old: OldFolder, rules: PathRules, snapshots: SnapshotStore): number {
  const fresh: Snapshot[] = []
  const batch = runToEnd(snapshots.beginBatch(1))
  checkOldStates(old, rules, (snapshot, content) => {
    // Its time is what somebody says. Only as a state from before all that is kept here does it push none of that out.
    if (snapshots.get(snapshot.id) || snapshot.timestamp >= (snapshots.oldest(snapshot.path) ?? Infinity)) return
    runToEnd(batch.keep(snapshot, content))
    fresh.push(snapshot)
  })
  runToEnd(batch.flush.all())
  for (const snapshot of fresh) snapshots.insert(snapshot, 'kept')
  return fresh.length
}

function checkOldState(
  old: OldFolder,
  name: string,
  rules: PathRules,
  room: number,
): { snapshot: Snapshot; content: Buffer } | string {
  const id = name.slice(0, -'.meta.json'.length)
  if (!idForm.test(id)) return 'not the name of a state'
  const text = old.read(name, mostMetaBytes)?.toString('utf8')
  if (text === undefined) return 'its description cannot be read'
  let meta: Record<string, unknown>
  try {
    meta = JSON.parse(text) as Record<string, unknown>
  } catch {
    return 'its description is no JSON'
  }
  if (typeof meta !== 'object' || meta === null || meta['id'] !== id) return 'its description is of another state'
  const { path, timestamp, sha256: hash, form = null, mode = null } = meta
  if (typeof path !== 'string' || Buffer.byteLength(path) > mostPathBytes || !isPath(path, rules))
    return 'its path is out of reach of tools'
  if (!Number.isSafeInteger(timestamp) || (timestamp as number) <= 0 || (timestamp as number) > Date.now())
    return 'its time is none in the past'
  if (form !== null && form !== 'file' && form !== 'link' && form !== 'folder') return 'it is no file, link or folder'
  if (mode !== null && (!Number.isInteger(mode) || (mode as number) < 0 || (mode as number) > 0o777)) return 'its mode is none'
  const content = old.read(`${id}.txt`, Math.min(mostContentBytes, room))
  if (!content) return 'its content is missing or too large'
  if (sha256(content) !== hash) return 'its content is not what it says'
  return {
    content,
    snapshot: {
      id,
      path,
      timestamp: timestamp as number,
      sha256: hash,
      bytes: content.byteLength,
      form: form as Form | null,
      mode: mode as number | null,
      kind: 'baseline',
      call: null,
      session: null,
      idempotencyKey: null,
      before: null,
      undoneBy: null,
    },
  }
}

function isPath(path: string, rules: PathRules): boolean {
  try {
    return path !== '' && splitPath(path, rules).join('/') === path
  } catch {
    return false
  }
}
