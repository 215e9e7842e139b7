import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { manyReads, serve } from './events.mjs'
import { everyMs, reading } from './parallel.mjs'
import { repository } from './servers.mjs'

/** Over HTTP, with the streams of all three open; the other two read as often. */
export async function parallelLog(bench) {
  const stops = join(bench.temp, 'loop-stops')
  const served = await serve(bench, await manyReads(bench), 3, {
    args: ['--require', join(repository, 'bench', 'loop-stops.cjs')],
    env: { LOOP_STOPS_FILE: stops },
  })
  const [reader, ...others] = served.clients.map((client) => ({
    call: (name, input) => client.callTool({ name, arguments: input }),
  }))
  let over = false
  const keepReading = async (client) => {
    while (!over) {
      await client.call('read_file', { path: 'ten.txt' })
      await pause(everyMs)
    }
  }
  try {
    const working = async () => {
      const reading = others.map(keepReading)
      await pause(20_000)
      over = true
      await Promise.all(reading)
    }
    return [await reading(bench, reader, 'the log has 1,000,000 lines of reads and three clients are connected', working)]
  } finally {
    over = true
    await served.close()
    bench.say(`parallel: from its start on: ${readFileSync(stops, 'utf8')}`)
  }
}
