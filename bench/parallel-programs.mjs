import { smallProject } from './data.mjs'
import { openServer, reading } from './parallel.mjs'

/** Each has a client of its own, prints and writes ten times a second, and is judged and committed in the end. */
export async function parallelPrograms(bench) {
  const server = await openServer(bench, smallProject(bench.temp, 'programs'))
  const lasting = (folder) =>
    `mkdir ${folder}; n=0; while [ $n -lt 600 ]; do n=$((n+1)); echo line $n; echo $n > ${folder}/f$((n%50)); sleep 0.1; done`
  const one = (_, index) =>
    server.call('shell', { command: lasting(`p${index}`), timeout_seconds: 110 }, 'agent', `bench-program-${index}`)
  const busy = (_, index) =>
    server.call(
      'shell',
      { command: `timeout 30 sh -c 'while :; do :; done'`, timeout_seconds: 110 },
      'agent',
      `bench-busy-${index}`,
    )
  const sixteen = async (start) => (await Promise.all(Array.from({ length: 16 }, start))).find(Boolean)
  try {
    await server.call('shell', { command: 'true' }, 'person')
    return [
      await reading(bench, server, 'sixteen programs run for a minute', () => sixteen(one)),
      await reading(bench, server, 'sixteen programs take all of every processor for half a minute', () => sixteen(busy)),
    ]
  } finally {
    server.close()
  }
}
