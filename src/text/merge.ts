import type { Hunk, LineDiff } from '../contracts/line-diff.ts'

/**
 * Both changes of one text at once; nothing where they touch the same lines, or lines beside each other, in different ways: then only a
 * person knows what is meant.
 */
export function mergedText(base: string, mine: LineDiff, theirs: LineDiff): string | undefined {
  const lines = base.split('\n')
  const hunks: Hunk[] = [...mine.hunks]
  for (const hunk of theirs.hunks) {
    const meets = mine.hunks.filter((other) => touch(hunk, other))
    if (meets.length === 0) hunks.push(hunk)
    else if (meets.length > 1 || !same(hunk, meets[0] as Hunk)) return undefined
  }
  for (const hunk of hunks.toSorted((a, b) => b.startOld - a.startOld))
    lines.splice(hunk.startOld - 1, hunk.lenOld, ...hunk.linesNew)
  return lines.join('\n')
}

const touch = (a: Hunk, b: Hunk): boolean => a.startOld <= b.startOld + b.lenOld && b.startOld <= a.startOld + a.lenOld

const same = (a: Hunk, b: Hunk): boolean =>
  a.startOld === b.startOld && a.lenOld === b.lenOld && a.lenNew === b.lenNew && a.linesNew.join('\n') === b.linesNew.join('\n')
