import { Fault } from '../../contracts/faults/fault.ts'
import type { ClusterWorker } from '../../contracts/cluster.ts'
import type { JournalledStep, NewStep, RunBody, RunRecord, Worker } from '../../contracts/run-ports.ts'
import { isTerminal, ownSession } from '../../contracts/run.ts'
import type { Template } from '../../contracts/template.ts'
import type { Postgres } from '../../host/postgres.ts'
import { fromRow, type Row } from '../run-row.ts'
import { openGroups } from './groups.ts'
import { asForeign, isMarked, sealedIn, type HandedBody, type Sign } from './marks.ts'
import { oneOf } from './statements.ts'
import { byPlace, placeOf, readSteps } from './steps.ts'

/** How often it is looked for what dead workers left, where there is something else to take: the more workers, the more there is to look at. */
const lookEveryMs = 1_000
const mostHeld = 5_000

interface BodyRow extends HandedBody {
  mac: string
}

interface BodyColumns {
  template_text: string
  inputs_text: string
  secrets_text: string | null
  schema_text: string | null
  mac_text: string
}
const bodyIn = (row: BodyColumns): BodyRow => ({
  template: row.template_text,
  inputs: row.inputs_text,
  secrets: row.secrets_text,
  output_schema: row.schema_text,
  mac: row.mac_text,
})

type QueuedRow = Row & { queue: string }
type ClaimedRow = QueuedRow & BodyColumns & { fresh: boolean }

const claims = oneOf(
  'claim',
  'text text text text[] integer integer text[] boolean',
  'fresh, template_text, inputs_text, secrets_text, schema_text, mac_text, (run).*',
)

/** A run in this process's hands, as it was when it was taken. */
interface Held {
  run: QueuedRow
  body: BodyRow
  /** It was handed in on this machine, and all that is behind it was done here. */
  isOurs: boolean
  steps: Map<string, JournalledStep>
}

interface Claiming {
  worker: Worker
  slots: number
}

export interface Claims {
  claim(worker: Worker, slots: number): Promise<RunRecord | undefined>
  body(id: string): Promise<RunBody | undefined>
  steps(id: string): Promise<JournalledStep[]>
  /** It is written down: whoever asks for the steps of a run in this process's hands is told without asking the database. */
  note(id: string, step: NewStep): void
  /** Whether a run in this process's hands is one of those that only its place may carry out. */
  isBound(id: string): boolean
  /** No longer in this process's hands. */
  forget(id: string): void
}

/** Takes runs in hand, and knows those that it took: nobody else writes to them. */
export function openClaims(parts: {
  db: Postgres
  space: string
  place: string
  sign: Sign
  asked: <T>(act: () => Promise<T>) => Promise<T>
  isFree: (body: Pick<RunBody, 'template' | 'outputSchema'>) => boolean
}): Claims {
  const { db, space, place, sign, asked, isFree } = parts
  let looked = -Infinity
  const held = new Map<string, Held>()

  const bodyOf = (id: string, { run, body: row, isOurs }: Omit<Held, 'steps'>): RunBody => {
    const template = JSON.parse(row.template) as Template
    const body = {
      template,
      ...(row.output_schema !== null && { outputSchema: JSON.parse(row.output_schema) as object }),
      ...(!isOurs && { elsewhere: true as const }),
    }
    const isOwnSession = run.session_id === null || run.session_id === ownSession(id)
    const sealed = sealedIn(template, row.secrets)
    if (sealed === undefined || !(isOurs || (isFree(body) && isOwnSession))) throw foreign(id)
    return { ...body, inputs: { ...(JSON.parse(row.inputs) as Record<string, unknown>), ...sealed } }
  }
  const hold = async (found: ClaimedRow): Promise<RunRecord> => {
    const body = bodyIn(found)
    const steps = found.fresh ? [] : await asked(() => readSteps(db.query, sign, found.id))
    // What is done in a run for somebody depends on what was done before: others could have written that too.
    const isOurs = isMarked(sign, found, body, false) && !steps.some(({ elsewhere }) => elsewhere)
    held.set(found.id, { run: found, body, isOurs, steps: new Map(steps.map((one) => [placeOf(one), one])) })
    // It is known for as long as it is ours; whoever never comes to its end takes little room.
    if (held.size > mostHeld) held.delete(held.keys().next().value as string)
    const run = fromRow(found)
    return isOurs ? run : asForeign(run)
  }
  /** Those that are asked for together are taken together. */
  const openTaking = (): ((given: Claiming) => Promise<RunRecord | undefined>) =>
    openGroups(async (group) => {
      const [{ worker, slots }] = group as [Claiming]
      const take = (looks: boolean): Promise<ClaimedRow[]> => {
        if (looks) looked = performance.now()
        const queues = ['any', `@${place}`, `=${worker.name}`]
        const { templates = null } = worker as ClusterWorker
        return db.often(claims, [space, worker.name, worker.authority, queues, slots, group.length, templates, looks])
      }
      const isDue = performance.now() - looked > lookEveryMs
      const first = await take(isDue)
      const rows = first.length > 0 || isDue ? first : await take(true)
      const runs: (RunRecord | undefined)[] = await Promise.all(rows.map(hold))
      return group.map((_, at) => runs[at])
    })
  const asWorker = openTaking()
  const asCaller = openTaking()

  return {
    claim: (worker, slots) => (worker.authority === '' ? asCaller : asWorker)({ worker, slots }),
    body: (id) =>
      asked(async () => {
        const known = held.get(id)
        if (known) return bodyOf(id, known)
        const [found] = await db.query<QueuedRow & BodyColumns>(
          `SELECT r.*, b.template AS template_text, b.inputs AS inputs_text, b.secrets AS secrets_text, b.output_schema AS schema_text,
             b.mac AS mac_text FROM handrail.runs r JOIN handrail.run_bodies b ON b.run = r.id WHERE r.id = $1`,
          [id],
        )
        if (!found) return undefined
        const body = bodyIn(found)
        return bodyOf(id, { run: found, body, isOurs: isMarked(sign, found, body, isTerminal(found.status)) })
      }),
    steps: (id) =>
      asked(async () => {
        const known = held.get(id)?.steps
        if (known) return [...known.values()].toSorted(byPlace)
        return readSteps(db.query, sign, id)
      }),
    note: (id, step) => void held.get(id)?.steps.set(placeOf(step), { ...step, at: Date.now() }),
    isBound: (id) => (held.get(id)?.run.queue ?? 'any') !== 'any',
    forget: (id) => void held.delete(id),
  }
}

function foreign(id: string): Fault {
  return new Fault('policy', 'This run was handed in on another machine, or changed since: it is not carried out here', {
    details: { runId: id },
    hint: 'A run that does more than visit pages, or uses a login, is carried out where it was handed in. Hand it in anew there.',
  })
}
