import { Fault } from '../../contracts/faults/fault.ts'
import type { NewRun, RunRecord, RunCapacity } from '../../contracts/run-ports.ts'
import type { Postgres } from '../../host/postgres.ts'
import { fromRow, type Row } from '../run-row.ts'
import { openGroups } from './groups.ts'
import { runMark, splitSecrets, type Sign } from './marks.ts'
import { putStep } from './steps.ts'
import { listsOf, manyOf, oneOf } from './statements.ts'

/** How long a count of what waits is good enough, while there is room for as many again. */
const countedMs = 250

interface Accepting {
  run: NewRun
  values: unknown[]
}

type Accepted = Row & { outcome: string; n: number }

/** What the function takes, in this order. */
const types =
  'text text text text text text text text bigint text text integer integer bigint text bigint text text text text text text boolean bigint bigint bigint'
const columns = 'outcome, n, (run).*'
const accepts = oneOf('accept', types, columns)
const acceptsMany = manyOf('accept', types, columns)

export interface AcceptedRun {
  run: RunRecord
  deduplicated: boolean
  /** Others of the same holder wait before it. */
  isBehind: boolean
}

/** Accepting runs: durable when it resolves. */
export function openAccepting(parts: {
  db: Postgres
  space: string
  place: string
  sign: Sign
  /** Asks until it is answered, or fails. */
  asked: <T>(act: () => Promise<T>) => Promise<T>
  /** Who may carry a run out. */
  queueFor: (run: NewRun) => Promise<string>
}): (run: NewRun, capacity: RunCapacity) => Promise<AcceptedRun> {
  const { db, space, place, sign, asked, queueFor } = parts
  let counted = { at: -Infinity, room: 0 }

  const valuesOf = async (run: NewRun, capacity: RunCapacity, counts: boolean): Promise<unknown[]> => {
    const { template, inputs } = run
    const { open, sealed } = splitSecrets(template, inputs)
    const body = {
      template: JSON.stringify(template),
      inputs: JSON.stringify(open),
      secrets: sealed && JSON.stringify(sealed),
      output_schema: run.outputSchema ? JSON.stringify(run.outputSchema) : null,
    }
    const handed = {
      id: run.id,
      origin: JSON.stringify(run.origin),
      session_id: run.sessionId ?? null,
      mode: run.mode,
      timeout_ms: run.timeoutMs,
      submitter: run.worker.name,
      authority: run.worker.authority,
    }
    const behind = run.behind ?? []
    const outputs = behind.map(({ output }) => (output === undefined ? '' : JSON.stringify(output)))
    return [
      space,
      run.id,
      template.id,
      template.version,
      run.key === undefined ? null : JSON.stringify(run.key),
      handed.origin,
      handed.session_id,
      handed.mode,
      handed.timeout_ms,
      handed.submitter,
      handed.authority,
      behind.length,
      run.totalSteps,
      run.ttlMs,
      JSON.stringify([place, run.holder]),
      [...Object.values(body), ...outputs].reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0),
      await queueFor(run),
      body.template,
      body.inputs,
      body.secrets,
      body.output_schema,
      runMark(sign, handed, body),
      counts,
      capacity.queued,
      capacity.queuedEach,
      capacity.bytes,
    ]
  }
  /** In the order they came; those that come while others are on their way go together, in one statement with one flush. */
  const inOrder = openGroups<Accepting, Accepted>((group) =>
    asked(() => {
      const [only] = group
      if (group.every(({ run }) => !run.behind?.length))
        return group.length === 1 && only
          ? db.often<Accepted>(accepts, only.values)
          : db.often<Accepted>(acceptsMany, listsOf(group.map(({ values }) => values)))
      return db.transaction(async (query) => {
        const all: Accepted[] = []
        for (const { run, values } of group) {
          const [row] = await query<Accepted>(accepts, values)
          if (isNew(row?.outcome)) for (const step of run.behind ?? []) await putStep(query, sign, run.id, step)
          all.push(row as Accepted)
        }
        return all
      })
    }),
  )
  return async (run, capacity) => {
    const counts = Date.now() - counted.at > countedMs || counted.room <= 0
    const { outcome, n, ...row } = await inOrder({ run, values: await valuesOf(run, capacity, counts) })
    if (counts) counted = { at: Date.now(), room: (Math.min(capacity.queued, capacity.queuedEach) - n) / 2 }
    counted.room--
    if (outcome === 'yours') throw full(`${n} runs of yours wait for their turn already`, { waiting: n, yours: true })
    if (outcome === 'full') throw full(`${n} runs wait for their turn already`, { waiting: n })
    if (outcome === 'bytes') throw full('Runs that wait or are under way take all the room there is', { bytes: n })
    return { run: fromRow(row), deduplicated: outcome === 'same', isBehind: outcome === 'behind' }
  }
}

const isNew = (outcome: string | undefined): boolean => outcome === 'new' || outcome === 'behind'

function full(says: string, details: Record<string, unknown>): Fault {
  return new Fault('busy', says, {
    details,
    hint: (name) => `Wait for some to end, or cancel some: ${name('list_task_runs')} shows them.`,
  })
}
