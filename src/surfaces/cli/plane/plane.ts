import { resolve } from 'node:path'
import type { Caller } from '../../../contracts/call.ts'
import type { CallResult } from '../../../contracts/gate.ts'
import type { CallOptions } from '../../../contracts/call.ts'
import type {
  CliPlane,
  CommandOutcome,
  CommandResult,
  ParsedCommand,
  RunCommandOptions,
} from '../../../contracts/command-result.ts'
import { placeArtifacts, type Made } from './artifacts.ts'
import { runners, type Work } from './commands.ts'
import { prefixOf, readSection } from './config.ts'
import { globalOptions, planeCommands, readWords, type PlaneCommand, type PlaneWords } from './options.ts'
import { errorOf, exitOf, PlaneFault } from './plane-fault.ts'

export interface PlaneParts {
  /** The road: as the person at the terminal, or at a gate for agents. */
  call(tool: string, input: unknown, caller: Caller, options?: CallOptions): Promise<CallResult>
  project: string
  version: string
  /** handrail.config.json as it is now. */
  settingsText(): string | undefined
}

interface Understood extends PlaneWords {
  command: PlaneCommand
  prefix: string[]
  layers: string[]
}

/** What was typed, with what the settings put before it. */
function understand(argv: readonly string[], settings: string | undefined): Understood {
  const typed = readWords(argv)
  const { command } = typed
  if (!command)
    throw new PlaneFault(
      'CLI_INVALID_COMMAND',
      `No such command: ${typed.words.slice(0, 2).join(' ').slice(0, 60) || 'none'}`,
      `There are ${planeCommands.map(({ name }) => name.replace('.', ' ')).join(', ')}.`,
    )
  if (command.name !== 'transform' && typed.words.length > 0)
    throw new PlaneFault('CLI_INVALID_COMMAND', `${command.name} takes no ${typed.words.join(' ').slice(0, 60)}`)
  const takes = (key: string): boolean => Object.hasOwn(globalOptions, key) || Object.hasOwn(command.options, key)
  const { prefix, layers } = prefixOf(readSection(settings), typed.values['profile'] as string | undefined, takes)
  return { ...readWords([...prefix, ...argv]), command, prefix, layers }
}

function outFolderOf({ command, values }: Understood): string | undefined {
  const { out, outRoot, runId } = values
  if (out !== undefined) return String(out)
  return outRoot === undefined ? undefined : `${String(outRoot)}/${command.name}/${String(runId)}`
}

const modeOf = ({ values }: PlaneWords): 'report' | 'write' => (values['mode'] === 'write' ? 'write' : 'report')

/** The commands on one project. What they do to it goes the one road; they decide nothing themselves. */
export function openCliPlane(parts: PlaneParts): CliPlane {
  const parse = (argv: readonly string[]): ParsedCommand => {
    try {
      const understood = understand(argv, parts.settingsText())
      const { command, values } = understood
      const writes = command.category === 'write' && modeOf(understood) === 'write'
      const outFolder = outFolderOf(understood)
      const executes = command.name === 'trial' || command.name === 'check'
      return {
        command: command.name,
        effect: writes ? 'writes-source' : executes ? 'executes-code' : outFolder === undefined ? 'read' : 'writes-artifacts',
        writes,
        help: values['help'] === true,
        runId: values['runId'] as string | undefined,
        stdin: values['ops'] === '-',
        outFolder,
      }
    } catch {
      const help = argv.length === 0 || argv.includes('--help') || argv.includes('-h')
      // Not understood, so nothing is done; still it is not taken for something that only reads.
      return {
        command: 'unknown',
        effect: 'writes-source',
        writes: false,
        help,
        runId: runIdIn(argv),
        stdin: false,
        outFolder: undefined,
      }
    }
  }
  return {
    parse,
    async run(argv, options) {
      const asked = parse(argv)
      if (asked.help) return { kind: 'help', text: helpOf(asked.command), exitCode: 0 }
      return carryOut(parts, argv, options)
    },
    config() {
      const read = readSection(parts.settingsText())
      const path = 'handrail.config.json'
      if (!read.found) return { found: false }
      if ('wrong' in read) return { found: true, path, ok: false, error: { code: 'CLI_CONFIG_INVALID', message: read.wrong } }
      return {
        found: true,
        path,
        ok: true,
        config: { ...read.section },
        profiles: Object.keys(read.section.profiles ?? {}).toSorted(),
      }
    },
  }
}

async function carryOut(parts: PlaneParts, argv: readonly string[], options: RunCommandOptions): Promise<CommandOutcome> {
  const known: { command: string; runId: string; mode?: 'report' | 'write' } = {
    command: 'unknown',
    runId: runIdIn(argv) ?? 'missing-runId',
  }
  const result = (rest: Pick<CommandResult, 'ok' | 'artifacts' | 'error'>): CommandResult => ({
    schemaVersion: 1,
    kind: 'CommandResult',
    ...known,
    ...rest,
  })
  try {
    const understood = understand(argv, parts.settingsText())
    const { command, values, prefix, layers } = understood
    known.command = command.name
    const mode = modeOf(understood)
    if (command.category === 'write') known.mode = mode
    const runId = values['runId'] as string | undefined
    if (runId === undefined) throw new PlaneFault('CLI_MISSING_RUNID', '--runId is missing', 'Name this run: --runId NAME.')
    if (!/^[\w.:@-]{1,128}$/.test(runId) || /^\.+$/.test(runId))
      throw new PlaneFault('CLI_INVALID_ARGUMENT', '--runId takes up to 128 letters, digits and . _ : @ -')
    known.runId = runId
    if (values['project'] !== undefined && resolve(String(values['project'])) !== parts.project)
      throw new PlaneFault('CLI_INVALID_ARGUMENT', '--project names another project than the one that is open')
    const missing = command.required?.find((name) => values[name] === undefined)
    if (missing !== undefined) throw new PlaneFault('CLI_INVALID_ARGUMENT', `--${missing} is missing`)
    if (known.mode === 'write' && !options.allowWrite)
      throw new PlaneFault(
        'CLI_VIOLATION_READ_ONLY',
        'Sources are not changed here: only reading is allowed',
        'Use --mode report, or start the bridge with --allowWrite.',
      )
    const call = async <T>(tool: string, input: object): Promise<T> => {
      const { output } = await parts.call(tool, input, options.caller, {
        ...(options.signal && { signal: options.signal }),
        ...(options.onEvent && { onEvent: options.onEvent }),
      })
      return output as T
    }
    const work: Work = {
      values,
      words: understood.words,
      runId,
      mode,
      call,
      read: async (path) => (await call<{ content: string }>('read_file', { path })).content,
      stdin: options.stdin,
      layers: { argv, prefix, layers },
      version: parts.version,
    }
    const { made, fault } = await (runners[command.name] as (work: Work) => Promise<{ made: Made[]; fault?: PlaneFault }>)(work)
    const outFolder = outFolderOf(understood)
    const { artifacts, files } = placeArtifacts(
      made,
      command.outputs,
      outFolder !== undefined,
      values['budgetBytes'] as number | undefined,
    )
    if (outFolder !== undefined && files.length > 0) await call('write_artifacts', { folder: outFolder, files })
    const error = fault && errorOf(fault)
    return {
      kind: 'result',
      result: result({ ok: !fault, artifacts, ...(error && { error }) }),
      exitCode: error ? exitOf(error.code) : 0,
      outFolder,
    }
  } catch (thrown) {
    const error = errorOf(thrown)
    return { kind: 'result', result: result({ ok: false, artifacts: [], error }), exitCode: exitOf(error.code) }
  }
}

/** Also where nothing else was understood. */
function runIdIn(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((word) => word === '--runId' || word.startsWith('--runId='))
  const word = argv[at]
  const value = word === undefined ? undefined : word.includes('=') ? word.slice(word.indexOf('=') + 1) : argv[at + 1]
  return value && value.length <= 128 ? value : undefined
}

function helpOf(name: string): string {
  const command = planeCommands.find((one) => one.name === name)
  const lines = (options: typeof globalOptions): string[] => {
    const width = Math.max(...Object.keys(options).map((one) => one.length))
    return Object.entries(options).map(([option, { says }]) => `  --${option.padEnd(width)}  ${says}`)
  }
  if (!command)
    return [
      'handrail COMMAND --json --runId NAME [options]',
      '',
      ...planeCommands.map((one) => `  ${one.name.replace('.', ' ').padEnd(18)}  ${one.summary}`),
      '',
      ...lines(globalOptions),
    ].join('\n')
  return [
    `handrail ${command.name.replace('.', ' ')}: ${command.summary}.`,
    '',
    ...(Object.keys(command.options).length > 0 ? [...lines(command.options), ''] : []),
    ...lines(globalOptions),
  ].join('\n')
}
