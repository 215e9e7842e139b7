import { createHash } from 'node:crypto'
import { closeSync, fsync, fsyncSync, read, readSync, write, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import { isOnDisk, type Content } from '../contracts/content.ts'
import { wait, type Steps } from '../text/steps.ts'

const [readSoon, writeSoon, fsyncSoon] = [promisify(read), promisify(write), promisify(fsync)]

/** What is hashed or written between two turns. */
const chunkBytes = 1_048_576

/** Hands an open file over piece by piece, from its beginning. The piece is good until the next one. */
export function* readChunks(fd: number, take: (piece: Buffer) => Steps<void>): Steps<void> {
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (let at = 0; ;) {
    const from = at
    const count = yield* wait(
      () => readSync(fd, buffer, 0, chunkBytes, from),
      async () => (await readSoon(fd, buffer, 0, chunkBytes, from)).bytesRead,
    )
    if (count === 0) return
    yield* take(buffer.subarray(0, count))
    at += count
  }
}

/** The hash and size of an open file. */
export function* hashChunks(fd: number): Steps<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  yield* readChunks(fd, function* (piece) {
    hash.update(piece)
    bytes += piece.length
    yield
  })
  return { sha256: hash.digest('hex'), bytes }
}

/** Writes a content to an open file. One that lies somewhere is held against its hash on the way. */
export function* writeChunks(fd: number, content: Content): Steps<void> {
  if (!isOnDisk(content)) {
    for (let at = 0; at < content.byteLength; at += chunkBytes) yield* writeAll(fd, content.subarray(at, at + chunkBytes))
    return
  }
  const hash = createHash('sha256')
  const from = content.open()
  try {
    yield* readChunks(from, function* (piece) {
      hash.update(piece)
      yield* writeAll(fd, piece)
    })
  } finally {
    closeSync(from)
  }
  const found = hash.digest('hex')
  if (found !== content.sha256) throw content.changed(found)
}

/** A little goes into the memory of the system at once; of much the disk may make us wait. */
const little = 65_536

function* writeAll(fd: number, piece: Uint8Array): Steps<void> {
  for (let done = 0; done < piece.byteLength;) {
    const from = done
    const now = (): number => writeSync(fd, piece, from)
    done +=
      piece.byteLength <= little
        ? now()
        : yield* wait(now, async () => (await writeSoon(fd, piece, from, piece.byteLength - from)).bytesWritten)
  }
}

export const flushOne = (fd: number): Steps<void> =>
  wait(
    () => fsyncSync(fd),
    () => fsyncSoon(fd),
  )
