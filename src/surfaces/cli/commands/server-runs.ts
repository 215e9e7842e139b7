import { userInfo } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { RunStatus } from '../../../contracts/run.ts'
import type { ServerRun, ServerRunHead, ServerRuns } from '../../../contracts/server-run.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { ago, bold, oneLine, printable, printableBlock, say, table } from '../print.ts'
import { hintHere, type CommandHere } from '../program-name.ts'

/** How often somebody who watches is told more. */
const lookMs = 500
/** By so much of the end of what was told the place is found where it goes on. */
const placeLength = 200

const heads = ['id', 'command', 'status', 'answers at', 'started']
const row = ({ runId, command, status, urls, createdAt }: ServerRunHead): string[] => [
  runId,
  oneLine(command, 60),
  status,
  urls.join(' '),
  ago(createdAt),
]

export function listServers(
  servers: ServerRuns,
  { status, limit }: { status?: RunStatus | undefined; limit: number },
  json: boolean,
): number {
  const all = servers.list().filter((one) => status === undefined || one.status === status)
  const shown = all.slice(0, limit)
  if (json) for (const one of shown) say(terminalJson(one))
  else say(shown.length === 0 ? 'No dev servers.' : table(heads, shown.map(row)))
  if (!json && all.length > shown.length) say(`${all.length - shown.length} more; --limit shows them.`)
  return 0
}

/** What is done to one server; its run was found by its id. */
export async function withServer(
  servers: ServerRuns,
  what: string,
  run: ServerRun,
  json: boolean,
  command: CommandHere,
): Promise<number> {
  if (what === 'cancel') {
    const ended = servers.stop(run.runId, `${userInfo().username}@cli`) ?? { success: false, reason: 'It is gone.' }
    say(json ? terminalJson(ended) : ended.success ? 'Canceled.' : printable(ended.reason ?? ''))
    return ended.success ? 0 : 1
  }
  if (what === 'retry')
    throw new Fault('unsupported', 'A dev server is not retried', {
      hint: `Have the agent start it again. How this one ended: \`${command(`runs show ${run.runId}`)}\`.`,
    })
  const last = what === 'watch' ? await watch(servers, run, json) : run
  if (json) say(terminalJson(last))
  else {
    say(table(heads, [row(last)]))
    if (last.error)
      say(
        `${bold(last.error.errorCode)} ${printable(last.error.message)}\n→ ${printable(hintHere(last.error.recoverHint, run.runId, command))}`,
      )
    if (last.status === 'running') say(`To stop it: ${command(`runs cancel ${run.runId}`)}`)
    if (what === 'show' && last.log !== '') say(printableBlock(last.log))
  }
  return what === 'watch' && last.status === 'failed' ? 1 : 0
}

/** Prints what it prints, until its end. */
async function watch(servers: ServerRuns, run: ServerRun, json: boolean): Promise<ServerRun> {
  let [last, told] = [run, '']
  for (;;) {
    if (!json) process.stdout.write(printableBlock(moreIn(last.log, told)))
    told = last.log
    if (last.status !== 'running') return last
    await pause(lookMs)
    const now = servers.get(run.runId)
    if (!now) throw new Fault('run-not-found', 'The record of this server is gone', {})
    last = now
  }
}

/** What came since. Of a long log only the end is kept, so what was told may have moved. */
function moreIn(log: string, told: string): string {
  if (log.startsWith(told)) return log.slice(told.length)
  const place = told.slice(-placeLength)
  const at = log.lastIndexOf(place)
  return at < 0 ? log : log.slice(at + place.length)
}
