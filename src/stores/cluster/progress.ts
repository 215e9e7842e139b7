import type { NewStep, Progress, RunEnd, Worker } from '../../contracts/run-ports.ts'
import type { Postgres } from '../../host/postgres.ts'
import type { Persist } from './artifacts.ts'
import { openGroups } from './groups.ts'
import { stepMark, type Sign } from './marks.ts'
import { listsOf, manyOf } from './statements.ts'
import { stepRowOf } from './steps.ts'

const journals = manyOf(
  'journal',
  'text text text integer text text text text text integer integer bigint bigint text',
  'x AS is',
)

/** Contents first: a run that has its end has its result. */
const endTypes = 'text text text text bigint text text bigint text'
const contentsAt = endTypes.split(' ').length
const finishes = manyOf(
  'finish',
  endTypes,
  'x AS is',
  `WITH put AS (INSERT INTO handrail.artifact_chunks (artifact, n, space, at, data)
     SELECT c.id, 0, c.space, handrail.now_ms(), c.data FROM unnest($${contentsAt + 1}::text[], $${contentsAt + 2}::text[], $${contentsAt + 3}::bytea[]) AS c (id, space, data)
     ON CONFLICT DO NOTHING) `,
)

interface Journalling {
  id: string
  worker: Worker
  given: NewStep
  progress: Progress
}

interface Ending {
  id: string
  worker: Worker
  end: RunEnd
}

/** What a worker writes of the runs in its hands. What several of them have to say at a time goes in one statement, and one flush. */
export function openProgress({ db, space, sign, persist }: { db: Postgres; space: string; sign: Sign; persist: Persist }) {
  const told = async (sql: string, values: readonly unknown[]): Promise<boolean[]> =>
    (await db.often<{ is: boolean }>(sql, values)).map(({ is }) => is)
  const openJournal = () =>
    openGroups<Journalling, boolean>((group) =>
      persist(
        () => told(journals, listsOf(group.map((one) => journalled(sign, one)))),
        () => group.map(() => false),
      ),
    )
  // What may not be done twice is flushed before it is done; it does not wait for what need not be, and does not lose its flush among that.
  const begins = openJournal()
  const goesOn = openJournal()
  const ends = openGroups<Ending, boolean>((group) =>
    persist(
      () => {
        const contents = group.flatMap(({ end }) => end.contents ?? [])
        return told(finishes, [
          ...listsOf(group.map(ended)),
          contents.map(({ id }) => id),
          contents.map(() => space),
          contents.map(({ bytes }) => Buffer.from(bytes)),
        ])
      },
      () => group.map(() => false),
    ),
  )
  return {
    journal: (id: string, worker: Worker, given: NewStep, progress: Progress): Promise<boolean> =>
      (given.state === 'begun' ? begins : goesOn)({ id, worker, given, progress }),
    finish: (id: string, worker: Worker, end: RunEnd): Promise<boolean> => ends({ id, worker, end }),
  }
}

function journalled(sign: Sign, { id, worker, given, progress: { done, total, activeMs } }: Journalling): unknown[] {
  const row = stepRowOf(given)
  return [
    id,
    worker.name,
    row.step,
    row.item,
    row.state,
    row.call,
    row.output,
    row.error,
    row.artifacts,
    done,
    total,
    activeMs,
    Buffer.byteLength(row.output ?? ''),
    stepMark(sign, id, row),
  ]
}

function ended({ id, worker, end }: Ending): unknown[] {
  const { status, error, activeMs, result, artifacts, artifactTtlMs } = end
  return [
    id,
    worker.name,
    status,
    error ? JSON.stringify(error) : null,
    activeMs,
    result === undefined ? null : JSON.stringify(result),
    JSON.stringify(artifacts.map(({ id: artifact, mimeType, bytes }) => ({ id: artifact, mimeType, bytes }))),
    artifactTtlMs,
    JSON.stringify(artifacts.map((artifact) => artifact.id)),
  ]
}
