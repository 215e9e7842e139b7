import { commandHere, hintHere, type CommandHere } from '../program-name.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { runBounds, type RunsApi, type RunOrigin, type RunView } from '../../../contracts/run.ts'
import type { CliDependencies, Command } from '../command.ts'
import { piped } from '../piped.ts'
import { bold, oneLine, printable, printableBlock, progressBar, red, say, table, warn, warnFolded, yellow } from '../print.ts'

export const runOrigin: RunOrigin = { surface: 'cli', client: 'handrail-cli', session: 'cli-runs' }

/** The session that runs of this command line are calls of. */
export function openRunSession(runtime: Operator): void {
  const { session: id, surface, client } = runOrigin
  runtime.openSession({ id, surface, client })
}

/** What people type for what agents call, in hints about runs. */
export const runCommands = {
  list_task_templates: 'templates list',
  run_task_template: 'run TEMPLATE',
  get_task_run: 'runs show ID',
  list_task_runs: 'runs list',
  cancel_task_run: 'runs cancel ID',
  get_artifact: 'artifacts get ID',
} as const

export const run: Command = {
  name: 'run',
  insteadOf: runCommands,
  summary: 'Hand in a run of a template and wait for its end',
  usage:
    "handrail run TEMPLATE [--input 'JSON' | --input -] [--urls FILE] [--session ID] [--key KEY] [--timeout MS] [--detach] --project DIR",
  mostWords: 1,
  about: `Each step is a call like any agent's: checked, asked about where that is due, undoable and in the log. The result is JSON on stdout; the
exit code is 0 where it succeeded, in part too; pages are a table, and with --json all of them. With --detach it is only handed in: a \`handrail serve\` or \`handrail mcp\` with the same flags on the project
carries it out. What is interrupted goes on there as well. \`handrail templates list\` shows what there is.`,
  options: [
    { name: 'input', value: 'JSON', says: 'The inputs of the template; "-" reads them from stdin. Default {}.' },
    {
      name: 'urls',
      value: 'FILE',
      says: 'Addresses, one a line, as the input urls; "-" reads them from stdin. Lines with # are left out.',
    },
    {
      name: 'session',
      value: 'ID',
      says: 'A browser session that was kept, or a login that was saved (`handrail logins list`).',
    },
    { name: 'key', value: 'KEY', says: 'The same key answers the run that is there instead of starting another.' },
    { name: 'timeout', value: 'MS', says: 'Longest it may run, at most 600000. Waiting for you does not count.' },
    { name: 'detach', says: 'Hand it in and print its id.' },
  ],
  examples: [
    'handrail run webgal_project_report --project ./my-game',
    'handrail run batch_extract_pages --urls urls.txt --project .',
    `handrail run batch_validate --input '{"paths":["game/scene/start.txt"]}' --project ./my-game`,
  ],
  async run({ words, options, json, open, dependencies }) {
    const [templateId] = words
    if (templateId === undefined)
      throw new Fault('bad-input', 'Which template?', {
        hint: 'Name one of those that `handrail templates list` shows: `handrail run TEMPLATE`.',
      })
    const given = options['input'] === '-' ? await piped() : String(options['input'] ?? '{}')
    const inputs = {
      ...parsed(given),
      ...(options['urls'] !== undefined && { urls: await urlsFrom(String(options['urls']), dependencies) }),
    }
    const runtime = open()
    try {
      openRunSession(runtime)
      const runsApi = await runtime.runs()
      const timeoutMs = options['timeout'] === undefined ? undefined : timeout(String(options['timeout']))
      const detached = options['detach'] === true
      const key = options['key'] === undefined ? undefined : keyIn(String(options['key']))
      const { run: handed, deduplicated } = await runsApi.submit(
        {
          templateId,
          inputs,
          mode: detached ? 'async' : 'sync',
          timeoutMs,
          ...(options['session'] !== undefined && { sessionId: String(options['session']) }),
          ...(key !== undefined && { idempotencyKey: key }),
        },
        runOrigin,
      )
      if (detached) {
        say(json ? terminalJson({ runId: handed.runId, deduplicated }) : handed.runId)
        return 0
      }
      const command = (words: string): string => commandHere(words, runtime.project, options)
      const ended = await watched(runsApi, handed.runId, templateId, command)
      if (json) say(terminalJson(ended))
      else tellEnd(ended, command, await pagesOf(runsApi, ended))
      return exitOf(ended)
    } finally {
      await runtime.close()
    }
  },
}

/** Waits for the end of a run, and shows how far it is until then. */
export async function watched(runsApi: RunsApi, runId: string, title: string, command: CommandHere): Promise<RunView> {
  const watch = watching(title, command)
  const ended = await runsApi.wait(runId, { onProgress: watch })
  // It may have come to its end between two looks.
  watch(ended)
  return ended
}

/** A bar where somebody watches, a line for each step where nobody does, and who is asked for. */
function watching(title: string, command: CommandHere): (run: RunView) => void {
  const bar = progressBar(title)
  let last = -1
  let asked: string | undefined
  return ({ progress: { doneSteps, totalSteps }, waiting, status }) => {
    if (process.stderr.isTTY) bar.show(doneSteps, totalSteps)
    else if (doneSteps !== last && (status === 'running' || doneSteps > 0)) warn(`${title}: ${doneSteps} of ${totalSteps}`)
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

interface PageItem {
  url: string
  success: boolean
  title?: string
  contentLength?: number
  evidence?: { status: number }
  error?: { errorCode: string; message: string; details: { status?: number } }
}

/** The items of a run that visited pages; what is too large for the run itself is in its artifact. */
export async function pagesOf(runsApi: RunsApi, { artifactIds: [id], result }: RunView): Promise<PageItem[] | undefined> {
  const isSmall = result !== null && (result as { large?: boolean }).large !== true
  const whole = isSmall || id === undefined ? result : (JSON.parse(await textOf(runsApi, id)) as unknown)
  const items = (whole as { items?: unknown } | null)?.items
  const isPage = (one: unknown): boolean => typeof (one as PageItem | null)?.url === 'string' && 'success' in (one as object)
  return Array.isArray(items) && items.every(isPage) ? (items as PageItem[]) : undefined
}

async function textOf(runsApi: RunsApi, artifact: string): Promise<string> {
  const chunks: string[] = []
  for (let offset = 0; ;) {
    const { data, length, complete, mimeType } = await runsApi.artifact(artifact, offset, runBounds.artifactMaxChunkSize)
    if (mimeType !== 'application/json') return 'null'
    chunks.push(data)
    offset += length
    if (complete) return chunks.join('')
  }
}

function pageRow({ url, success, title, contentLength, evidence, error }: PageItem): string[] {
  const status = evidence?.status ?? error?.details.status
  const says = success ? oneLine(title ?? '', 40) : oneLine(`${error?.errorCode ?? ''} ${error?.message ?? ''}`, 60)
  return [success ? 'read' : 'failed', String(status ?? ''), String(contentLength ?? ''), oneLine(url, 70), says]
}

/** The first is the result; what else a run leaves can be very much. */
export function artifactsIn({ runId, artifactIds: [first, ...others] }: RunView, command: CommandHere): string {
  if (first === undefined) return ''
  const more = others.length === 0 ? '' : `; ${others.length} more: ${command(`artifacts list ${runId}`)}`
  return command(`artifacts get ${first}`) + more
}

export function tellEnd(run: RunView, command: CommandHere, pages?: PageItem[]): void {
  const { runId, status, error, result } = run
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  if (pages) say(table(['', 'status', 'characters', 'page', 'title, or why not'], pages.map(pageRow)))
  if (error) {
    warnFolded(`${error.errorCode} ${printable(error.message)}`, (text) => text.replace(error.errorCode, red))
    warnFolded(`→ ${printable(hintHere(error.recoverHint, runId, command))}`)
    warn(`${bold(runId)} ${status}; its steps: ${command(`runs show ${runId}`)}`)
    return
  }
  if (!pages) say(printableBlock(JSON.stringify(result, null, 2)))
  const left = artifactsIn(run, command)
  warn(`${bold(runId)} ${oneLine(status, 40)}${left === '' ? '' : `; all of it: ${left}`}`)
  if (pages?.some(({ success }) => !success)) warn(`Those that failed once more: ${command(`runs retry ${runId} --failed`)}`)
}

/** More than a run takes. */
const mostUrls = 10_485_760

async function urlsFrom(file: string, { readText }: CliDependencies): Promise<string[]> {
  const text = file === '-' ? await piped(mostUrls) : await readText(file, mostUrls)
  if (text === undefined)
    throw new Fault('not-found', `This cannot be read: ${oneLine(file, 200)}`, { hint: 'Name a text file, one address a line.' })
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
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

function keyIn(text: string): string {
  if (text !== '' && text.length <= runBounds.keyLength) return text
  throw new Fault('bad-input', `--key must have 1 to ${runBounds.keyLength} characters`, {
    hint: 'Leave it out, and each time a new run is made.',
  })
}

function timeout(text: string): number {
  const ms = Number(text)
  if (Number.isInteger(ms) && ms >= 1 && ms <= 600_000) return ms
  throw new Fault('bad-input', '--timeout must be a whole number of milliseconds, 1 to 600000', {})
}
