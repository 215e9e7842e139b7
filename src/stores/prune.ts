import { bounds, keptRowOf } from '../contracts/kept.ts'
import type { Amount, PrunePlan, Pruned, Pruning } from '../contracts/prune.ts'
import { runToEnd, runInSlices, type Steps } from '../text/steps.ts'
import type { Database } from '../host/database.ts'
import type { StateFolder } from '../host/state-folder.ts'
import { bytesBelow } from '../host/state-size.ts'
import type { AuditStore } from './audit.ts'
import { evidenceBeyond, type EvidenceFile } from './evidence.ts'
import { agedOf, bytesOf, discardAll, findOldStates, unnamed } from './prune-snapshots.ts'
import type { MemoryStore } from './memory/memory.ts'
import { openRunPruning } from './prune-runs.ts'
import type { SnapshotStore } from './snapshots.ts'

/** So much is done with the project's lock, or in one transaction; then others have a turn. */
const few = 32
const idsTold = 500
const dayMs = 86_400_000

/** Rows that go by age; `?` is the time. Never what waits, and no answer that still counts. */
const oldRows: Record<string, { table: string; where: string; least?: number }> = {
  'answered questions and their cards': {
    table: 'approvals',
    where: `state NOT IN ('pending', 'approved') AND created_at < ? AND NOT (state = 'denied' AND coalesce(no_until, 0) > unixepoch() * 1000)`,
  },
  'notes of agents': { table: 'notes', where: 'at < ?' },
  'questions of agents, answered or not': { table: 'questions', where: 'asked_at < ?' },
  // Sessions that work now need theirs, however young the rest may be.
  'sessions that are over': { table: 'sessions', where: 'last_at < ?', least: dayMs },
  'refused paths': { table: 'refusals', where: 'at < ?', least: dayMs },
  'dry runs': { table: 'rehearsals', where: 'at < ?', least: dayMs },
  'dev servers that have ended, with what they printed': {
    table: 'server_runs',
    where: `status != 'running' AND updated_at < ?`,
    least: 3_600_000,
  },
}

/** What a person may want to know of before the oldest go. */
const bounded = {
  'answered questions': { table: `approvals WHERE state NOT IN ('pending', 'approved')`, most: bounds.approvals.most },
  'idempotency keys': { table: 'idempotency', most: bounds.idempotency },
  sessions: { table: 'sessions', most: bounds.sessions },
  'notes of agents': { table: 'notes', most: bounds.notes.all },
  runs: { table: 'runs', most: bounds.runs.most },
}
const nearly = 0.9

interface Parts {
  state: StateFolder
  /** Where the contents of states lie. */
  contents: StateFolder
  db: Database
  audit: AuditStore
  snapshots: SnapshotStore
  memory: Pick<MemoryStore, 'tidy'>
  /** With the project's lock, and what a killed process left put right. */
  exclusive<T>(act: () => T): Promise<T>
}

export function openPruning({ state, contents, db, audit, snapshots, memory, exclusive }: Parts): Pruning {
  let folder: StateFolder | undefined
  const evidence = (): StateFolder | undefined => (folder ??= state.has('evidence') ? state.sub('evidence') : undefined)
  const runs = openRunPruning(db, state)
  const cutoff = (days: number): number => Math.max(0, Date.now() - days * dayMs)
  const count = (table: string, where: string, time: number): number =>
    db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE ${where}`, time)?.n ?? 0
  /** A log of which nothing is known to be wrong. */
  const closedBefore = (time: number): ReturnType<AuditStore['filesUntil']> => audit.filesUntil(new Date(time).toISOString())

  const oldEvidence = function* (before: number): Steps<EvidenceFile[]> {
    const own = evidence()
    return own ? yield* evidenceBeyond(own, Math.min((Date.now() - before) / dayMs, bounds.evidence.days)) : []
  }

  const planning = function* (days: number): Steps<Omit<PrunePlan, 'broken'>> {
    const before = cutoff(days)
    const going: Amount[] = []
    const add = (what: string, number: number, bytes: number): void => void (number && going.push({ what, count: number, bytes }))
    const files = closedBefore(before)
    add(
      'closed files of the audit log',
      files.length,
      files.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    const { aged, leftovers } = yield* findOldStates(contents, db, before)
    const agedIds = aged.map(({ id }) => id)
    const agedBytes = yield* bytesOf(contents, agedIds)
    add('states written through Handrail', aged.length, agedBytes)
    // Contents that both share go with the later of the two.
    add('contents that nothing names', leftovers.length, (yield* bytesOf(contents, [...agedIds, ...leftovers])) - agedBytes)
    const old = yield* oldEvidence(before)
    add(
      'evidence',
      old.length,
      old.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    for (const [what, { table, where, least = 0 }] of Object.entries(oldRows))
      add(what, count(table, where, Math.min(before, Date.now() - least)), 0)
    for (const { what, count: number, bytes } of yield* runs.plan(before)) add(what, number, bytes)
    yield
    return { days, before, going, bytes: going.reduce((sum, { bytes }) => sum + bytes, 0), stays: staying() }
  }

  function staying(): Amount[] {
    const theirs = db.get<{ n: number; bytes: number | null }>(
      `SELECT count(*) AS n, sum(bytes) AS bytes FROM snapshots WHERE state = 'kept' AND kind = 'baseline'`,
    )
    const aside = state.names().filter((name) => /^audit\..*(jsonl|head)\.\d{4}-/.test(name))
    const bytes = aside.reduce((sum, name) => sum + (state.stat(name)?.bytes ?? 0), 0)
    return [
      { what: 'states that Handrail did not write, perhaps the only copies', count: theirs?.n ?? 0, bytes: theirs?.bytes ?? 0 },
      { what: 'logs put aside after a break', count: aside.length, bytes },
    ].filter((one) => one.count > 0)
  }

  const dropStates = async (before: number, by: string): Promise<Amount[]> => {
    const { aged, leftovers, strays } = await runInSlices(findOldStates(contents, db, before))
    const paths = [...new Set(aged.map(({ path }) => path))]
    const planned = new Set(aged.map(({ id }) => id))
    const gone: Amount = { what: 'states written through Handrail', count: 0, bytes: 0 }
    for (let from = 0; from < paths.length; from += few)
      await exclusive(() => {
        const ids = paths.slice(from, from + few).flatMap((path) => agedOf(db, path, before).filter((id) => planned.has(id)))
        // In the log before they are gone.
        for (let at = 0; at < ids.length; at += idsTold)
          audit.write({ event: 'snapshot.pruned', by, snapshots: ids.slice(at, at + idsTold), message: 'old, by handrail prune' })
        db.transaction(() => {
          for (const id of ids) db.run(`UPDATE snapshots SET state = 'dropped' WHERE id = ?`, id)
        }, true)
        gone.count += ids.length
        gone.bytes += runToEnd(discardAll(contents, ids))
      })
    const left: Amount = { what: 'contents that nothing names', count: 0, bytes: 0 }
    for (let from = 0; from < leftovers.length; from += few)
      await exclusive(() => {
        const ids = leftovers.slice(from, from + few).filter((id) => unnamed(contents, db, id) === 'leftover')
        left.count += ids.length
        left.bytes += runToEnd(discardAll(contents, ids))
      })
    for (const stray of strays)
      await exclusive(() => {
        if (typeof unnamed(contents, db, stray.id) === 'object') snapshots.insert(stray, 'kept')
      })
    return [gone, left]
  }

  const dropEvidence = function* (before: number): Steps<Amount> {
    const old = yield* oldEvidence(before)
    for (const { name } of old) {
      evidence()?.remove(name)
      yield
    }
    return { what: 'evidence', count: old.length, bytes: old.reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  const dropRows = function* (before: number): Steps<Amount[]> {
    const gone: Amount[] = []
    for (const [what, { table, where, least = 0 }] of Object.entries(oldRows)) {
      const time = Math.min(before, Date.now() - least)
      let all = 0
      for (let one = few; one === few; all += one) {
        one = db.run(`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${where} LIMIT ${few})`, time)
        yield
      }
      gone.push({ what, count: all, bytes: 0 })
    }
    // Cards, and what a no keeps, go with their questions.
    for (const table of ['cards', 'card_texts', 'declined'])
      for (let one = few; one === few;) {
        const orphans = `SELECT rowid FROM ${table} WHERE approval NOT IN (SELECT id FROM approvals) LIMIT ${few}`
        one = db.run(`DELETE FROM ${table} WHERE rowid IN (${orphans})`)
        yield
      }
    return gone
  }

  return {
    async size() {
      const { bytes, atLeast } = await bytesBelow(state.at('.'), (path) => keptRowOf(path.join('/'))?.kind ?? 'other')
      const near = Object.entries(bounded).flatMap(([what, { table, most }]) => {
        const now = db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? 0
        return now >= nearly * most ? [{ what, count: now, most }] : []
      })
      return { bytes: { database: 0, audit: 0, snapshots: 0, evidence: 0, artifacts: 0, other: 0, ...bytes }, atLeast, near }
    },
    async plan(days) {
      const verdict = await audit.check()
      const plan = await runInSlices(planning(days))
      if (verdict.whole) return plan
      const going = plan.going.filter(({ what }) => what !== 'closed files of the audit log')
      return { ...plan, going, bytes: going.reduce((sum, { bytes }) => sum + bytes, 0), broken: verdict.why }
    },
    async apply({ days, before, broken }, by) {
      const gone = await dropStates(before, by)
      gone.push(
        await runInSlices(dropEvidence(before)),
        ...(await runInSlices(dropRows(before))),
        ...(await runInSlices(runs.drop(before))),
      )
      // A person takes their time, and others the log.
      const isWhole = broken === undefined && (await audit.check()).whole
      const last = isWhole ? closedBefore(before).at(-1) : undefined
      const files = last ? audit.drop(last.last + 1, by) : []
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      gone.unshift({ what: 'closed files of the audit log', count: files.length, bytes })
      // It is an index: whatever keeps it from being tidied keeps nothing else.
      await memory.tidy().catch(() => undefined)
      const databaseBytes = await runInSlices(shrink(db, state))
      const all = gone.filter((one) => one.count > 0)
      const report: Pruned = { gone: all, bytes: all.reduce((sum, one) => sum + one.bytes, 0), databaseBytes }
      audit.write({ event: 'state.pruned', by, details: { days, ...report } }, true)
      return report
    },
  }
}

const databaseFiles = ['handrail.db', 'handrail.db-wal']
/** Pages given back in one go: a few milliseconds. */
const pages = 256

/** Gives room that became free back to the disk; says how much. */
function* shrink(db: Database, state: StateFolder): Steps<number> {
  const size = (): number => databaseFiles.reduce((sum, name) => sum + (state.stat(name)?.bytes ?? 0), 0)
  const free = (): number => db.get<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0
  const before = size()
  // A store from before this was thought of is written anew, once.
  if (db.get<{ auto_vacuum: number }>('PRAGMA auto_vacuum')?.auto_vacuum !== 2 && free() > 0)
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM')
  for (let left = free(); left > 0;) {
    db.exec(`PRAGMA incremental_vacuum(${pages})`)
    yield
    const now = free()
    if (now >= left) break
    left = now
  }
  db.get('PRAGMA wal_checkpoint(TRUNCATE)')
  return Math.max(0, before - size())
}
