import { randomBytes } from 'node:crypto'
import { runErrorOf } from '../contracts/faults/contract-002.ts'
import { asFault, Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { RunError } from '../contracts/run.ts'
import type { ServerRunHead, ServerRuns } from '../contracts/server-run.ts'
import { ownName } from '../host/running.ts'
import type { ServerRecords } from '../host/stage/server-records.ts'
import { redact } from '../text/redact/redact.ts'
import type { Stores } from './stores.ts'

const errorOf = (fault: Fault): RunError => runErrorOf(fault, (tool) => tool)
const again = 'Have the agent start it again.'
const lost = (): RunError =>
  errorOf(new Fault('io', 'The process of Handrail that supervised this server is gone, and the server with it', { hint: again }))

/** The end of what was printed, in whole lines. Secrets are looked for before it is cut, which may go through one. */
function endOf(log: string): string {
  const open = redact(log)
  const last = open.slice(-bounds.servers.log).toWellFormed()
  return last.length < open.length ? last.slice(last.indexOf('\n') + 1) : open
}

/** Dev servers as runs: each has a record and its lines in the log from its start to its end, and can be ended from any process of the project. */
export function openServerRuns({ servers, audit }: Pick<Stores, 'servers' | 'audit'>): {
  records: ServerRecords
  person: ServerRuns
} {
  const tell = (
    event: 'run.started' | 'run.ended',
    { runId, session, call }: Pick<ServerRunHead, 'runId' | 'session' | 'call'>,
    status: ServerRunHead['status'],
    by?: string,
  ): void => {
    try {
      const details = { kind: 'server', status, startedBy: call }
      audit.note({ event, run: runId, session, ...(by !== undefined && { by }), details })
    } catch (fault) {
      // Where the log cannot be written, calls are refused for it anyway.
      console.error(`handrail: ${asFault(fault).message}`)
    }
  }
  const settle = (): void => {
    for (const run of servers.settle(lost())) tell('run.ended', run, 'failed')
  }
  const records: ServerRecords = {
    begin({ argv }, { call, session }, stop) {
      settle()
      const run = { runId: `run_${randomBytes(16).toString('hex')}`, command: redact(argv.join(' ')), call, session }
      servers.begin(run, ownName())
      tell('run.started', run, 'running')
      const look = (): void => {
        const found = servers.get(run.runId)
        if (found && found.status !== 'running') stop()
      }
      const deaf = audit.subscribe({ events: (event) => event === 'run.ended', onLost: look }, (lines) => {
        if (lines.some((line) => line.run === run.runId)) look()
      })
      return {
        note: ({ urls, log }) => servers.note(run.runId, { urls: [...urls], log: endOf(log) }),
        ended({ how, failed, log }) {
          deaf()
          const fault = new Fault('io', `The server ended: ${how}`, {
            hint: `Read what it printed: \`handrail runs show ID\`. ${again}`,
          })
          const status = failed ? 'failed' : 'succeeded'
          if (servers.end(run.runId, status, failed ? errorOf(fault) : null, endOf(log))) tell('run.ended', run, status)
        },
      }
    },
  }
  const get: ServerRuns['get'] = (runId) => {
    settle()
    return servers.get(runId)
  }
  return {
    records,
    person: {
      list() {
        settle()
        return servers.list()
      },
      get,
      stop(runId, by) {
        const found = get(runId)
        if (!found) return undefined
        const fault = new Fault('cancelled', `Stopped by ${by}`, { details: { by }, hint: again })
        // The record first: it counts, whatever becomes of the process. That hears of it from the log.
        if (!servers.end(runId, 'canceled', errorOf(fault)))
          return { success: false, reason: `The server has its end already: ${servers.get(runId)?.status ?? found.status}` }
        tell('run.ended', found, 'canceled', by)
        return { success: true }
      },
    },
  }
}
