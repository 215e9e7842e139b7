import { Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { NewRun, RunEnd, RunRecord, RunStore, Worker } from '../contracts/run-ports.ts'
import { isTerminal, mayFollow, type RunError, type RunStatus } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import type { Database, SqlValue } from '../host/database.ts'
import { isRunning } from '../host/running.ts'
import { openArtifactRows } from './artifact-rows.ts'
import { openGroupCommit } from './group-commit.ts'
import { fromRow, type Row } from './run-row.ts'
import { openRunSteps } from './run-steps.ts'

/** Of what is past its time, so many rows go at once: whoever comes by next takes more of them. */
const few = 500

/** In every query for one of the two as well: SQLite uses the index of those that are under way only where it reads these very words. */
const underWay = `status IN ('queued', 'running')`
/** Whose it is, or whoever may do as much as they. */
const within = '(submitter = ? OR authority = ?)'

/** Runs on the project's own database, shared by its processes. Every change of a run's state is one transaction that names the state before. */
export function openRuns(db: Database): RunStore {
  const durably = openGroupCommit(db)
  const steps = openRunSteps(db)
  const artifacts = openArtifactRows(db)
  const row = (id: string): Row | undefined =>
    db.get<Row>('SELECT * FROM runs WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)', id, Date.now())
  const record = (id: string): RunRecord | undefined => {
    const found = row(id)
    return found && fromRow(found)
  }
  const count = (where: string, ...values: SqlValue[]): number =>
    db.get<{ n: number | null }>(`SELECT sum(n) AS n FROM run_counts WHERE ${where}`, ...values)?.n ?? 0

  const forget = (where: string, ...values: SqlValue[]): number => {
    const gone = db.all<{ id: string }>(`SELECT id FROM runs WHERE ${where} LIMIT ${few}`, ...values)
    for (const { id } of gone) {
      db.run('DELETE FROM runs WHERE id = ?', id)
      db.run('DELETE FROM run_bodies WHERE run = ?', id)
      steps.forget(id)
    }
    return gone.length
  }
  const forgetOld = (): void => {
    const late = 'expires_at IS NOT NULL AND expires_at <= ?'
    if (db.get(`SELECT 1 FROM runs WHERE ${late} LIMIT 1`, Date.now()) === undefined) return
    db.transaction(() => forget(late, Date.now()))
  }
  const end = ({ id, status: from }: Row, status: RunStatus, error: RunError | undefined, more: Partial<RunEnd> = {}): void => {
    if (!mayFollow(from, status)) throw new Error(`a run that is ${from} cannot become ${status}`)
    const now = Date.now()
    db.run(
      `UPDATE runs SET status = ?, error = ?, owner = '', waiting = NULL, active_ms = max(active_ms, ?), artifacts = ?,
         updated_at = max(?, created_at), expires_at = ? + ttl_ms WHERE id = ?`,
      status,
      error ? JSON.stringify(error) : null,
      more.activeMs ?? 0,
      JSON.stringify((more.artifacts ?? []).map((one) => one.id)),
      now,
      now,
      id,
    )
  }
  const mine = (id: string, worker: Worker): Row | undefined =>
    db.get<Row>(`SELECT * FROM runs WHERE id = ? AND owner = ? AND status = 'running'`, id, worker.name)
  /** Those that take a slot: in the hands of a process that runs, and not waiting for a person. */
  const busy = ({ name }: Worker): number => {
    const rows = db.all<Pick<Row, 'owner'>>(`SELECT owner FROM runs WHERE ${underWay} AND status = 'running' AND waiting IS NULL`)
    return rows.filter(({ owner }) => owner === name || isAlive(owner)).length
  }
  const leftBy = (worker: Worker): Row | undefined =>
    db
      .all<Row>(
        `SELECT * FROM runs WHERE ${underWay} AND status = 'running' AND owner != ? AND ${within} ORDER BY seq`,
        ...as(worker),
      )
      .find(({ owner }) => !isAlive(owner))
  const nextFor = (worker: Worker): Row | undefined =>
    db.get<Row>(
      `SELECT * FROM runs WHERE ${underWay} AND status = 'queued' AND ${within} ORDER BY seq LIMIT 1`,
      ...as(worker).slice(1),
    )

  return {
    async accept(run, { mostQueued }) {
      forgetOld()
      return durably(() => {
        const known = run.key === undefined ? undefined : keyed(run)
        if (known) return { run: fromRow(known), deduplicated: true }
        const waiting = count(`status = 'queued'`)
        if (waiting >= mostQueued) throw full(waiting)
        const beyond = count('true') - bounds.runs.most
        if (beyond >= 0) forget(`status NOT IN ('queued', 'running') ORDER BY seq`)
        insert(run)
        return { run: record(run.id) as RunRecord, deduplicated: false }
      })
    },
    get: async (id) => record(id),
    async body(id) {
      const found = db.get<{ template: string; inputs: string }>('SELECT template, inputs FROM run_bodies WHERE run = ?', id)
      return (
        found && { template: JSON.parse(found.template) as Template, inputs: JSON.parse(found.inputs) as Record<string, unknown> }
      )
    },
    async result(id) {
      const found = db.get<{ result: string | null }>('SELECT result FROM run_bodies WHERE run = ?', id)?.result
      return found ? (JSON.parse(found) as unknown) : null
    },
    async list({ status, template, limit, offset }) {
      forgetOld()
      const wanted = [
        ['status', status],
        ['template', template],
      ].filter((one): one is [string, string] => one[1] !== undefined)
      const where = wanted.map(([column]) => `${column} = ?`).join(' AND ') || 'true'
      const values = wanted.map(([, value]) => value)
      const rows = db.all<Row>(
        `SELECT * FROM runs WHERE ${where} ORDER BY created_at DESC, seq DESC LIMIT ? OFFSET ?`,
        ...values,
        limit,
        offset,
      )
      return { runs: rows.map(fromRow), total: count(where, ...values) }
    },
    async claim(worker, slots) {
      // Most often there is nothing to take: that is found out without keeping anybody from writing.
      if (!leftBy(worker) && (!nextFor(worker) || busy(worker) >= slots)) return undefined
      return db.transaction(() => {
        const left = leftBy(worker)
        // One that was put down, or that waits for a person, was not what its process died of.
        if (left) return take(left, worker, left.owner === '' || left.waiting !== null ? 0 : 1)
        const next = nextFor(worker)
        return next && busy(worker) < slots ? take(next, worker, 0) : undefined
      })
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
        if (busy(worker) >= slots) return 'full'
        db.run('UPDATE runs SET waiting = NULL, updated_at = max(?, created_at) WHERE id = ?', Date.now(), id)
        return 'running'
      }),
    async release(id, worker) {
      db.run(`UPDATE runs SET owner = '' WHERE id = ? AND owner = ? AND status = 'running'`, id, worker.name)
    },
    steps: async (id) => steps.of(id),
    journal: async (id, worker, step, { done, total, activeMs }) =>
      db.transaction(() => {
        if (!mine(id, worker)) return false
        steps.put(id, step)
        const deaths = step.state === 'begun' ? 'deaths' : '0'
        db.run(
          `UPDATE runs SET done_steps = ?, total_steps = ?, active_ms = ?, deaths = ${deaths}, updated_at = max(?, created_at) WHERE id = ?`,
          done,
          total,
          activeMs,
          Date.now(),
          id,
        )
        return true
        // What may not be done twice is known to have begun, whatever happens to the machine.
      }, step.state === 'begun'),
    finish: (id, worker, how) =>
      durably(() => {
        const found = mine(id, worker)
        if (!found) return false
        end(found, how.status, how.error, how)
        for (const artifact of how.artifacts) artifacts.put(id, artifact, how.artifactTtlMs)
        if (how.result !== undefined) db.run('UPDATE run_bodies SET result = ? WHERE run = ?', JSON.stringify(how.result), id)
        return true
      }),
    cancel: (id, error) =>
      durably(() => {
        const found = row(id)
        if (!found) return undefined
        const done = !isTerminal(found.status)
        const since = found.status === 'running' && found.waiting === null ? Math.max(0, Date.now() - found.updated_at) : 0
        if (done) end(found, 'canceled', error, { activeMs: found.active_ms + since })
        return { run: record(id) as RunRecord, done }
      }),
    abandon: async ({ name, authority }, olderThanMs, error) =>
      db.transaction(() => {
        const old = db.all<Row>(
          `SELECT * FROM runs WHERE ${underWay} AND submitter != ? AND authority != ? AND updated_at < ? LIMIT ${few}`,
          name,
          authority,
          Date.now() - olderThanMs,
        )
        const gone = old.filter(({ owner, submitter }) => !isAlive(submitter) && !isAlive(owner))
        for (const one of gone) end(one, 'failed', error)
        return gone.map(({ id }) => record(id) as RunRecord)
      }),
    artifact: async (id) => artifacts.get(id),
    artifacts: async (run) => artifacts.list(run),
    async purge() {
      forgetOld()
      return db.transaction(() => artifacts.expire())
    },
  }

  /** The run that this key stands for. What is past its time, and not gone yet, frees it. */
  function keyed({ template, key = '' }: NewRun): Row | undefined {
    forget('template = ? AND idem_key = ? AND expires_at <= ?', template.id, key, Date.now())
    return db.get<Row>('SELECT * FROM runs WHERE template = ? AND idem_key = ?', template.id, key)
  }

  function insert({
    id,
    template,
    inputs,
    key,
    origin,
    sessionId,
    mode,
    timeoutMs,
    totalSteps,
    worker,
    ttlMs,
    behind,
  }: NewRun): void {
    const now = Date.now()
    db.run(
      `INSERT INTO runs (id, template, version, status, idem_key, origin, session_id, mode, timeout_ms, submitter, authority, owner, deaths,
         done_steps, total_steps, active_ms, artifacts, created_at, updated_at, ttl_ms)
       VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?, 0, '[]', ?, ?, ?)`,
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
    )
    db.run(
      'INSERT INTO run_bodies (run, template, inputs) VALUES (?, ?, ?)',
      id,
      JSON.stringify(template),
      JSON.stringify(inputs),
    )
    for (const step of behind ?? []) steps.put(id, step)
  }

  function take({ id }: Row, { name }: Worker, deaths: number): RunRecord {
    db.run(
      `UPDATE runs SET status = 'running', owner = ?, deaths = deaths + ?, updated_at = max(?, created_at) WHERE id = ?`,
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

function full(waiting: number): Fault {
  return new Fault('busy', `${waiting} runs wait for their turn already`, {
    details: { waiting },
    hint: (name) => `Wait for some to end: ${name('list_task_runs')} shows them.`,
  })
}
