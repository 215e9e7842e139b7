/** One changed stretch. `start…` are 1-based; where nothing stands on a side, it is the line the change comes before. */
export interface Hunk {
  startOld: number
  lenOld: number
  startNew: number
  lenNew: number
  linesOld: string[]
  linesNew: string[]
}

export interface LineDiff {
  type: 'line'
  hunks: Hunk[]
  /** The search for the least change was given up: the hunks are true and whole, but larger than they need be. */
  coarse?: true
  /** Added and removed lines that are not among the hunks, since an answer holds only so many. */
  notShown?: number
}
