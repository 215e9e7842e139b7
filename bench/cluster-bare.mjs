// A worker of BullMQ alone: for each job the same call that a trivial run makes, through Handrail's own road, its answer kept in the job.
// With `listen` in the place of a number it takes nothing, and tells its parent when it hears that a run has ended.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [, , program, project, slots] = process.argv
const require = createRequire(program)
const { openRuntime } = require(join(program, '..', '..', 'dist', 'handrail.cjs'))
const runtime = openRuntime({ project })
if (slots === 'listen') {
  await runtime.runs()
  runtime.gate.onNews(({ runs }) => {
    const at = performance.timeOrigin + performance.now()
    for (const run of runs) process.send({ run, at })
  })
} else {
  const { Worker, createPostgresBackend } = require('bullmq')
  const caller = { surface: 'cli', client: 'bench', session: 'bench', role: 'agent' }
  const worker = new Worker(
    'bench-bare',
    async ({ data }) => (await runtime.call('allow_sites', data.inputs, caller)).output,
    { connection: { connectionString: process.env.HANDRAIL_DATABASE_URL, migrate: true }, concurrency: Number(slots) },
    createPostgresBackend,
  )
  worker.on('error', () => undefined)
  await worker.waitUntilReady()
}
process.stdout.write('ready\n')
