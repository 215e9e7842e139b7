import { commandHere } from '../program-name.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { userInfo } from 'node:os'
import { Fault } from '../../../contracts/faults/fault.ts'
import { runStatuses, type RunDesk, type RunHeadView, type RunStatus, type UnknownStep } from '../../../contracts/run.ts'
import type { Command, Invocation } from '../command.ts'
import { ago, bold, oneLine, printable, say, table } from '../print.ts'
import { exitOf, runOrigin, tellEnd, watching } from './run.ts'

export const runs: Command = {
  name: 'runs',
  summary: 'See the runs of a project, watch, cancel or retry them',
  usage: 'handrail runs list|show ID|watch ID|cancel ID|retry ID [--failed] [--unknown again|done] --project DIR',
  about: `Runs are kept for half an hour after their end (limits.runTtlMs). \`show\` lists every step and item with why it failed. \`retry\` makes a new run
that has all that was done behind it and does the rest; with --failed only the items that failed. Where nobody knows whether a step was carried
out, because its process was killed, it is never repeated by itself: look at what it did, then say --unknown done or --unknown again.`,
  options: [
    { name: 'status', value: 'STATUS', says: `Only those: ${runStatuses.join(', ')}.` },
    { name: 'template', value: 'ID', says: 'Only runs of this template.' },
    { name: 'limit', value: 'N', says: 'How many to show. Default 50.' },
    { name: 'failed', says: 'For retry: the items that failed, and no others.' },
    {
      name: 'unknown',
      value: 'HOW',
      says: 'For retry: "done" or "again", for a step of which nobody knows whether it was done.',
    },
    { name: 'detach', says: 'For retry: do not wait for its end.' },
  ],
  examples: [
    'handrail runs list --status running --project .',
    'handrail runs show run_1f2e3d4c5b6a79881f2e3d4c5b6a7988 --project .',
    'handrail runs retry run_1f2e3d4c5b6a79881f2e3d4c5b6a7988 --failed --project .',
  ],
  async run(invocation) {
    const { words, open } = invocation
    const [what = 'list', id] = words
    if (!['list', 'show', 'watch', 'cancel', 'retry'].includes(what) || (what !== 'list' && id === undefined))
      throw new Fault('bad-input', id === undefined && what !== 'list' ? 'Which run?' : `Unknown: runs ${what}`, {
        hint: 'runs list, show ID, watch ID, cancel ID or retry ID.',
      })
    const runtime = open()
    try {
      const desk = await runtime.runs()
      if (what === 'list') return await list(desk, invocation)
      return await one(desk, what, id as string, invocation, runtime.project)
    } finally {
      await runtime.close()
    }
  },
}

async function list(desk: RunDesk, { options, json }: Invocation): Promise<number> {
  const limit = Number(options['limit'] ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new Fault('bad-input', '--limit must be a whole number from 1 to 1000', {})
  const status = options['status'] as RunStatus | undefined
  if (status !== undefined && !runStatuses.includes(status))
    throw new Fault('bad-input', `--status must be one of ${runStatuses.join(', ')}`, {})
  const found = await desk.list({ status, templateId: options['template'] as string | undefined, limit })
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

async function one(desk: RunDesk, what: string, id: string, invocation: Invocation, project: string): Promise<number> {
  const { options, json } = invocation
  if (what === 'cancel') {
    const ended = await desk.cancel(id, `${userInfo().username}@cli`)
    say(json ? terminalJson(ended) : ended.success ? 'Canceled.' : printable(ended.reason ?? ''))
    return ended.success ? 0 : 1
  }
  if (what === 'show') return show(desk, id, json)
  let watched = id
  if (what === 'retry') {
    const unknown = options['unknown'] as UnknownStep | undefined
    if (unknown !== undefined && unknown !== 'again' && unknown !== 'done')
      throw new Fault('bad-input', '--unknown must be done or again', {
        hint: 'done: it was carried out. again: it was not, and shall be.',
      })
    const { run } = await desk.retry(id, runOrigin, { failed: options['failed'] === true, ...(unknown && { unknown }) })
    if (options['detach'] === true) {
      say(json ? terminalJson({ runId: run.runId }) : run.runId)
      return 0
    }
    watched = run.runId
  }
  const { templateId } = await desk.get(watched)
  const ended = await desk.wait(watched, {
    onProgress: watching(templateId, (words) => commandHere(words, project, invocation.options)),
  })
  if (json) say(terminalJson(ended))
  else tellEnd(ended)
  return exitOf(ended)
}

async function show(desk: RunDesk, id: string, json: boolean): Promise<number> {
  const [run, steps] = [await desk.get(id), await desk.steps(id)]
  if (json) {
    say(terminalJson({ ...run, steps }))
    return 0
  }
  say(table(['id', 'template', 'status', 'steps', 'ran', 'handed in'], [row(run)]))
  if (run.error) say(`${bold(run.error.errorCode)} ${printable(run.error.message)}\n→ ${printable(run.error.recoverHint)}`)
  if (steps.length > 0)
    say(
      table(
        ['step', 'item', 'state', 'call', 'why'],
        steps.map(({ step, item, state, call, error }) => [
          step,
          item === undefined ? '' : String(item),
          state,
          call ?? '',
          error ? oneLine(`${error.errorCode} ${error.message}`, 100) : '',
        ]),
      ),
    )
  if (run.artifactIds.length > 0)
    say(`Result: ${run.artifactIds.map((artifact) => `handrail artifacts get ${artifact}`).join(', ')}`)
  return 0
}
