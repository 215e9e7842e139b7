import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../../contracts/faults/fault.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command } from '../command.ts'
import { bold, dim, printable, say, warnFolded } from '../print.ts'
import { wholeNumber } from '../whole-number.ts'

const usualDrainSeconds = 60

export const worker: Command = {
  name: 'worker',
  summary: 'Carry out runs that any machine handed in, beside other workers',
  usage: 'handrail worker --project DIR [--slots N] [--worker-templates A,B] [--drain SECONDS] [--port N] [--json]',
  about: `For several machines on one database (cluster.databaseUrl, docs/guide/scale-out.md). It takes runs that any worker may carry out, and those that
belong to this project on this machine. SIGTERM drains it: it takes nothing more, lets what it has come to its end for up to --drain seconds, and
puts the rest down for others. A second one ends it at once. With --port it says at /healthz whether it is well, and has /metrics behind the token.
With --json it prints one line when it is ready: {"worker","pid","slots","url"}.`,
  options: [
    { name: 'slots', value: 'N', says: 'Runs at once. Default: limits.maxConcurrentRuns.' },
    {
      name: 'drain',
      value: 'SECONDS',
      says: `How long it lets runs come to their end on SIGTERM. Default ${usualDrainSeconds}.`,
    },
    {
      name: 'port',
      value: 'N',
      says: 'Port on 127.0.0.1 for /healthz and /metrics; 0 takes any free one. Without it there is none.',
    },
  ],
  examples: [
    'handrail worker --project . --slots 10',
    'handrail worker --project . --worker-templates batch_extract_pages --port 4790',
  ],
  async run({ openLive, options, json, dependencies }) {
    const slots = wholeNumber(options['slots'], 'slots', 1, 1_000)
    const drainMs = (wholeNumber(options['drain'], 'drain', 0, 86_400) ?? usualDrainSeconds) * 1_000
    const port = wholeNumber(options['port'], 'port', 0, 65_535)
    const runtime = openLive(slots === undefined ? {} : { 'max-concurrent-runs': String(slots) })
    const stop = new AbortController()
    const drain = new AbortController()
    const onSignal = (): void => (drain.signal.aborted ? stop.abort() : drain.abort())
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
    try {
      if (runtime.config.cluster.databaseUrl === '')
        throw new Fault('bad-input', 'No database is configured, so there is nothing to share', {
          hint: 'Set cluster.databaseUrl in your own settings, or HANDRAIL_DATABASE_URL; see docs/guide/scale-out.md. On one machine `handrail serve` carries runs out.',
        })
      const runsApi = await runtime.runs()
      runsApi.work()
      const listening =
        port === undefined
          ? undefined
          : await dependencies.serveHttp(runtime, {
              port,
              host: '127.0.0.1',
              allowRemote: false,
              allowOrigins: [],
              watchOnly: true,
            })
      const view = await runtime.cluster()
      const here = { pid: process.pid, slots: runtime.config.limits.maxConcurrentRuns, ...(listening && { url: listening.url }) }
      if (json) say(terminalJson({ space: view?.space, ...here }))
      else {
        say(`${bold('Handrail worker')} ${runtime.version} on ${bold(printable(runtime.project))}, ${here.slots} runs at once`)
        say(
          `  database  ${printable(view?.database ?? '')}   ${dim(`space ${view?.space ?? ''}, queue on ${view?.queue ?? ''}`)}`,
        )
        if (listening) say(`  health    ${listening.url}/healthz   ${dim('(metrics with the token at /metrics)')}`)
        say(dim('SIGTERM or Ctrl-C drains it.'))
      }
      await new Promise<void>((resolve) => drain.signal.addEventListener('abort', () => resolve(), { once: true }))
      if (!json) warnFolded('handrail: draining; nothing more is taken.')
      await Promise.race([runsApi.drain(), pause(drainMs, undefined, { signal: stop.signal }).catch(() => undefined)])
      await listening?.close()
      return 0
    } finally {
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
      await runtime.close()
    }
  },
}
