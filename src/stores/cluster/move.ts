import type { ArtifactStore } from '../../contracts/run-ports.ts'
import type { Database, SqlValue } from '../../host/database.ts'
import type { Postgres } from '../../host/postgres.ts'
import { isRunning } from '../../host/running.ts'
import type { Template } from '../../contracts/template.ts'
import type { StepRow } from '../run-steps.ts'
import { isMarked, runMark, sealedIn, splitSecrets, stepMark, type Handed, type HandedBody, type Sign } from './marks.ts'

/** What both stores have of a run, by the same names. */
const columns = [
  'id',
  'template',
  'version',
  'status',
  'idem_key',
  'origin',
  'session_id',
  'mode',
  'timeout_ms',
  'submitter',
  'authority',
  'owner',
  'deaths',
  'done_steps',
  'total_steps',
  'active_ms',
  'waiting',
  'error',
  'artifacts',
  'created_at',
  'updated_at',
  'ttl_ms',
  'expires_at',
  'holder',
  'bytes',
] as const
const stepColumns = ['step', 'item', 'state', 'call', 'output', 'error', 'at', 'artifacts'] as const
const artifactColumns = ['id', 'mime_type', 'bytes', 'created_at', 'expires_at', 'state'] as const

type Value = string | number | null
type Moved = Handed & Record<Exclude<(typeof columns)[number], keyof Handed>, Value>
type ArtifactRow = Record<(typeof artifactColumns)[number], Value>

/** A run with everything that is kept of it. */
interface Whole {
  run: Moved
  body: HandedBody & { result: string | null }
  steps: StepRow[]
  artifacts: ArtifactRow[]
}

/** In the queue of nobody while it is on its way: whatever is killed in between, one store has it for workers, and never both. */
const onItsWay = '~'

export interface Moving {
  local: { db: Database; artifacts: ArtifactStore; authority: string }
  shared: { db: Postgres; artifacts: ArtifactStore; authority: string; space: string; place: string }
  /** This process, for as long as it moves. */
  mover: string
  /** Whether any worker may carry it out there. */
  isFree(body: HandedBody): boolean
  /** See `marks.ts`. */
  sign: Sign
}

const isOpen = ({ status }: Moved): boolean => status === 'queued' || status === 'running'

/** From the store of this machine into the shared one. */
export async function moveToShared({ local, shared, mover, isFree, sign }: Moving): Promise<{ moved: number; left: number }> {
  let [moved, left] = [0, 0]
  const { db } = local
  for (const { id } of db.all<{ id: string }>('SELECT id FROM runs ORDER BY seq')) {
    const run = db.transaction(() => takeLocal(db, id, mover))
    if (!run || (isOpen(run) && run.authority !== local.authority)) {
      if (run) giveBack(db, id, mover)
      left++
      continue
    }
    const all: Whole = {
      run,
      body: db.get('SELECT template, inputs, output_schema, result FROM run_bodies WHERE run = ?', id) as Whole['body'],
      steps: db.all<StepRow>(`SELECT ${stepColumns.join(', ')} FROM run_steps WHERE run = ?`, id),
      artifacts: db.all<ArtifactRow>(`SELECT ${artifactColumns.join(', ')} FROM artifacts WHERE run = ?`, id),
    }
    const kept = keptOf(all)
    for (const one of kept) await copy(one, local.artifacts, shared.artifacts)
    const { template } = all.body
    const { open, sealed } = splitSecrets(
      JSON.parse(template) as Template,
      JSON.parse(all.body.inputs) as Record<string, unknown>,
    )
    const inputs = JSON.stringify(open)
    const body = { ...all.body, inputs, secrets: sealed && JSON.stringify(sealed) }
    const queue = isFree(body) ? 'any' : `@${shared.place}`
    await putShared(shared, { ...all, body }, `${onItsWay}${queue}`, sign)
    db.transaction(() => {
      db.run('DELETE FROM runs WHERE id = ?', id)
      db.run('DELETE FROM run_bodies WHERE run = ?', id)
      db.run('DELETE FROM run_steps WHERE run = ?', id)
      db.run('DELETE FROM artifacts WHERE run = ?', id)
    }, true)
    for (const one of kept) await local.artifacts.remove(one.id)
    await letGo(shared, id)
    moved++
  }
  // Those of a move that was killed after they had left the other store.
  for (const { id } of await shared.db.query<{ id: string }>(
    `SELECT id FROM handrail.runs WHERE space = $1 AND queue LIKE '~%' AND queue IN ('~any', $2)`,
    [shared.space, `${onItsWay}@${shared.place}`],
  ))
    if (!db.get('SELECT 1 FROM runs WHERE id = ?', id)) {
      await letGo(shared, id)
      moved++
    }
  return { moved, left }
}

/** From the shared store onto this machine: what was handed in on it, and done nowhere else. */
export async function moveToEmbedded({ local, shared, sign }: Moving): Promise<{ moved: number; left: number }> {
  const { db, space, place } = shared
  let [moved, left] = [0, 0]
  const here = `regexp_replace(queue, '^~', '') IN ('any', '@' || $2)`
  const found = await db.query<{ id: string }>(
    `SELECT id FROM handrail.runs WHERE space = $1 AND (${here} OR queue LIKE '=%') ORDER BY seq`,
    [space, place],
  )
  for (const { id } of found) {
    const [run] = await db.query<Moved & { queue: string }>(
      `UPDATE handrail.runs SET queue = '${onItsWay}' || regexp_replace(queue, '^~', '') WHERE id = $1 AND
         (status NOT IN ('queued', 'running') OR (authority = $2 AND (status = 'queued' OR NOT handrail.alive(owner)))) RETURNING *`,
      [id, shared.authority],
    )
    if (!run) {
      left++
      continue
    }
    const [body] = await db.query<Whole['body'] & { mac: string }>(
      'SELECT template, inputs, secrets, output_schema, mac, result FROM handrail.run_bodies WHERE run = $1',
      [id],
    )
    const steps = await db.query<StepRow & { mac: string }>(
      `SELECT ${stepColumns.join(', ')}, mac FROM handrail.run_steps WHERE run = $1`,
      [id],
    )
    const isOurs = body && isMarked(sign, run, body, !isOpen(run)) && steps.every((one) => one.mac === stepMark(sign, id, one))
    const inputs = isOurs ? withSecrets(body) : undefined
    // Whoever else can write to the database brings nothing onto this machine, where nobody would ask whose it is any more.
    if (!body || inputs === undefined) {
      await letGo(shared, id)
      left++
      continue
    }
    const all: Whole = {
      run,
      body: { ...body, inputs },
      steps,
      artifacts: await db.query<ArtifactRow>(`SELECT ${artifactColumns.join(', ')} FROM handrail.artifacts WHERE run = $1`, [id]),
    }
    const kept = keptOf(all)
    for (const one of kept) await copy(one, shared.artifacts, local.artifacts)
    putLocal(local, all)
    await db.transaction(async (query) => {
      await query('DELETE FROM handrail.artifacts WHERE run = $1', [id])
      await query('DELETE FROM handrail.runs WHERE id = $1', [id])
    })
    for (const one of kept) await shared.artifacts.remove(one.id)
    moved++
  }
  const [elsewhere] = await db.query<{ n: number }>(
    `SELECT count(*) AS n FROM handrail.runs WHERE space = $1 AND status IN ('queued', 'running') AND NOT (${here})`,
    [space, place],
  )
  return { moved, left: left + (elsewhere?.n ?? 0) }
}

/** In this process's hands, so that nobody begins it meanwhile; undefined where somebody has it. */
function takeLocal(db: Database, id: string, mover: string): Moved | undefined {
  const row = db.get<Moved>(`SELECT ${columns.join(', ')} FROM runs WHERE id = ?`, id)
  if (!row) return undefined
  if (!isOpen(row)) return row
  if (row.status === 'running' && row.owner !== '' && isRunning(String(row.owner).split(' ', 1)[0] as string)) return undefined
  db.run(`UPDATE runs SET status = 'running', owner = ? WHERE id = ?`, mover, id)
  return row
}

function giveBack(db: Database, id: string, mover: string): void {
  db.run(`UPDATE runs SET owner = '' WHERE id = ? AND owner = ?`, id, mover)
}

async function putShared(
  { db, space, place, authority }: Moving['shared'],
  all: Whole,
  queue: string,
  sign: Sign,
): Promise<void> {
  const { run, body, steps, artifacts } = all
  const holder = JSON.stringify([place, run.holder ?? ''])
  const given = {
    ...run,
    idem_key: run.idem_key === null ? null : JSON.stringify(run.idem_key),
    holder,
    owner: '',
    bytes: run.bytes ?? 0,
    ...(isOpen(run) && { authority }),
    space,
    queue,
  }
  await db.transaction(async (query) => {
    // What a move that was killed left of it is no longer how it is.
    await query(`DELETE FROM handrail.runs WHERE id = $1 AND queue LIKE '~%'`, [run.id])
    await query('DELETE FROM handrail.artifacts WHERE run = $1', [run.id])
    await query(
      'INSERT INTO handrail.run_turns (space, holder, turn) SELECT $1, $2, coalesce(max(turn), 0) FROM handrail.run_turns WHERE space = $1 ON CONFLICT DO NOTHING',
      [space, holder],
    )
    await insert(query, 'runs', given)
    await insert(query, 'run_bodies', { run: run.id, ...body, mac: runMark(sign, given, body) })
    for (const step of steps) await insert(query, 'run_steps', { run: run.id, ...step, mac: stepMark(sign, run.id, step) })
    for (const artifact of artifacts) await insert(query, 'artifacts', { run: run.id, space, ...artifact })
  })
}

async function insert(query: Postgres['query'], table: string, row: Record<string, unknown>): Promise<void> {
  const names = Object.keys(row)
  await query(
    `INSERT INTO handrail.${table} (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(row),
  )
}

function putLocal({ db, authority }: Moving['local'], { run, body, steps, artifacts }: Whole): void {
  const [, holder] = JSON.parse(String(run.holder)) as [string, string]
  const given: Record<string, Value> = {
    ...Object.fromEntries(columns.map((name) => [name, run[name]])),
    idem_key: run.idem_key === null ? null : (JSON.parse(String(run.idem_key)) as string),
    holder,
    owner: '',
    ...(isOpen(run) && { authority }),
  }
  const put = (table: string, row: Record<string, Value>): void => {
    const names = Object.keys(row)
    db.run(
      `INSERT OR IGNORE INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      ...(Object.values(row) as SqlValue[]),
    )
  }
  db.transaction(() => {
    put('runs', given)
    const { template, inputs, output_schema, result } = body
    put('run_bodies', { run: run.id, template, inputs, output_schema, result })
    for (const step of steps)
      put('run_steps', { run: run.id, ...Object.fromEntries(stepColumns.map((name) => [name, step[name]])) })
    for (const artifact of artifacts) put('artifacts', { ...artifact, run: run.id })
  }, true)
}

/** Workers may come for it. */
async function letGo({ db }: Moving['shared'], id: string): Promise<void> {
  await db.query(`UPDATE handrail.runs SET queue = regexp_replace(queue, '^~', '') WHERE id = $1`, [id])
}

/** Undefined where they are not as they were sealed. */
function withSecrets({ template, inputs, secrets }: HandedBody): string | undefined {
  if (secrets === null) return inputs
  const sealed = sealedIn(JSON.parse(template) as Template, secrets)
  return sealed && JSON.stringify({ ...(JSON.parse(inputs) as object), ...sealed })
}

interface Kept {
  id: string
  bytes: number
}

/** Contents there are: of its artifacts, and of what its steps left so far. */
function keptOf({ artifacts, steps }: Whole): Kept[] {
  const named = artifacts
    .filter(({ state }) => state === 'kept')
    .map(({ id, bytes }) => ({ id: String(id), bytes: Number(bytes) }))
  const left = steps.flatMap(({ artifacts: some }) => (some === null ? [] : (JSON.parse(some) as Kept[])))
  return [...named, ...left.filter(({ id }) => !artifacts.some((one) => one.id === id))]
}

async function copy({ id, bytes }: Kept, from: ArtifactStore, to: ArtifactStore): Promise<void> {
  await to.put(id, await from.read(id, 0, bytes))
}
