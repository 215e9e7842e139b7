import { Fault } from '../contracts/faults/fault.ts'
import type { ArtifactStore } from '../contracts/run-ports.ts'
import { isTextType, runBounds, type ArtifactChunk, type ArtifactInfo } from '../contracts/run.ts'

/** No character of UTF-8 is longer. */
const longestCharacter = 4

/** A part of an artifact, counted in bytes. Text is never cut inside a character; what is no text comes as base64. */
export async function chunkOf(info: ArtifactInfo, store: ArtifactStore, offset: number, limit: number): Promise<ArtifactChunk> {
  const { artifactId, mimeType, bytes: totalSize } = info
  const most = Math.min(limit, runBounds.artifactMaxChunkSize)
  const chunk = (data: string, length: number): ArtifactChunk => ({
    artifactId,
    mimeType,
    totalSize,
    offset,
    length,
    data,
    complete: offset + length >= totalSize,
  })
  if (offset >= totalSize) return chunk('', 0)
  if (!isTextType(mimeType)) {
    const bytes = await store.read(artifactId, offset, Math.min(most, totalSize - offset))
    return chunk(Buffer.from(bytes).toString('base64'), bytes.length)
  }
  const bytes = await store.read(artifactId, offset, Math.min(Math.max(most, longestCharacter), totalSize - offset))
  if (offset > 0 && isInside(bytes[0] as number))
    throw new Fault('bad-input', `offset ${offset} lies inside a character`, {
      details: { fields: [{ field: 'offset', problem: 'must be where a chunk ends' }] },
      hint: 'Begin at 0, and go on at offset + length of the chunk before.',
    })
  // What says that it is text and is none ends somewhere inside a character: it has an end all the same.
  const isEnd = offset + bytes.length >= totalSize && bytes.length <= most
  const length = isEnd ? bytes.length : wholeCharacters(bytes, most)
  return chunk(new TextDecoder().decode(bytes.subarray(0, length)), length)
}

/** Whether a byte goes on with a character that began before it. */
const isInside = (byte: number): boolean => (byte & 0b1100_0000) === 0b1000_0000

/** As many bytes as whole characters take, no more than `most` where one fits; the first whole character where none does. */
function wholeCharacters(bytes: Uint8Array, most: number): number {
  if (bytes.length <= most) {
    // The end of the artifact, or of what was read: a character that is cut there begins the next chunk.
    const last = lastStart(bytes, bytes.length)
    return last + lengthOf(bytes[last] as number) <= bytes.length ? bytes.length : last
  }
  const cut = lastStart(bytes, most + 1)
  return cut > 0 ? cut : Math.min(lengthOf(bytes[0] as number), bytes.length)
}

/** Where the last character before `end` begins. */
function lastStart(bytes: Uint8Array, end: number): number {
  let start = end - 1
  while (start > 0 && isInside(bytes[start] as number)) start--
  return start
}

function lengthOf(first: number): number {
  return first >= 0b1111_0000 ? 4 : first >= 0b1110_0000 ? 3 : first >= 0b1100_0000 ? 2 : 1
}
