import { Fault } from '../../contracts/faults/fault.ts'
import type { ArtifactStore } from '../../contracts/run-ports.ts'
import type { Postgres } from '../../host/postgres.ts'

/** As much as is read at once (`artifactMaxChunkSize`). */
export const pieceBytes = 262_144
/** The largest that goes along with the end of its run: a larger one would have all that end with it wait. */
export const contentsWithEnd = 65_536
/** Pieces in one statement. */
const together = 8

const known = /^art_[0-9a-f]{32}$/

export const isArtifactId = (id: string): boolean => known.test(id)

export type Persist = <T>(act: () => Promise<T>, lost: () => T) => Promise<T>

/** Contents of artifacts as rows of pieces. What a run names is not removed before its time, whoever asks. */
export function openClusterArtifacts(db: Postgres, space: string, persist: Persist): ArtifactStore {
  return {
    async put(id, bytes) {
      mustBe(id)
      const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) || 1 }, (_, n) =>
        Buffer.from(bytes.subarray(n * pieceBytes, (n + 1) * pieceBytes)),
      )
      for (let from = 0; from < pieces.length; from += together) {
        const some = pieces.slice(from, from + together)
        await persist(
          async () => {
            await db.query(
              `INSERT INTO handrail.artifact_chunks (artifact, n, space, at, data)
                 SELECT $1, x.n, $2, handrail.now_ms(), x.data FROM unnest($3::integer[], $4::bytea[]) AS x (n, data) ON CONFLICT DO NOTHING`,
              [id, space, some.map((_, at) => from + at), some],
            )
          },
          () => undefined,
        )
      }
    },
    async read(id, offset, length) {
      mustBe(id)
      if (length <= 0) return new Uint8Array()
      const first = Math.floor(offset / pieceBytes)
      const last = Math.floor((offset + length - 1) / pieceBytes)
      const rows = await persist(
        () =>
          db.query<{ data: Buffer }>(
            'SELECT data FROM handrail.artifact_chunks WHERE artifact = $1 AND space = $2 AND n BETWEEN $3 AND $4 ORDER BY n',
            [id, space, first, last],
          ),
        () => {
          throw gone(id)
        },
      )
      if (rows.length === 0 && offset === 0) throw gone(id)
      const start = offset - first * pieceBytes
      return Buffer.concat(rows.map(({ data }) => data)).subarray(start, start + length)
    },
    async remove(id) {
      if (await isNamed(db, id)) return
      await db.query('DELETE FROM handrail.artifact_chunks WHERE artifact = $1 AND space = $2', [id, space])
    },
    async writtenBefore(time) {
      // By the clock of the database, which wrote the times.
      const rows = await db.query<{ artifact: string }>(
        'SELECT artifact FROM handrail.artifact_chunks WHERE space = $1 AND n = 0 AND at < handrail.now_ms() - $2::bigint',
        [space, Date.now() - time],
      )
      return rows.map(({ artifact }) => artifact)
    },
  }
}

/** A run that ended has it, and its time is not over: the answer to that end may have been lost on its way. */
export async function isNamed(db: Postgres, id: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM handrail.artifacts WHERE id = $1 AND state = 'kept'`, [id])
  return rows.length > 0
}

export function mustBe(id: string): void {
  if (!isArtifactId(id))
    throw new Fault('artifact-not-found', 'There is no such artifact', { hint: 'Its id is listed in artifactIds of its run.' })
}

export function gone(id: string): Fault {
  return new Fault('artifact-expired', 'The content of this artifact is no longer kept', { details: { artifactId: id } })
}
