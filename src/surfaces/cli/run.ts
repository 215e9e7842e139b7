import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { errorCodeOf, errorBodyOf } from '../../contracts/faults/contract-000.ts'
import { cliPlane, exitOf } from '../../contracts/faults/cli-plane.ts'
import { Fault, asFault, hintFor } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import { dangerFlags, type RuntimeOptions } from '../../contracts/runtime.ts'
import type { Command, CliDependencies, Option } from './command.ts'
import { acp } from './commands/acp.ts'
import { approvals } from './commands/approvals.ts'
import { artifacts } from './commands/artifacts.ts'
import { audit } from './commands/audit.ts'
import { browse } from './commands/browse.ts'
import { call } from './commands/call.ts'
import { chat } from './commands/chat.ts'
import { devserver } from './commands/devserver.ts'
import { doctor } from './commands/doctor.ts'
import { grants } from './commands/grants.ts'
import { keys } from './commands/keys.ts'
import { logins } from './commands/logins.ts'
import { init } from './commands/init.ts'
import { mcp } from './commands/mcp.ts'
import { mounts } from './commands/mounts.ts'
import { plans } from './commands/plans.ts'
import { planeHelp, runPlane } from './commands/plane.ts'
import { prompts } from './commands/prompts.ts'
import { prune } from './commands/prune.ts'
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
import { bold, dim, printable, red, say, warn, warnFolded, yellow } from './print.ts'
import { commandHere, hintHere, type CommandHere } from './program-name.ts'
import { canonical } from '../../text/canonical.ts'
import { terminalJson } from '../../text/terminal-json.ts'

export const commands: readonly Command[] = [
  init,
  mcp,
  acp,
  serve,
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
  grants,
  logins,
  mounts,
  undo,
  snapshots,
  audit,
  sessions,
  state,
  prune,
  trust,
  webgal,
  doctor,
  ...planeHelp,
]

/** A setting as the command line knows it. */
export interface SettingFlag {
  flag: string
  boolean: boolean
  says: string
}

const everywhere: Option[] = [
  { name: 'project', value: 'DIR', says: 'The project folder. Default: $HANDRAIL_PROJECT, else the current folder.' },
  {
    name: 'state',
    value: 'DIR',
    says: 'Where Handrail keeps what it knows of projects. Default: $HANDRAIL_STATE, else $XDG_STATE_HOME/handrail, else ~/.local/state/handrail.',
  },
  {
    name: 'allow-home-as-project',
    says: 'Let a home folder, one above it, or a private folder in it (.ssh, .config, …) be the project.',
  },
  { name: 'allow-system-folder-as-project', says: 'Let a folder of the system (/etc, /usr, …) be the project.' },
  { name: 'json', says: 'Machine-readable output.' },
  { name: 'help', says: 'Show this help.' },
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
    say(asked ? help(asked, flags) : overview())
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
    if (!command)
      throw new Fault('bad-input', `Unknown command: ${first}`, {
        hint: `Commands: ${commands.map((one) => one.name).join(', ')}. \`handrail --help\` explains them.`,
      })
    const { options, words } = parse(command, rest, flags)
    json = options['json'] === true
    if (options['help'] === true) {
      say(help(command, flags))
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
    if (command.insteadOf) hintOf = commandHint(command.insteadOf, (said) => commandHere(said, resolve(wanted.project), options))
    const open = (): Operator => (runtime ??= openFor(command, dependencies, wanted))
    const openLive = (more = {}) => dependencies.openRuntime({ ...wanted, flags: { ...wanted.flags, ...more }, live: true })
    return await command.run({
      project: wanted.project,
      words,
      options,
      json,
      open,
      openAt: (project) => openFor(command, dependencies, { ...wanted, project }),
      openLive,
      openStateAdmin: () => dependencies.openStateAdmin(wanted),
      dependencies,
    })
  } catch (thrown) {
    return report(asFault(thrown), json, hintOf)
  }
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
    warnFolded(printable(`The project’s own settings cannot be used and are left aside: ${fault}`), yellow)
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
  warnFolded(`${errorCodeOf(fault)} ${printable(fault.message)}`, (text) => text.replace(errorCodeOf(fault), red))
  const hint = hintOf(fault)
  if (hint !== undefined) warnFolded(`→ ${printable(hint)}`)
  if (fault.details && Object.keys(fault.details).length) warnFolded(printable(JSON.stringify(fault.details)), dim)
  if (fault.reason === 'internal' && fault.cause) warn(dim(String((fault.cause as Error).stack ?? fault.cause)))
  return code
}

function parse(
  command: Command,
  argv: string[],
  flags: readonly SettingFlag[],
): { options: Record<string, string | boolean | undefined>; words: string[] } {
  const known = [...(command.options ?? []), ...everywhere]
  try {
    const { values, positionals } = parseArgs({
      args: joinSwitches(argv, flags),
      allowPositionals: true,
      options: {
        ...Object.fromEntries(flags.map(({ flag }) => [flag, { type: 'string' as const }])),
        ...Object.fromEntries(
          known.map(({ name, value }) => [name, { type: value === undefined ? ('boolean' as const) : ('string' as const) }]),
        ),
      },
    })
    return { options: values as Record<string, string | boolean | undefined>, words: positionals }
  } catch (cause) {
    throw new Fault('bad-input', (cause as Error).message.split('. ')[0] as string, {
      hint: `${command.usage}. \`handrail ${command.name} --help\` explains it.`,
    })
  }
}

/** `--read-only`, `--no-read-only` and `--read-only false` all become `--read-only=…`. */
function joinSwitches(argv: string[], flags: readonly SettingFlag[]): string[] {
  const switches = new Set(flags.filter((one) => one.boolean).map((one) => one.flag))
  const joined: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] as string
    if (word === '--') return [...joined, ...argv.slice(index)]
    const name = word.replace(/^--(no-)?/, '')
    if (!word.startsWith('--') || !switches.has(name)) joined.push(word)
    else if (word.startsWith('--no-')) joined.push(`--${name}=false`)
    else if (/^(true|false|1|0|yes|no|on|off)$/i.test(argv[index + 1] ?? '')) joined.push(`--${name}=${argv[++index]}`)
    else joined.push(`--${name}=true`)
  }
  return joined
}

function overview(): string {
  const width = Math.max(...commands.map((one) => one.name.length))
  return [
    `${bold('handrail')} lets AI agents act on one project folder: every act is checked, shown by its effect, undoable, and written down.`,
    '',
    bold('Usage'),
    '  handrail COMMAND [--project DIR] [options]',
    '',
    bold('Commands'),
    ...commands.map((one) => `  ${one.name.padEnd(width)}  ${one.summary}`),
    '',
    bold('Start here'),
    '  handrail init cursor --project ./my-project  let your agent in; also claude-code, vscode, …',
    '  handrail serve --project ./my-project        run it',
    '  handrail doctor --project ./my-project       see what works here',
    '  handrail COMMAND --help                      learn one command',
  ].join('\n')
}

function help(command: Command, flags: readonly SettingFlag[]): string {
  const lines = (options: { left: string; says: string }[]): string[] => {
    const width = Math.max(...options.map((one) => one.left.length))
    return options.map((one) => `  ${one.left.padEnd(width)}  ${one.says}`)
  }
  const own = [...(command.options ?? []), ...everywhere].map(({ name, value, says }) => ({
    left: `--${name}${value ? ` ${value}` : ''}`,
    says,
  }))
  return [
    `${bold(`handrail ${command.name}`)}: ${command.summary}.`,
    '',
    bold('Usage'),
    `  ${command.usage}`,
    '',
    command.about,
    '',
    bold('Options'),
    ...lines(own),
    '',
    bold('Examples'),
    ...command.examples.map((example) => `  ${example}`),
    '',
    bold('Settings') +
      dim(
        ' (also in your settings file, ~/.config/handrail/config.json, and as HANDRAIL_… variables; `handrail doctor` shows the values in force)',
      ),
    ...lines(flags.map(({ flag, says }) => ({ left: `--${flag}`, says }))),
  ].join('\n')
}
