/** A content too large to be held whole: it stays where it lies and is read piece by piece. */
export interface ContentOnDisk {
  readonly sha256: string
  readonly bytes: number
  /** A descriptor to read it from, opened anew each time; whoever asks closes it. */
  open(): number
  /** What is thrown where it turns out to be another content by now. */
  changed(found: string): Error
}

export type Content = Uint8Array | ContentOnDisk

export const isOnDisk = (content: Content): content is ContentOnDisk => !(content instanceof Uint8Array)

/** More than this is not held whole, and not shown as text. */
export const largestInMemory = 8_388_608
