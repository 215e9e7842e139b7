import type { CommandOutcome } from '../../../contracts/command-result.ts'
import { canonical } from '../../../text/canonical.ts'
import { printable } from '../../../text/printable.ts'
import type { CliDependencies, Command } from '../command.ts'
import { piped } from '../piped.ts'
import { bold, dim, green, red, say, warn } from '../print.ts'
import type { Operator } from '../../../contracts/operator.ts'

const about = `With --json and --runId NAME it prints one line on stdout, a CommandResult with sorted keys and without times, failures too. It exits
0 where all is well, 2 where the caller made a mistake or a gate says no, 1 otherwise. --out DIR or --outRoot DIR put artifacts into files of
the project, else they are part of the result. Defaults and profiles come from the section "cli" of handrail.config.json; --mode write never
does. The setting mode is HANDRAIL_MODE here. \`handrail describe\` lists every option.`

const one = (name: string, summary: string, usage: string, examples: string[]): Command => ({
  name,
  summary,
  usage,
  about,
  plane: true,
  examples,
  run: () => Promise.reject(new Error(`${name} is a command of the plane`)),
})

/** Commands that are carried out by the CLI plane, which reads its words itself: here is what the help says of them. */
export const planeHelp: readonly Command[] = [
  one('describe', 'What the one-shot commands are, as data', 'handrail describe --json --runId NAME', [
    'handrail describe --json --runId 1',
  ]),
  one(
    'check',
    'Type check, lint and test the project on a stage',
    'handrail check [--checks typecheck,lint,test] [--timeout MS] [--allowWarn]',
    ['handrail check --project ./app', 'handrail check --checks lint --json --runId ci-17 --outRoot reports'],
  ),
  one(
    'anchor',
    'Index what TypeScript sources define, and fill in what is missing',
    'handrail anchor index|autofill [--mode report|write] [--presets A,B]',
    ['handrail anchor index --presets store,route', 'handrail anchor autofill --mode write'],
  ),
  one('transform', 'Add properties to object literals by a delta', 'handrail transform --ops FILE|- [--mode report|write]', [
    'handrail transform --ops delta.json --json --runId 4',
  ]),
  one(
    'artifact',
    'Check a folder of artifacts, or compare two',
    'handrail artifact validate --in DIR | artifact diff --before DIR --after DIR',
    ['handrail artifact diff --before reports/old --after reports/new'],
  ),
  one(
    'trial',
    'Run an export on a stage under a time limit',
    'handrail trial --entry FILE#EXPORT [--timeout MS] [--includeTrace]',
    ['handrail trial --entry src/report.js#main --includeTrace'],
  ),
]

/** Runs a command as the person at this terminal, and prints what came of it. */
export async function runPlane(argv: readonly string[], operator: Operator, dependencies: CliDependencies): Promise<number> {
  const session = 'cli-plane'
  const abort = new AbortController()
  const stop = (): void => abort.abort(new Error('interrupted'))
  process.once('SIGINT', stop)
  try {
    const plane = await dependencies.openPlane(operator)
    const json = argv.includes('--json')
    const named = plane.parse(argv).runId === undefined && !json ? [...argv, '--runId', 'here'] : argv
    operator.openSession({ id: session, surface: 'cli', client: 'handrail-cli' })
    const outcome = await plane.run(named, {
      allowWrite: true,
      caller: { surface: 'cli', client: 'handrail-cli', session, role: 'person' },
      signal: abort.signal,
      stdin: () => piped(),
    })
    if (outcome.kind === 'help' || json) say(outcome.kind === 'help' ? outcome.text : canonical(outcome.result))
    else tell(outcome)
    return outcome.exitCode
  } finally {
    process.off('SIGINT', stop)
    await operator.close()
  }
}

function tell({ result, outFolder }: Extract<CommandOutcome, { kind: 'result' }>): void {
  const { command, ok, artifacts, error } = result
  say(`${ok ? green('✓') : red('✗')} ${bold(command.replace('.', ' '))}${result.mode ? dim(` (${result.mode})`) : ''}`)
  for (const { outputKey, file, inline } of artifacts) {
    if (file !== undefined) say(`  ${outputKey}: ${outFolder}/${file}`)
    else if (outputKey === 'cliDiagnostics') tellDiagnostics(inline as { diagnostics: Told[] })
    else say(`  ${outputKey}: ${summaryOf(inline)}`)
  }
  if (!error) return
  warn(`${red(error.code ?? 'failed')} ${printable(error.message)}`)
  if (error.hint !== undefined) warn(`→ ${printable(error.hint)}`)
}

interface Told {
  severity: string
  code: string
  message: string
  pointer?: { file: string; line?: number; column?: number }
  action?: { command: string }
}

function tellDiagnostics({ diagnostics }: { diagnostics: Told[] }): void {
  for (const { severity, code, message, pointer, action } of diagnostics) {
    const at = pointer ? `${pointer.file}${pointer.line === undefined ? '' : `:${pointer.line}:${pointer.column ?? 1}`} ` : ''
    say(`  ${severity === 'error' ? red(severity) : severity} ${printable(`${at}${code} ${message}`)}`)
    if (action) say(dim(`    → ${printable(action.command)}`))
  }
}

function summaryOf(value: unknown): string {
  const known = value as { summary?: object; verdict?: string; status?: string; commands?: object[] }
  return printable(
    known.verdict ?? known.status ?? (known.summary ? JSON.stringify(known.summary) : JSON.stringify(value).slice(0, 200)),
  )
}
