import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { newSpace, openMachine, reached, redis, startWorker, urls, workInside } from '../support/cluster.ts'
import { handIn } from '../support/runs.ts'
import { findRedis } from '../support/postgres.ts'
import { sweep } from '../support/soak.ts'

const none = findRedis() === undefined
if (none)
  process.stderr.write(
    'handrail: there is no Redis here, so the queue on it is not tested. Debian: apt-get install redis-server\n',
  )

const some = sweep(100, 30)

test.skipIf(none)('with the queue on Redis it is the same, also when that loses everything', async () => {
  const space = newSpace()
  const env = { HANDRAIL_REDIS_URL: redis() }
  await using here = await openMachine(space, env)
  await using one = await openMachine(space)
  await using two = await openMachine(space)
  await using first = await startWorker(one, space, { env, args: ['--slots', '2'] })
  const submit = async (items: number): Promise<string> =>
    (await handIn(here, 'sites', { items: urls(items) }, { mode: 'async' })).runId
  const runsApi = await here.runtime.runs()
  expect((await here.runtime.cluster())?.queue).toBe('redis')
  expect(await runsApi.wait(await submit(1))).toMatchObject({ status: 'succeeded' })
  const ids = await Promise.all(Array.from({ length: sweep(8, 4) }, () => submit(some)))
  await reached(runsApi, ids[0] as string, 1)
  const client = new Redis(redis())
  await client.flushall()
  client.disconnect()
  await using _second = await workInside(two, space, { env, args: ['--slots', '2'] })
  first.signal('SIGKILL')
  const ends = await Promise.all(ids.map((id) => runsApi.wait(id)))
  expect(ends.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'))
  expect(ends.map(({ progress }) => progress.doneSteps)).toEqual(ids.map(() => some))
  expect(first.said()).not.toContain('hidden-word')
})
