import type { Amount } from '../contracts/prune.ts'
import type { Database } from '../host/database.ts'
import type { StateFolder } from '../host/state-folder.ts'
import type { Steps } from '../text/steps.ts'
import { ended, openRunCapacity } from './run-capacity.ts'
import { openRunSteps } from './run-steps.ts'

/** Whoever handed a run in may still ask what came of it, and its key still stands for it. */
const leastMs = 3_600_000
const few = 32
const what = {
  runs: 'ended runs with their journals',
  artifacts: 'artifacts of runs',
  strays: 'contents of artifacts that no run names',
  tombstones: 'names of artifacts that had expired',
}
const over = `${ended} AND updated_at < ?`
const old = `state = 'kept' AND created_at < ?`
const gone = `state = 'expired' AND expires_at < ?`

/** What `handrail prune` takes of runs: their records, journals and artifacts. Never one that waits or is under way. */
export function openRunPruning(db: Database, state: StateFolder) {
  const capacity = openRunCapacity(db, openRunSteps(db))
  let own: StateFolder | undefined
  const folder = (): StateFolder => (own ??= state.sub('artifacts'))
  const count = (table: string, where: string, time: number): { n: number; bytes: number | null } =>
    db.get<{ n: number; bytes: number | null }>(
      `SELECT count(*) AS n, sum(bytes) AS bytes FROM ${table} WHERE ${where}`,
      time,
    ) ?? {
      n: 0,
      bytes: 0,
    }
  /** Names of files to which no artifact that is kept belongs; the young ones may yet get theirs. */
  const strays = function* (time: number): Steps<{ name: string; bytes: number }[]> {
    if (!state.has('artifacts')) return []
    const found: { name: string; bytes: number }[] = []
    for (const name of folder().names()) {
      const stat = folder().stat(name)
      const isKept = db.get(`SELECT 1 FROM artifacts WHERE id = ? AND state = 'kept'`, name) !== undefined
      if (stat && stat.changedMs < time && !isKept) found.push({ name, bytes: stat.bytes })
      yield
    }
    return found
  }
  const sum = (files: readonly { bytes: number }[]): number => files.reduce((all, { bytes }) => all + bytes, 0)

  return {
    *plan(until: number): Steps<Amount[]> {
      const time = until - leastMs
      const left = yield* strays(time)
      const artifacts = count('artifacts', old, time)
      return [
        { what: what.runs, count: count('runs', over, time).n, bytes: 0 },
        { what: what.artifacts, count: artifacts.n, bytes: artifacts.bytes ?? 0 },
        { what: what.strays, count: left.length, bytes: sum(left) },
        { what: what.tombstones, count: count('artifacts', gone, time).n, bytes: 0 },
      ]
    },
    *drop(until: number): Steps<Amount[]> {
      const time = until - leastMs
      const all = { runs: 0, artifacts: 0, bytes: 0, tombstones: 0 }
      for (let one = 1; one > 0; all.runs += one) {
        one = db.transaction(() => capacity.forget(over, time))
        yield
      }
      for (let one = few; one === few; all.tombstones += one) {
        one = db.run(`DELETE FROM artifacts WHERE rowid IN (SELECT rowid FROM artifacts WHERE ${gone} LIMIT ${few})`, time)
        yield
      }
      const left = yield* strays(time)
      for (;;) {
        const some = db.all<{ id: string; bytes: number }>(`SELECT id, bytes FROM artifacts WHERE ${old} LIMIT ${few}`, time)
        // That they were stays known, as with those that expire by themselves.
        db.transaction(() => {
          for (const { id } of some)
            db.run(`UPDATE artifacts SET state = 'expired', expires_at = min(expires_at, ?) WHERE id = ?`, Date.now(), id)
        })
        for (const { id } of some) folder().remove(id)
        all.artifacts += some.length
        all.bytes += sum(some)
        yield
        if (some.length < few) break
      }
      for (const { name } of left) {
        folder().remove(name)
        yield
      }
      return [
        { what: what.runs, count: all.runs, bytes: 0 },
        { what: what.artifacts, count: all.artifacts, bytes: all.bytes },
        { what: what.strays, count: left.length, bytes: sum(left) },
        { what: what.tombstones, count: all.tombstones, bytes: 0 },
      ]
    },
  }
}
