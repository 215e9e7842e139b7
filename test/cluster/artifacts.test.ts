import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ArtifactStore } from '../../src/contracts/run-ports.ts'
import { openPostgres, type Postgres } from '../../src/host/postgres.ts'
import { openClusterArtifacts } from '../../src/stores/cluster/artifacts.ts'
import { migrate } from '../../src/stores/cluster/migrate.ts'
import { openS3Artifacts } from '../../src/stores/cluster/s3.ts'
import { ask, database, newSpace, openMachine, urls } from '../support/cluster.ts'
import { handIn } from '../support/runs.ts'
import { openS3, type S3 } from '../support/s3.ts'

const key = { keyId: 'AKEXAMPLE', secret: 'hidden/word+of=s3', region: 'eu-north-1' }
const newId = (): string => `art_${randomBytes(16).toString('hex')}`
const space = newSpace()
let db: Postgres
let s3: S3
const stores: Record<string, ArtifactStore> = {}
beforeAll(async () => {
  db = await openPostgres(database())
  await migrate(db)
  s3 = await openS3(key.keyId, key.secret, key.region)
  stores['rows'] = openClusterArtifacts(db, space, (act) => act())
  stores['s3'] = await openS3Artifacts({ url: s3.url, ...key }, db, space)
})
afterAll(async () => {
  await db.close()
  await s3[Symbol.asyncDispose]()
})

describe.each(['rows', 's3'])('contents of artifacts: %s', (which) => {
  test.each([0, 1, 262_143, 262_144, 262_145, 600_000])('%i bytes come back as they were, from anywhere', async (size) => {
    const store = stores[which] as ArtifactStore
    const [id, bytes] = [newId(), randomBytes(size)]
    await store.put(id, bytes)
    expect(bytes.equals(await store.read(id, 0, size + 10))).toBe(true)
    for (const [from, length] of [
      [size >> 1, 1_000],
      [262_140, 10],
      [size + 5, 10],
    ] as const)
      expect(bytes.subarray(from, from + length).equals(await store.read(id, from, length))).toBe(true)
    await store.remove(id)
    if (size > 0) await expect(store.read(id, 0, 10)).rejects.toMatchObject({ reason: 'artifact-expired' })
  })

  test('what a run names is not removed, whoever asks; what is past its time is', async () => {
    const store = stores[which] as ArtifactStore
    const id = newId()
    await store.put(id, Buffer.from('kept'))
    await ask(
      `INSERT INTO handrail.artifacts (id, space, run, mime_type, bytes, created_at, expires_at, state) VALUES ($1, $2, 'run_x', 'text/plain', 4, 0, 0, 'kept')`,
      [id, space],
    )
    await store.remove(id)
    expect(Buffer.from(await store.read(id, 0, 10)).toString()).toBe('kept')
    await ask(`UPDATE handrail.artifacts SET state = 'expired' WHERE id = $1`, [id])
    await store.remove(id)
    await expect(store.read(id, 0, 10)).rejects.toMatchObject({ reason: 'artifact-expired' })
  })

  test('those that were left behind are found by their time, however many', async () => {
    const store = stores[which] as ArtifactStore
    s3.page = 2
    const ids = [newId(), newId(), newId(), newId(), newId()]
    for (const id of ids) await store.put(id, Buffer.from('x'))
    expect((await store.writtenBefore(Date.now() + 60_000)).filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted())
    expect((await store.writtenBefore(Date.now() - 3_600_000)).filter((id) => ids.includes(id))).toEqual([])
    for (const id of ids) await store.remove(id)
  })

  test('an id that is none is not asked for', async () => {
    const store = stores[which] as ArtifactStore
    for (const id of ['../../x', 'art_x', "art_'; DROP TABLE handrail.runs; --"])
      await expect(store.read(id, 0, 1)).rejects.toMatchObject({ reason: 'artifact-not-found' })
  })
})

test('a wrong key is refused, and said without it', async () => {
  const store = await openS3Artifacts({ url: s3.url, ...key, secret: 'another' }, db, space)
  const fault = await store.put(newId(), Buffer.from('x')).catch((thrown: Error) => thrown)
  expect(fault).toMatchObject({ reason: 'io', message: expect.stringContaining('SignatureDoesNotMatch') as string })
  expect(JSON.stringify(fault)).not.toContain('another')
})

test('a run leaves its result in the bucket, and every machine reads it from there', async () => {
  const environment = {
    HANDRAIL_ARTIFACT_URL: s3.url,
    HANDRAIL_ARTIFACT_REGION: key.region,
    HANDRAIL_ARTIFACT_KEY_ID: key.keyId,
    HANDRAIL_ARTIFACT_SECRET: key.secret,
  }
  const shared = newSpace()
  await using one = await openMachine(shared, environment)
  await using two = await openMachine(shared, environment)
  const before = s3.objects.size
  const { runId } = await handIn(one, 'sites', { items: urls(1) }, { mode: 'sync' })
  expect(s3.objects.size).toBe(before + 1)
  const { artifactIds } = await two.call<{ artifactIds: string[] }>('get_task_run', { runId })
  const chunk = await two.call<{ data: string }>('get_artifact', { artifactId: artifactIds[0], offset: 0, limit: 10_000 })
  expect(JSON.parse(chunk.data)).toMatchObject({ summary: { total: 1 } })
  expect(await ask('SELECT 1 FROM handrail.artifact_chunks WHERE artifact = $1', [artifactIds[0]])).toEqual([])
})
