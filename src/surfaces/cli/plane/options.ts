import { PlaneFault } from './plane-fault.ts'

/** What a value of an option is: a switch has none and is turned off by `--noName`. */
export type OptionKind = 'text' | 'number' | 'switch'

export interface PlaneOption {
  kind: OptionKind
  says: string
  values?: readonly string[]
  /** It may stand in the section `cli` of the settings; writing never may. */
  inConfig?: true
}

export const globalOptions: Readonly<Record<string, PlaneOption>> = {
  runId: { kind: 'text', says: 'The name of this run, in the result and in the out folder. Needed with --json.' },
  out: { kind: 'text', says: 'Folder of the project that artifacts are written into; without one they are part of the result.' },
  outRoot: { kind: 'text', says: 'The same, as <outRoot>/<command>/<runId>.', inConfig: true },
  budgetBytes: { kind: 'number', says: 'Most bytes of an artifact that is part of the result.', inConfig: true },
  profile: { kind: 'text', says: 'A profile of the section cli in handrail.config.json.' },
  json: { kind: 'switch', says: 'One line of JSON on stdout, a CommandResult.' },
  project: { kind: 'text', says: 'The project folder.' },
  state: { kind: 'text', says: 'Where Handrail keeps what it knows of projects.' },
  help: { kind: 'switch', says: 'Show this help.' },
}

const mode: PlaneOption = {
  kind: 'text',
  says: 'report plans only, write carries the plan out. Never from settings.',
  values: ['report', 'write'],
}
const sources: Readonly<Record<string, PlaneOption>> = {
  repoRoot: { kind: 'text', says: 'Folder to look at, in the project.', inConfig: true },
  presets: {
    kind: 'text',
    says: 'Known libraries, separated by commas: route, schema, store, test, story, module.',
    inConfig: true,
  },
  factories: { kind: 'text', says: "The project's own factories, as JSON.", inConfig: true },
}

export interface PlaneCommand {
  name: string
  category: 'meta' | 'oracle' | 'gate' | 'write'
  summary: string
  options: Readonly<Record<string, PlaneOption>>
  required?: readonly string[]
  /** Keys and files of what it makes. */
  outputs: Readonly<Record<string, string>>
}

/** The commands, and nothing else is one: an agent on the bridge can answer nothing for a person. */
export const planeCommands: readonly PlaneCommand[] = [
  {
    name: 'describe',
    category: 'meta',
    summary: 'What the commands are, and which settings are in force',
    options: {},
    outputs: { describeReport: 'describe.report.json' },
  },
  {
    name: 'check',
    category: 'gate',
    summary: 'Type check, lint and test the project, with a verdict',
    options: {
      checks: { kind: 'text', says: 'Which, separated by commas. Default: typecheck,lint,test.', inConfig: true },
      repoRoot: sources['repoRoot'] as PlaneOption,
      timeout: { kind: 'number', says: 'For each check, in milliseconds.', inConfig: true },
      allowWarn: { kind: 'switch', says: 'A verdict of WARN passes.', inConfig: true },
    },
    outputs: { verdict: 'verdict.json', contextPack: 'context.pack.json', cliDiagnostics: 'cli.diagnostics.json' },
  },
  {
    name: 'anchor.index',
    category: 'oracle',
    summary: 'Index what the TypeScript sources define',
    options: sources,
    outputs: { anchorIndex: 'anchor.index.json' },
  },
  {
    name: 'anchor.autofill',
    category: 'write',
    summary: 'Fill in what definitions lack',
    options: { ...sources, mode },
    outputs: {
      patchPlan: 'patch.plan.json',
      patchPreview: 'patch.preview.json',
      autofillReport: 'autofill.report.json',
      writeBackResult: 'writeback.result.json',
      cliDiagnostics: 'cli.diagnostics.json',
    },
  },
  {
    name: 'transform',
    category: 'write',
    summary: 'Add properties to object literals by a delta',
    options: { ...sources, mode, ops: { kind: 'text', says: 'A file of the project with the delta, or - for stdin.' } },
    required: ['ops'],
    outputs: {
      patchPlan: 'patch.plan.json',
      patchPreview: 'patch.preview.json',
      transformReport: 'transform.report.json',
      writeBackResult: 'writeback.result.json',
      cliDiagnostics: 'cli.diagnostics.json',
    },
  },
  {
    name: 'artifact.validate',
    category: 'gate',
    summary: 'Check a folder of artifacts',
    options: {
      in: { kind: 'text', says: 'The folder, in the project.' },
      require: { kind: 'text', says: 'Files that must be there, separated by commas.' },
    },
    required: ['in'],
    outputs: { artifactValidateReport: 'artifact.validate.report.json' },
  },
  {
    name: 'artifact.diff',
    category: 'gate',
    summary: 'Compare two folders of artifacts',
    options: {
      before: { kind: 'text', says: 'The folder as it was.' },
      after: { kind: 'text', says: 'The folder as it is.' },
    },
    required: ['before', 'after'],
    outputs: { artifactDiffReport: 'artifact.diff.report.json' },
  },
  {
    name: 'trial',
    category: 'oracle',
    summary: 'Run an export on a stage, under a time limit',
    options: {
      entry: { kind: 'text', says: 'FILE#EXPORT; a function is called.', inConfig: true },
      timeout: { kind: 'number', says: 'In milliseconds. Default 10000.', inConfig: true },
      maxEvents: { kind: 'number', says: 'Most events of the trace. Default 200.', inConfig: true },
      includeTrace: { kind: 'switch', says: 'With trace.slim.json.', inConfig: true },
    },
    required: ['entry'],
    outputs: { trialReport: 'trial.report.json', traceSlim: 'trace.slim.json' },
  },
]

export interface PlaneWords {
  command: PlaneCommand | undefined
  words: string[]
  values: Record<string, string | number | boolean>
}

const everyOption: Readonly<Record<string, PlaneOption>> = Object.assign(
  {},
  globalOptions,
  ...planeCommands.map((one) => one.options),
)

/** Both forms of an option, last one wins; the value of an option is never a word of the command. Names are taken as they are written. */
export function readWords(argv: readonly string[]): PlaneWords {
  const words: string[] = []
  const given: [name: string, value: string | boolean][] = []
  let unknown: string | undefined
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] as string
    if (word === '-h') given.push(['help', true])
    else if (!word.startsWith('--')) words.push(word)
    else {
      const [name, value] = word.includes('=')
        ? [word.slice(2, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]
        : [word.slice(2), undefined]
      const known = Object.hasOwn(everyOption, name) ? everyOption[name] : undefined
      const off = /^no-?([A-Za-z])(.*)$/.exec(name)
      const turned = off ? `${(off[1] as string).toLowerCase()}${off[2]}` : ''
      if (known?.kind === 'switch') given.push([name, value === undefined || value === 'true'])
      else if (known) {
        const next = value ?? argv[++index]
        if (next === undefined) throw new PlaneFault('CLI_INVALID_ARGUMENT', `--${name} needs a value`)
        given.push([name, next])
      } else if (Object.hasOwn(everyOption, turned) && everyOption[turned]?.kind === 'switch') given.push([turned, false])
      else unknown ??= name
    }
  }
  const { command, rest } = commandIn(words)
  // A command that is none is told first: its options are nobody's business.
  if (command && unknown !== undefined)
    throw new PlaneFault(
      'CLI_INVALID_ARGUMENT',
      `Unknown option: --${unknown.slice(0, 60)}`,
      'describe lists the options of each command.',
    )
  const values: PlaneWords['values'] = {}
  for (const [name, value] of given) {
    const option = globalOptions[name] ?? command?.options[name]
    if (!option) {
      if (command)
        throw new PlaneFault(
          'CLI_INVALID_ARGUMENT',
          `${command.name} has no option --${name}`,
          'describe lists the options of each command.',
        )
      continue
    }
    values[name] = checked(name, option, value)
  }
  return { command, words: rest, values }
}

function commandIn(words: readonly string[]): { command: PlaneCommand | undefined; rest: string[] } {
  const dotted = words.flatMap((word, at) => (at === 0 ? word.split('.') : [word]))
  for (const length of [2, 1]) {
    const command = planeCommands.find(
      ({ name }) => name === dotted.slice(0, length).join('.') && name.split('.').length === length,
    )
    if (command) return { command, rest: dotted.slice(length) }
  }
  return { command: undefined, rest: [...words] }
}

function checked(name: string, { kind, values }: PlaneOption, value: string | boolean): string | number | boolean {
  if (kind === 'number') {
    if (!/^\d{1,12}$/.test(String(value)))
      throw new PlaneFault('CLI_INVALID_ARGUMENT', `--${name} must be a whole number, not ${String(value).slice(0, 40)}`)
    return Number(value)
  }
  if (values && !values.includes(String(value)))
    throw new PlaneFault('CLI_INVALID_ARGUMENT', `--${name} must be ${values.join(' or ')}`)
  return value
}

/** Which keys the section `cli` may have. */
export const configKeys: ReadonlySet<string> = new Set(
  Object.entries(everyOption).flatMap(([name, { inConfig }]) => (inConfig ? [name] : [])),
)
export const kindOf = (name: string): OptionKind => (everyOption[name] as PlaneOption).kind
