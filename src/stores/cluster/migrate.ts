import { Fault } from '../../contracts/faults/fault.ts'
import type { Postgres } from '../../host/postgres.ts'
import { clusterFunctions } from './functions.ts'
import { clusterTables, clusterVersion } from './schema.ts'

/** One at a time, whichever machines start together. */
const lockKey = 4_777_014

/** Brings the tables up, in one transaction under a lock: processes that start together wait for the first, and find them there. */
export async function migrate(db: Postgres): Promise<void> {
  if ((await versionOf(db.query)) === clusterVersion) return
  await db.transaction(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [lockKey])
    const found = await versionOf(query)
    if (found > clusterVersion)
      throw new Fault(
        'unsupported',
        `The tables of runs in the database were made by a newer Handrail (version ${found}, this one knows ${clusterVersion})`,
        { hint: 'Bring every machine to the same version of Handrail: the newest one.' },
      )
    if (found === clusterVersion) return
    await query(clusterTables)
    await query(clusterFunctions)
    await query('INSERT INTO handrail.meta (version) VALUES ($1) ON CONFLICT (one) DO UPDATE SET version = excluded.version', [
      clusterVersion,
    ])
  })
}

async function versionOf(query: Postgres['query']): Promise<number> {
  // Not with to_regclass: a connection that once found nothing still finds nothing there while it waits for whoever makes the tables, and would make
  // them once more beside those who use them already.
  const [table] = await query<{ there: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'handrail' AND tablename = 'meta') AS there`,
  )
  if (!table?.there) return 0
  const [row] = await query<{ version: number }>('SELECT version FROM handrail.meta')
  return row?.version ?? 0
}
