import { aloneAfter, type NewRun, type RunEnd, type RunRecord, type RunStore, type Worker } from '../contracts/run-ports.ts'
import { isTerminal, mayFollow, type RunStatus } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import type { Database } from '../host/database.ts'
import { isRunning } from '../host/running.ts'
import { openArtifactRows } from './artifact-rows.ts'
import { openGroupCommit } from './group-commit.ts'
import { fromRow, type Row } from './run-row.ts'
import { openRunCapacity } from './run-capacity.ts'
import { openRunSteps } from './run-steps.ts'

/** Ended in one go where nobody will take them in hand. */
const few = 500

/** In every query for one of the two as well: SQLite uses the index of those that are under way only where it reads these very words. */
const underWay = `status IN ('queued', 'running')`
/** Whose it is, or whoever may do as much as they. */
const within = '(submitter = ? OR authority = ?)'

type InSlot = Pick<Row, 'owner' | 'deaths'>

/** Runs on the project's own database, shared by its processes. Every change of a run's state is one transaction that names the state before. */
export function openRuns(db: Database): RunStore {
  const together = openGroupCommit(db)
  const steps = openRunSteps(db)
  const capacity = openRunCapacity(db, steps)
  const artifacts = openArtifactRows(db)
  const row = (id: string): Row | undefined =>
    db.get<Row>('SELECT * FROM runs WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)', id, Date.now())
  const record = (id: string): RunRecord | undefined => {
    const found = row(id)
    return found && fromRow(found)
  }
  const end = ({ id, status: from }: Row, status: RunStatus, how: Omit<RunEnd, 'status' | 'result'>): void => {
    if (!mayFollow(from, status)) throw new Error(`a run that is ${from} cannot become ${status}`)
    const now = Date.now()
    db.run(
      `UPDATE runs SET status = ?, error = ?, owner = '', waiting = NULL, active_ms = max(active_ms, ?), artifacts = ?,
         updated_at = max(?, created_at), expires_at = ? + ttl_ms WHERE id = ?`,
      status,
      how.error ? JSON.stringify(how.error) : null,
      how.activeMs,
      JSON.stringify(how.artifacts.map((one) => one.id)),
      now,
      now,
      id,
    )
    for (const artifact of how.artifacts) artifacts.put(id, artifact, how.artifactTtlMs)
    dropSecrets(id)
  }
  /** Whatever became of the run, nobody needs its secrets any more. */
  const dropSecrets = (id: string): void => {
    const body = db.get<{ template: string; inputs: string }>(
      `SELECT template, inputs FROM run_bodies WHERE run = ? AND instr(template, '"secrets"') > 0`,
      id,
    )
    if (!body) return
    const { secrets = [] } = JSON.parse(body.template) as Template
    const inputs = Object.entries(JSON.parse(body.inputs) as Record<string, unknown>).filter(([name]) => !secrets.includes(name))
    db.run('UPDATE run_bodies SET inputs = ? WHERE run = ?', JSON.stringify(Object.fromEntries(inputs)), id)
  }
  const mine = (id: string, worker: Worker): Row | undefined =>
    db.get<Row>(`SELECT * FROM runs WHERE id = ? AND owner = ? AND status = 'running'`, id, worker.name)
  /** Those that take a slot: in the hands of a process that runs, and not waiting for a person. */
  const inSlots = (): InSlot[] =>
    db.all(`SELECT owner, deaths FROM runs WHERE ${underWay} AND status = 'running' AND waiting IS NULL`)
  const isFull = (taken: InSlot[], { name }: Worker, slots: number): boolean =>
    taken.filter(({ owner }) => owner === name || isAlive(owner)).length >= slots
  /** Whether this worker may carry out one with so many deaths beside what it has in hand. */
  const goesBeside = (taken: InSlot[], deaths: number, { name }: Worker): boolean => {
    const own = taken.filter(({ owner }) => owner === name)
    return own.length === 0 || (deaths < aloneAfter && own.every((one) => one.deaths < aloneAfter))
  }
  /** Whoever has runs in hand is asked after once, however many those are. */
  const leftBy = (worker: Worker): Row | undefined => {
    const theirs = `FROM runs WHERE ${underWay} AND status = 'running' AND owner != ? AND ${within}`
    const owners = db.all<Pick<Row, 'owner'>>(`SELECT DISTINCT owner ${theirs}`, ...as(worker)).map(({ owner }) => owner)
    const gone = owners.filter((owner) => !isAlive(owner))
    if (gone.length === 0) return undefined
    return db.get<Row>(
      // Those that are suspected come after those that are not, and before the queue.
      `SELECT * ${theirs} AND owner IN (SELECT value FROM json_each(?))
         ORDER BY waiting IS NULL AND deaths + (owner != '') >= ${aloneAfter}, seq LIMIT 1`,
      ...as(worker),
      gone,
    )
  }
  /** In the order they came for each who hands in, and by turns between those. What came before there were turns comes first. */
  const nextFor = (worker: Worker): Row | undefined => {
    const [, ...who] = as(worker)
    const first = (holder: string): string =>
      `SELECT seq FROM runs WHERE status = 'queued' AND holder ${holder} AND ${within} ORDER BY seq LIMIT 1`
    return (
      db.get<Row>(`SELECT * FROM runs WHERE seq = (${first('IS NULL')})`, ...who) ??
      db.get<Row>(
        `SELECT runs.* FROM run_turns JOIN runs ON seq = (${first('= run_turns.holder')}) ORDER BY turn LIMIT 1`,
        ...who,
      )
    )
  }
  /** What this worker is to take up now, and how often its processes died by then. */
  const due = (worker: Worker, slots: number): { row: Row; deaths: number } | undefined => {
    const left = leftBy(worker)
    if (left) {
      // One that was put down, or that waits for a person, was not what its process died of.
      const deaths = left.deaths + (left.owner === '' || left.waiting !== null ? 0 : 1)
      // Until there is nothing else in hand, nothing else is taken either.
      return goesBeside(inSlots(), left.waiting === null ? deaths : 0, worker) ? { row: left, deaths } : undefined
    }
    const row = nextFor(worker)
    if (!row) return undefined
    const taken = inSlots()
    return isFull(taken, worker, slots) || !goesBeside(taken, 0, worker) ? undefined : { row, deaths: 0 }
  }

  return {
    async accept(run, most) {
      capacity.forgetOld()
      return together(() => {
        const known = run.key === undefined ? undefined : keyed(run)
        if (known) return { run: fromRow(known), deduplicated: true }
        capacity.mustHave(run.holder, most)
        insert(run)
        return { run: record(run.id) as RunRecord, deduplicated: false }
      })
    },
    get: async (id) => record(id),
    async body(id) {
      const found = db.get<{ template: string; inputs: string; outputSchema: string | null }>(
        'SELECT template, inputs, output_schema AS outputSchema FROM run_bodies WHERE run = ?',
        id,
      )
      return (
        found && {
          template: JSON.parse(found.template) as Template,
          inputs: JSON.parse(found.inputs) as Record<string, unknown>,
          ...(found.outputSchema !== null && { outputSchema: JSON.parse(found.outputSchema) as object }),
        }
      )
    },
    async result(id) {
      const found = db.get<{ result: string | null }>('SELECT result FROM run_bodies WHERE run = ?', id)?.result
      return found ? (JSON.parse(found) as unknown) : null
    },
    async list({ status, template, without, limit, offset }) {
      capacity.forgetOld()
      const wanted = [
        ['status', status],
        ['template', template],
        ['template !', without],
      ].filter((one): one is [string, string] => one[1] !== undefined)
      const where = wanted.map(([column]) => `${column}= ?`).join(' AND ') || 'true'
      const values = wanted.map(([, value]) => value)
      const rows = db.all<Row>(
        `SELECT * FROM runs WHERE ${where} ORDER BY created_at DESC, seq DESC LIMIT ? OFFSET ?`,
        ...values,
        limit,
        offset,
      )
      return { runs: rows.map(fromRow), total: capacity.count(where, ...values) }
    },
    async claim(worker, slots) {
      // Most often there is nothing to take: that is found out without keeping anybody from writing.
      if (!due(worker, slots)) return undefined
      return together(() => {
        const next = due(worker, slots)
        if (!next) return undefined
        if (next.row.status === 'queued')
          db.run('UPDATE run_turns SET turn = (SELECT max(turn) + 1 FROM run_turns) WHERE holder = ?', next.row.holder)
        return take(next.row, worker, next.deaths)
      }, false)
    },
    hasForeign: async ({ name }) =>
      db.get(`SELECT 1 FROM runs WHERE ${underWay} AND status = 'running' AND owner NOT IN ('', ?) LIMIT 1`, name) !== undefined,
    park: async (id, worker, waiting, activeMs) =>
      db.run(
        `UPDATE runs SET waiting = ?, active_ms = ?, updated_at = max(?, created_at) WHERE id = ? AND owner = ? AND status = 'running'`,
        waiting,
        activeMs,
        Date.now(),
        id,
        worker.name,
      ) === 1,
    unpark: async (id, worker, slots) =>
      db.transaction(() => {
        const found = mine(id, worker)
        if (!found) return 'lost'
        if (found.waiting === null) return 'running'
        const taken = inSlots()
        if (isFull(taken, worker, slots) || !goesBeside(taken, found.deaths, worker)) return 'full'
        db.run('UPDATE runs SET waiting = NULL, updated_at = max(?, created_at) WHERE id = ?', Date.now(), id)
        return 'running'
      }),
    async release(id, worker) {
      db.run(`UPDATE runs SET owner = '' WHERE id = ? AND owner = ? AND status = 'running'`, id, worker.name)
    },
    steps: async (id) => steps.of(id),
    journal: (id, worker, step, { done, total, activeMs }) =>
      together(() => {
        if (!mine(id, worker)) return false
        const bytes = steps.put(id, step)
        const deaths = step.state === 'begun' ? 'deaths' : '0'
        db.run(
          `UPDATE runs SET done_steps = ?, total_steps = ?, active_ms = ?, deaths = ${deaths}, updated_at = max(?, created_at), bytes = bytes + ? WHERE id = ?`,
          done,
          total,
          activeMs,
          Date.now(),
          bytes,
          id,
        )
        return true
        // What may not be done twice is known to have begun, whatever happens to the machine.
      }, step.state === 'begun'),
    finish: (id, worker, how) =>
      together(() => {
        const found = mine(id, worker)
        if (!found) return false
        end(found, how.status, how)
        if (how.result !== undefined) db.run('UPDATE run_bodies SET result = ? WHERE run = ?', JSON.stringify(how.result), id)
        return true
      }),
    cancel: (id, error, artifactTtlMs) =>
      together(() => {
        const found = row(id)
        if (!found) return undefined
        const done = !isTerminal(found.status)
        const since = found.status === 'running' && found.waiting === null ? Math.max(0, Date.now() - found.updated_at) : 0
        const activeMs = found.active_ms + since
        if (done) end(found, 'canceled', { error, activeMs, artifacts: steps.left(id), artifactTtlMs })
        return { run: record(id) as RunRecord, done }
      }),
    abandon: async ({ name, authority }, olderThanMs, error, artifactTtlMs) =>
      db.transaction(() => {
        const old = db.all<Row>(
          `SELECT * FROM runs WHERE ${underWay} AND submitter != ? AND authority != ? AND updated_at < ? LIMIT ${few}`,
          name,
          authority,
          Date.now() - olderThanMs,
        )
        const gone = old.filter(({ owner, submitter }) => !isAlive(submitter) && !isAlive(owner))
        for (const one of gone)
          end(one, 'failed', { error, activeMs: one.active_ms, artifacts: steps.left(one.id), artifactTtlMs })
        return gone.map(({ id }) => record(id) as RunRecord)
      }),
    artifact: async (id) => artifacts.get(id),
    artifacts: async (run) => artifacts.list(run),
    async purge(most) {
      const isMore = capacity.forgetOld()
      return db.transaction(() => {
        capacity.make(most)
        const contents = artifacts.expire()
        return { contents, more: isMore || contents.length > 0 }
      })
    },
  }

  /** The run that this key stands for. What is past its time, and not gone yet, frees it. */
  function keyed({ template, key = '' }: NewRun): Row | undefined {
    capacity.forget('template = ? AND idem_key = ? AND expires_at <= ?', template.id, key, Date.now())
    return db.get<Row>('SELECT * FROM runs WHERE template = ? AND idem_key = ?', template.id, key)
  }

  function insert({
    id,
    template,
    inputs,
    key,
    origin,
    holder,
    sessionId,
    mode,
    timeoutMs,
    totalSteps,
    worker,
    ttlMs,
    behind,
    outputSchema,
  }: NewRun): void {
    const now = Date.now()
    const body = [JSON.stringify(template), JSON.stringify(inputs), outputSchema ? JSON.stringify(outputSchema) : null] as const
    let bytes = body.reduce((sum, one) => sum + Buffer.byteLength(one ?? ''), 0)
    for (const step of behind ?? []) bytes += steps.put(id, step)
    db.run(
      `INSERT INTO runs (id, template, version, status, idem_key, origin, session_id, mode, timeout_ms, submitter, authority, owner, deaths,
         done_steps, total_steps, active_ms, artifacts, created_at, updated_at, ttl_ms, holder, bytes)
       VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?, 0, '[]', ?, ?, ?, ?, ?)`,
      id,
      template.id,
      template.version,
      key ?? null,
      JSON.stringify(origin),
      sessionId ?? null,
      mode,
      timeoutMs,
      worker.name,
      worker.authority,
      behind?.length ?? 0,
      totalSteps,
      now,
      now,
      ttlMs,
      holder,
      bytes,
    )
    db.run('INSERT INTO run_bodies (run, template, inputs, output_schema) VALUES (?, ?, ?, ?)', id, ...body)
  }

  function take({ id }: Row, { name }: Worker, deaths: number): RunRecord {
    db.run(
      `UPDATE runs SET status = 'running', owner = ?, deaths = ?, updated_at = max(?, created_at) WHERE id = ?`,
      name,
      deaths,
      Date.now(),
      id,
    )
    return record(id) as RunRecord
  }
}

/** A worker is a process and a number in it. */
const isAlive = (worker: string): boolean => worker !== '' && isRunning(worker.split(' ', 1)[0] as string)

const as = ({ name, authority }: Worker): [string, string, string] => [name, name, authority]
