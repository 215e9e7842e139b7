import { resolve } from 'node:path'
import { errorCodeOf, errorBodyOf } from '../../contracts/faults/contract-000.ts'
import { cliPlane, exitOf } from '../../contracts/faults/cli-plane.ts'
import { Fault, asFault, hintFor } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import { dangerFlags, type RuntimeOptions } from '../../contracts/runtime.ts'
import type { Command, CliDependencies, SettingFlag } from './command.ts'
import { acp } from './commands/acp.ts'
import { approvals } from './commands/approvals.ts'
import { artifacts } from './commands/artifacts.ts'
import { audit } from './commands/audit.ts'
import { browse } from './commands/browse.ts'
import { call } from './commands/call.ts'
import { chat } from './commands/chat.ts'
import { completionOf } from './commands/completion.ts'
import { demo } from './commands/demo.ts'
import { desk } from './commands/desk.ts'
import { devserver } from './commands/devserver.ts'
import { doctor } from './commands/doctor.ts'
import { grants } from './commands/grants.ts'
import { keys } from './commands/keys.ts'
import { logins } from './commands/logins.ts'
import { init } from './commands/init.ts'
import { mcp } from './commands/mcp.ts'
import { memory } from './commands/memory.ts'
import { mounts } from './commands/mounts.ts'
import { plans } from './commands/plans.ts'
import { planeHelp, runPlane } from './commands/plane.ts'
import { prompts } from './commands/prompts.ts'
import { prune } from './commands/prune.ts'
import { questions } from './commands/questions.ts'
import { run } from './commands/run.ts'
import { runs } from './commands/runs.ts'
import { serve } from './commands/serve.ts'
import { worker } from './commands/worker.ts'
import { sessions } from './commands/sessions.ts'
import { skills } from './commands/skills.ts'
import { snapshots } from './commands/snapshots.ts'
import { state } from './commands/state.ts'
import { templates } from './commands/templates.ts'
import { tools } from './commands/tools.ts'
import { trust } from './commands/trust.ts'
import { undo } from './commands/undo.ts'
import { webgal } from './commands/webgal.ts'
import { dim, printable, red, say, warn, warnFolded, yellow } from './print.ts'
import { help, overview, settingsHelp } from './help.ts'
import { Interrupted } from './interrupted.ts'
import { like, parse } from './parse.ts'
import { commandHere, hintHere, type CommandHere } from './program-name.ts'
import { canonical } from '../../text/canonical.ts'
import { terminalJson } from '../../text/terminal-json.ts'

export const commands: readonly Command[] = [
  demo,
  init,
  mcp,
  acp,
  serve,
  desk,
  devserver,
  worker,
  chat,
  keys,
  call,
  tools,
  browse,
  run,
  runs,
  artifacts,
  templates,
  plans,
  skills,
  prompts,
  approvals,
  questions,
  grants,
  logins,
  mounts,
  undo,
  snapshots,
  audit,
  memory,
  sessions,
  state,
  prune,
  trust,
  webgal,
  doctor,
  completionOf(() => commands),
  ...planeHelp,
]

/** argv to exit code. Errors say what, why and what next, and never show a stack. */
export async function runCli(
  argv: string[],
  dependencies: CliDependencies,
  flags: readonly SettingFlag[],
  version: string,
): Promise<number> {
  const [first, ...rest] = argv
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    const asked = first === 'help' ? commands.find((one) => one.name === rest[0]) : undefined
    if (first === 'help' && rest[0] !== undefined && !asked) return report(unknownCommand(rest[0]), false, plainHint)
    say(asked ? help(asked, flags) : overview(commands))
    return 0
  }
  if (first === '--help-settings') {
    say(settingsHelp(flags))
    return 0
  }
  if (first === '--version' || first === '-v' || first === 'version') {
    say(version)
    return 0
  }
  const command = commands.find((one) => one.name === first)
  if (command?.plane || (!command && startsPlane(argv))) {
    if (command && rest.some((word) => word === '--help' || word === '-h')) {
      say(help(command, flags))
      return 0
    }
    return planeOf(argv, dependencies)
  }
  let json = rest.includes('--json')
  let hintOf = plainHint
  try {
    if (!command) throw unknownCommand(first)
    const { options, words } = parse(command, rest, flags)
    json = options['json'] === true
    if (options['help'] === true) {
      say(help(command, flags))
      return 0
    }
    if (options['help-settings'] === true) {
      say(settingsHelp(flags))
      return 0
    }
    let runtime: Operator | undefined
    const wanted: RuntimeOptions = {
      project: String(options['project'] ?? words[command.projectWord ?? -1] ?? process.env['HANDRAIL_PROJECT'] ?? '.'),
      flags: Object.fromEntries(flags.map(({ flag }) => [flag, options[flag]])),
      ...(typeof options['state'] === 'string' && { state: options['state'] }),
      allows: (['home', 'system'] as const).filter((danger) => options[dangerFlags[danger]] === true),
      ...(command.onlyReads && { standIn: '{}' }),
      ...(command.takesBack && { untightened: true }),
    }
    hintOf = commandHint(command.insteadOf ?? {}, (said) => commandHere(said, resolve(wanted.project), options))
    const open = (): Operator => (runtime ??= openFor(command, dependencies, wanted))
    const openLive = (more = {}) => dependencies.openRuntime({ ...wanted, flags: { ...wanted.flags, ...more }, live: true })
    return await command.run({
      project: wanted.project,
      words,
      options,
      json,
      open,
      openAt: (project, more) => openFor(command, dependencies, { ...wanted, ...more, project }),
      openLive,
      openStateAdmin: () => dependencies.openStateAdmin(wanted),
      dependencies,
    })
  } catch (thrown) {
    if (thrown instanceof Interrupted) {
      warn('')
      return 130
    }
    return report(asFault(thrown), json, hintOf)
  }
}

function unknownCommand(word: string): Fault {
  const near = like(
    word,
    commands.map(({ name }) => name),
  )
  return new Fault('bad-input', `Unknown command: ${word}`, {
    hint: `${near === undefined ? '' : `Did you mean \`handrail ${near}\`? `}\`handrail --help\` lists them all.`,
  })
}

/** Options may stand before the words of a one-shot command: `--runId 7 anchor index`. */
function startsPlane(argv: readonly string[]): boolean {
  if (!argv[0]?.startsWith('--')) return false
  return argv.some((word, at) => at > 0 && planeHelp.some(({ name }) => word === name || word.startsWith(`${name}.`)))
}

/** What cannot even be opened is still one line, with the code of the reason. */
async function planeOf(argv: readonly string[], dependencies: CliDependencies): Promise<number> {
  const valueOf = (name: string): string | undefined => {
    const at = argv.findLastIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`))
    const word = argv[at]
    return word === undefined ? undefined : word.includes('=') ? word.slice(word.indexOf('=') + 1) : argv[at + 1]
  }
  const state = valueOf('state')
  try {
    const operator = dependencies.openRuntime({
      project: valueOf('project') ?? process.env['HANDRAIL_PROJECT'] ?? '.',
      ...(state !== undefined && { state }),
    })
    return await runPlane(argv, operator, dependencies)
  } catch (thrown) {
    const fault = asFault(thrown)
    if (!argv.includes('--json')) return report(fault, false, plainHint)
    const code = cliPlane[fault.reason]
    const hint = plainHint(fault)
    const error = { code, message: fault.message.slice(0, 256), ...(hint !== undefined && { hint }) }
    const runId = valueOf('runId') || 'missing-runId'
    say(canonical({ schemaVersion: 1, kind: 'CommandResult', runId, command: 'unknown', ok: false, artifacts: [], error }))
    return exitOf(code)
  }
}

function openFor({ name }: Command, dependencies: CliDependencies, wanted: RuntimeOptions): Operator {
  const runtime = dependencies.openRuntime(wanted)
  const { fault } = runtime.projectSettings ?? {}
  // These two say it themselves.
  if (fault !== undefined && name !== 'doctor' && name !== 'trust')
    warnFolded(
      printable(
        `${name === 'desk' ? `${wanted.project}: ` : ''}The project’s own settings cannot be used and are left aside: ${fault}`,
      ),
      yellow,
    )
  return runtime
}

const plainHint = (fault: Fault): string | undefined => hintFor(fault, (tool) => tool)

/** A hint in which commands stand that can be typed as they stand, where tools stand for agents. */
function commandHint(insteadOf: Readonly<Record<string, string>>, command: CommandHere): (fault: Fault) => string | undefined {
  return (fault) => {
    const hint = hintFor(fault, (tool) => (Object.hasOwn(insteadOf, tool) ? `\`handrail ${insteadOf[tool]}\`` : tool))
    return hint === undefined ? undefined : hintHere(hint, 'ID', command)
  }
}

function report(fault: Fault, json: boolean, hintOf: (fault: Fault) => string | undefined): number {
  const code = fault.reason === 'bad-input' ? 2 : 1
  if (json) {
    warn(terminalJson(errorBodyOf(fault)))
    return code
  }
  const [first = '', ...more] = fault.message.split('\n')
  warnFolded(`${errorCodeOf(fault)} ${printable(first)}`, (text) => text.replace(errorCodeOf(fault), red))
  // Further in than ours begin: words of others may be among them.
  for (const line of more) warnFolded(`    ${printable(line)}`)
  const hint = hintOf(fault)
  if (hint !== undefined) warnFolded(`→ ${printable(hint)}`)
  if (fault.details && Object.keys(fault.details).length) warnFolded(printable(JSON.stringify(fault.details)), dim)
  if (fault.reason === 'internal' && fault.cause) warn(dim(String((fault.cause as Error).stack ?? fault.cause)))
  return code
}
