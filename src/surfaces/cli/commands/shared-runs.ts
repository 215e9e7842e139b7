import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Invocation } from '../command.ts'
import { ago, dim, oneLine, printable, say, table } from '../print.ts'

/** `handrail runs workers`: who shares the runs, and how long the queue is. */
export async function listWorkers({ cluster }: Pick<Operator, 'cluster'>, json: boolean): Promise<number> {
  const view = await cluster()
  if (!view)
    throw new Fault('bad-input', 'Runs are kept on this machine alone: no database is configured', {
      hint: 'docs/guide/scale-out.md says how machines share runs.',
    })
  if (json) {
    say(terminalJson(view))
    return 0
  }
  const { workers, depth } = view
  say(`${printable(view.database)}, space ${view.space} ${dim(`(queue on ${view.queue}, artifacts in ${view.artifacts})`)}`)
  say(
    `${depth.queued} queued${depth.queued > 0 ? `, the oldest for ${Math.round(depth.oldestMs / 1000)} s` : ''}; ${depth.running} running; ${depth.waitingForPerson} wait for a person`,
  )
  const shown = workers.filter(({ kind }) => kind === 'worker')
  if (shown.length === 0) say('No workers. Start one: handrail worker')
  else
    say(
      table(
        ['machine', 'process', 'runs', 'state', 'takes', 'since'],
        shown.map((one) => [
          one.here ? `${oneLine(one.host, 40)} (here)` : oneLine(one.host, 40),
          String(one.pid),
          `${one.running}/${one.slots}${one.parked > 0 ? ` +${one.parked} waiting` : ''}`,
          !one.alive
            ? `silent for ${Math.round(one.silentMs / 1000)} s`
            : one.draining
              ? 'draining'
              : one.sameRules
                ? 'well'
                : 'other settings',
          one.templates.length > 0 ? oneLine(one.templates.join(', '), 60) : 'all',
          ago(one.startedAt),
        ]),
      ),
    )
  return 0
}

/** `handrail runs move`: all runs of the project into the other store, each whole or not at all. */
export async function moveRuns({ moveRuns: move }: Pick<Operator, 'moveRuns'>, { options, json }: Invocation): Promise<number> {
  const to = options['to']
  if (to !== 'shared' && to !== 'embedded')
    throw new Fault('bad-input', 'Where to? --to shared (the configured database) or --to embedded (this machine)', {})
  const { moved, left } = await move(to)
  if (json) say(terminalJson({ moved, left }))
  else {
    say(`${moved} ${moved === 1 ? 'run' : 'runs'} moved.`)
    if (left > 0)
      say(
        to === 'shared'
          ? `${left} left where they are, since they are under way: stop what carries them out (serve, mcp, worker), then once more.`
          : `${left} left where they are. Those under way: stop what carries them out (serve, mcp, worker), then once more. Those handed in or carried out on another machine, or changed since, stay there.`,
      )
  }
  return left > 0 ? 1 : 0
}
