import { bounds } from '../contracts/kept.ts'
import type { Effect } from '../contracts/stage.ts'
import { foldersOf } from '../text/fold-paths.ts'
import { oneLine } from '../text/printable.ts'
import type { Steps } from '../text/steps.ts'
import { takenAway } from './extent.ts'
import type { ApprovalPort } from './ports.ts'

/** What a no to these effects keeps: files that would be gone, emptied, moved or replaced, and those that are asked about for themselves. */
export function* declinedPaths(effects: readonly Effect[], marked: readonly string[]): Steps<string[]> {
  const gone = yield* takenAway(effects)
  const moved = new Set<string>()
  for (const { kind, hashes } of effects) {
    if (kind === 'deleted' && hashes[0] !== null) moved.add(hashes[0])
    yield
  }
  // Another file that was there before is moved in its place.
  for (const { path, kind, hashes } of effects) {
    if (kind === 'modified' && moved.has(hashes[1] ?? '')) gone.add(path)
    yield
  }
  for (const path of marked) gone.add(path)
  return yield* foldersOf(gone, bounds.declined.each)
}

const longestNote = 200

/**
 * What is said of a file that a no keeps: a change that a person declined is not made in parts, by another tool or under another name. With the
 * time by the clock, since a yes to the file is remembered for the same words.
 */
export function describeDecline(no: NonNullable<ReturnType<ApprovalPort['declined']>>): string {
  const when = new Date(no.at).toISOString().replace(/^(.*)T(.*):.*$/, '$1 at $2 UTC')
  const who = no.by.startsWith('form@') ? "a change of it was declined in a client's form" : 'you declined a change of it'
  const note = no.note === undefined ? '' : `: ${JSON.stringify(oneLine(no.note, longestNote))}`
  return `${who} on ${when}${note} (handrail approvals lift ${no.approval} takes that back)`
}
