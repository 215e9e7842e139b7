import { commandHere } from '../program-name.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { text as readAll } from 'node:stream/consumers'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { RunOrigin, RunView } from '../../../contracts/run.ts'
import type { Command } from '../command.ts'
import { bold, oneLine, printable, printableBlock, progressBar, red, say, warn, warnFolded, yellow } from '../print.ts'

export const runOrigin: RunOrigin = { surface: 'cli', client: 'handrail-cli', session: 'cli-runs' }

export const run: Command = {
  name: 'run',
  summary: 'Hand in a run of a template and wait for its end',
  usage: "handrail run TEMPLATE [--input 'JSON' | --input -] [--key KEY] [--timeout MS] [--detach] --project DIR",
  about: `Each step is a call like any agent's: checked, asked about where that is due, undoable and in the log. The result is JSON on stdout; the
exit code is 0 where it succeeded, in part too. With --detach it is only handed in: a \`handrail serve\` or \`handrail mcp\` with the same flags on the project
carries it out. What is interrupted goes on there as well. \`handrail templates list\` shows what there is.`,
  options: [
    { name: 'input', value: 'JSON', says: 'The inputs of the template; "-" reads them from stdin. Default {}.' },
    { name: 'key', value: 'KEY', says: 'The same key answers the run that is there instead of starting another.' },
    { name: 'timeout', value: 'MS', says: 'Longest it may run, at most 600000. Waiting for you does not count.' },
    { name: 'detach', says: 'Hand it in and print its id.' },
  ],
  examples: [
    'handrail run webgal_project_report --project ./my-game',
    `handrail run batch_validate --input '{"paths":["game/scene/start.txt"]}' --project ./my-game`,
  ],
  async run({ words, options, json, open }) {
    const [templateId] = words
    if (templateId === undefined)
      throw new Fault('bad-input', 'Which template?', { hint: 'handrail run TEMPLATE; `handrail templates list` shows them.' })
    const given = options['input'] === '-' ? await readAll(process.stdin) : String(options['input'] ?? '{}')
    const inputs = parsed(given)
    const runtime = open()
    try {
      runtime.openSession({ id: runOrigin.session, surface: runOrigin.surface, client: runOrigin.client })
      const desk = await runtime.runs()
      const timeoutMs = options['timeout'] === undefined ? undefined : timeout(String(options['timeout']))
      const detached = options['detach'] === true
      const { run: handed, deduplicated } = await desk.submit(
        {
          templateId,
          inputs,
          mode: detached ? 'async' : 'sync',
          timeoutMs,
          ...(options['key'] !== undefined && { idempotencyKey: String(options['key']) }),
        },
        runOrigin,
      )
      if (detached) {
        say(json ? terminalJson({ runId: handed.runId, deduplicated }) : handed.runId)
        return 0
      }
      const ended = await desk.wait(handed.runId, {
        onProgress: watching(templateId, (words) => commandHere(words, runtime.project, options)),
      })
      if (json) say(terminalJson(ended))
      else tellEnd(ended)
      return exitOf(ended)
    } finally {
      await runtime.close()
    }
  },
}

/** A bar where somebody watches, a line for each step where nobody does, and who is asked for. */
export function watching(title: string, command: (words: string) => string): (run: RunView) => void {
  const bar = progressBar(title)
  let last = -1
  let asked: string | undefined
  return ({ progress: { doneSteps, totalSteps }, waiting, status }) => {
    if (process.stderr.isTTY) bar.show(doneSteps, totalSteps)
    else if (doneSteps !== last && status === 'running') warn(`${title}: ${doneSteps} of ${totalSteps}`)
    last = doneSteps
    if (waiting && waiting.approvalId !== asked) {
      bar.end()
      warnFolded(`It waits for your answer: ${command(`approvals show ${waiting.approvalId}`)}`, yellow)
    }
    asked = waiting?.approvalId
    if (doneSteps === totalSteps) bar.end()
  }
}

export const exitOf = ({ status }: RunView): number => (status === 'succeeded' || status === 'partial_success' ? 0 : 1)

export function tellEnd({ runId, status, error, result, artifactIds }: RunView): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  if (error) {
    warnFolded(`${error.errorCode} ${printable(error.message)}`, (text) => text.replace(error.errorCode, red))
    warnFolded(`→ ${printable(error.recoverHint)}`)
    warn(`${bold(runId)} ${status}; its steps: handrail runs show ${runId}`)
    return
  }
  say(printableBlock(JSON.stringify(result, null, 2)))
  const more = artifactIds.map((id) => `handrail artifacts get ${id}`).join(', ')
  warn(`${bold(runId)} ${oneLine(status, 40)}${more === '' ? '' : `; all of it: ${more}`}`)
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Told below.
  }
  throw new Fault('bad-input', 'The input is no JSON object', { hint: `Quote it for the shell: --input '{"paths":["a.txt"]}'` })
}

function timeout(text: string): number {
  const ms = Number(text)
  if (Number.isInteger(ms) && ms >= 1 && ms <= 600_000) return ms
  throw new Fault('bad-input', '--timeout must be a whole number of milliseconds, 1 to 600000', {})
}
