import { commandHere, hintHere, type CommandHere } from '../program-name.ts'
import { wholeId } from '../whole-id.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { userInfo } from 'node:os'
import type { Operator } from '../../../contracts/operator.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import {
  runStatuses,
  type RunsApi,
  type RunHeadView,
  type RunStatus,
  type StepRecord,
  type UnknownStep,
} from '../../../contracts/run.ts'
import type { Command, Invocation } from '../command.ts'
import { ago, bold, oneLine, printable, say, table } from '../print.ts'
import { listServers, withServer } from './server-runs.ts'
import { artifactsIn, exitOf, openRunSession, pagesOf, runCommands, runOrigin, tellEnd, watched } from './run.ts'
import { listWorkers, moveRuns } from './shared-runs.ts'

export const runs: Command = {
  name: 'runs',
  insteadOf: runCommands,
  summary: 'See the runs of a project, watch, cancel or retry them',
  usage:
    'handrail runs list [--servers]|show ID|watch ID|cancel ID|retry ID [--failed] [--unknown again|done]|workers|move --to shared|embedded --project DIR',
  acts: { list: 0, show: 1, watch: 1, cancel: 1, retry: 1, workers: 0, move: 0 },
  about: `Runs are kept for half an hour after their end (limits.runTtlMs). \`show\` lists every step and item with why it failed. \`retry\` makes a new run
that has all that was done behind it and does the rest; with --failed only the items that failed. Where nobody knows whether a step was carried
out, because its process was killed, it is never repeated by itself: look at what it did, then say --unknown done or --unknown again.
Dev servers that agents start are runs of their own kind, with a list of their own: \`list --servers\`. \`show\` and \`watch\` print what one
prints, \`cancel\` stops it in whichever process it is; it ends with that process.
Where machines share the runs (cluster.databaseUrl), \`workers\` says which there are and how long the queue is, and \`move\` takes the runs of this project
from one store to the other.`,
  options: [
    { name: 'status', value: 'STATUS', says: `Only those: ${runStatuses.join(', ')}.` },
    { name: 'template', value: 'ID', says: 'Only runs of this template.' },
    { name: 'servers', says: 'For list: dev servers, which are in no other list.' },
    { name: 'last', says: 'The newest run, in the place of an ID.' },
    { name: 'limit', value: 'N', says: 'How many to show. Default 50.' },
    { name: 'failed', says: 'For retry: the items that failed, and no others.' },
    {
      name: 'unknown',
      value: 'HOW',
      says: 'For retry: "done" or "again", for a step of which nobody knows whether it was done.',
    },
    { name: 'to', value: 'STORE', says: 'For move: "shared" (the configured database) or "embedded" (this machine).' },
    { name: 'detach', says: 'For retry: do not wait for its end.' },
  ],
  examples: [
    'handrail runs list --status running --project .',
    'handrail runs list --servers --project .',
    'handrail runs show --last --project .',
    'handrail runs retry --last --failed --project .',
  ],
  async run(invocation) {
    const { words, open } = invocation
    const [what = 'list', typed] = words
    const isNamed = typed !== undefined || invocation.options['last'] === true
    const isOfAll = ['list', 'workers', 'move'].includes(what)
    if (!isOfAll && (!['show', 'watch', 'cancel', 'retry'].includes(what) || !isNamed))
      throw new Fault('bad-input', !isNamed ? 'Which run?' : `Unknown: runs ${what}`, {
        hint: '`handrail runs list` shows them; then `handrail runs show ID`, watch, cancel or retry. `runs workers` and `runs move` are for several machines.',
      })
    const runtime = open()
    try {
      if (what === 'workers') return await listWorkers(runtime, invocation.json)
      if (what === 'move') return await moveRuns(runtime, invocation)
      if (what === 'list' && invocation.options['servers'] === true)
        return listServers(runtime.servers, filterOf(invocation), invocation.json)
      if (what === 'list') return await list(await runtime.runs(), invocation)
      const command: CommandHere = (words) => commandHere(words, runtime.project, invocation.options)
      const run = typed === undefined ? await lastRun(runtime) : wholeId(runtime, 'run', typed)
      const server = runtime.servers.get(run)
      if (server) return await withServer(runtime.servers, what, server, invocation.json, command)
      if (what === 'retry') openRunSession(runtime)
      const isAskedHere = (approval: string): boolean => runtime.approvals.get(approval) !== undefined
      return await one(await runtime.runs(), what, run, invocation, command, isAskedHere)
    } finally {
      await runtime.close()
    }
  },
}

async function lastRun(runtime: Operator): Promise<string> {
  const [newest] = (await (await runtime.runs()).list({ limit: 1 })).runs
  if (newest) return newest.runId
  throw new Fault('not-found', 'There is no run', { hint: '`handrail templates list` shows what can be run.' })
}

function filterOf({ options }: Invocation): { status: RunStatus | undefined; limit: number } {
  const limit = Number(options['limit'] ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new Fault('bad-input', '--limit must be a whole number from 1 to 1000', {})
  const status = options['status'] as RunStatus | undefined
  if (status !== undefined && !runStatuses.includes(status))
    throw new Fault('bad-input', `--status must be one of ${runStatuses.join(', ')}`, {})
  return { status, limit }
}

async function list(runsApi: RunsApi, invocation: Invocation): Promise<number> {
  const { options, json } = invocation
  const found = await runsApi.list({ ...filterOf(invocation), templateId: options['template'] as string | undefined })
  if (json) for (const run of found.runs) say(terminalJson(run))
  else if (found.total === 0) say('No runs.')
  else say(table(['id', 'template', 'status', 'steps', 'ran', 'handed in'], found.runs.map(row)))
  if (!json && found.total > found.runs.length) say(`${found.total - found.runs.length} more; --limit shows them.`)
  return 0
}

function row(run: RunHeadView): string[] {
  const { doneSteps, totalSteps } = run.progress
  const status = run.waiting ? `waits for ${run.waiting.approvalId}` : run.status
  return [run.runId, run.templateId, status, `${doneSteps}/${totalSteps}`, `${run.metrics.elapsedMs} ms`, ago(run.createdAt)]
}

async function one(
  runsApi: RunsApi,
  what: string,
  id: string,
  { options, json }: Invocation,
  command: CommandHere,
  isAskedHere: (approval: string) => boolean,
): Promise<number> {
  if (what === 'cancel') {
    const ended = await runsApi.cancel(id, `${userInfo().username}@cli`)
    say(json ? terminalJson(ended) : ended.success ? 'Canceled.' : printable(ended.reason ?? ''))
    return ended.success ? 0 : 1
  }
  if (what === 'show') return show(runsApi, id, json, command, isAskedHere)
  let runId = id
  if (what === 'retry') {
    const unknown = options['unknown'] as UnknownStep | undefined
    if (unknown !== undefined && unknown !== 'again' && unknown !== 'done')
      throw new Fault('bad-input', '--unknown must be done or again', {
        hint: 'done: it was carried out. again: it was not, and shall be.',
      })
    const { run } = await runsApi.retry(id, runOrigin, { failed: options['failed'] === true, ...(unknown && { unknown }) })
    if (options['detach'] === true) {
      say(json ? terminalJson({ runId: run.runId }) : run.runId)
      return 0
    }
    runId = run.runId
  }
  const { templateId } = await runsApi.get(runId)
  const ended = await watched(runsApi, runId, templateId, command)
  if (json) say(terminalJson(ended))
  else tellEnd(ended, command, await pagesOf(runsApi, ended))
  return exitOf(ended)
}

async function show(
  runsApi: RunsApi,
  id: string,
  json: boolean,
  command: CommandHere,
  isAskedHere: (approval: string) => boolean,
): Promise<number> {
  const [run, steps] = [await runsApi.get(id), await runsApi.steps(id)]
  if (json) {
    say(terminalJson({ ...run, steps }))
    return 0
  }
  say(table(['id', 'template', 'status', 'steps', 'ran', 'handed in'], [row(run)]))
  if (run.error) {
    const hint = hintHere(run.error.recoverHint, id, command)
    say(`${bold(run.error.errorCode)} ${printable(run.error.message)}\n→ ${printable(hint)}`)
  }
  if (steps.length > 0)
    say(
      table(
        ['step', 'item', 'state', 'call', 'why'],
        inTime(steps).map(({ step, item, state, call, error }) => [
          step,
          item === undefined ? '' : String(item),
          state,
          call ?? '',
          error ? oneLine(`${error.errorCode} ${error.message}`, 100) : '',
        ]),
      ),
    )
  if (run.waiting)
    say(
      isAskedHere(run.waiting.approvalId)
        ? `It waits for your answer: ${command(`approvals show ${run.waiting.approvalId}`)}`
        : `It waits for an answer on the machine that carries it out (${command('runs workers')}): approvals show ${run.waiting.approvalId}`,
    )
  if (run.artifactIds.length > 0) say(`Result: ${artifactsIn(run, command)}`)
  return 0
}

/** Steps in the order in which they were come to, the items of each in theirs. */
function inTime(steps: readonly StepRecord[]): StepRecord[] {
  const began = new Map<string, number>()
  for (const { step, at } of steps) began.set(step, Math.min(began.get(step) ?? at, at))
  return steps.toSorted(
    (a, b) => (began.get(a.step) ?? 0) - (began.get(b.step) ?? 0) || (a.step === b.step ? (a.item ?? 0) - (b.item ?? 0) : 0),
  )
}
