import type { Command, Option, SettingFlag } from './command.ts'
import { bold, dim, size } from './print.ts'
import { columns } from './screen-rows.ts'
import { foldedAt } from '../../text/rows.ts'

/** A help text is read, and read well only so wide; one that goes into a file or a pager too. */
const widest = 80
const screen = (): number => Math.min(columns(widest), widest)

export const everywhere: readonly Option[] = [
  { name: 'project', value: 'DIR', says: 'The project folder. Default: $HANDRAIL_PROJECT, else the current folder.' },
  {
    name: 'state',
    value: 'DIR',
    says: 'Where Handrail keeps what it knows of projects. Default: $HANDRAIL_STATE, else $XDG_STATE_HOME/handrail, else ~/.local/state/handrail.',
  },
  { name: 'json', says: 'Machine-readable output.' },
  { name: 'help', says: 'Show this help.' },
  { name: 'help-settings', says: 'Show every setting, with its default.' },
]

/** Needed once in a while; with the settings, not with each command. */
export const seldom: readonly Option[] = [
  {
    name: 'allow-home-as-project',
    says: 'Let a home folder, one above it, or a private folder in it (.ssh, .config, …) be the project.',
  },
  { name: 'allow-system-folder-as-project', says: 'Let a folder of the system (/etc, /usr, …) be the project.' },
]

const groups: readonly (readonly [string, readonly string[]])[] = [
  ['Start', ['demo', 'init', 'serve', 'mcp', 'acp', 'chat', 'doctor']],
  ['Answer', ['approvals', 'questions', 'desk', 'grants', 'trust']],
  ['Look back, take back', ['undo', 'audit', 'memory', 'snapshots', 'sessions']],
  ['Work', ['call', 'tools', 'run', 'runs', 'artifacts', 'templates', 'plans', 'skills', 'prompts', 'browse', 'webgal']],
  ['Look after it', ['state', 'prune', 'keys', 'logins', 'mounts', 'worker', 'devserver', 'completion']],
]

export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((one) => one.name.length))
  const grouped = new Set(groups.flatMap(([, names]) => names))
  const others = commands.filter(({ name }) => !grouped.has(name)).map(({ name }) => name)
  return [
    foldedAt(
      screen(),
      'handrail lets AI agents act on one project folder: every act is checked, shown by its effect, undoable, and written down.',
      '',
    ).replace('handrail', bold),
    '',
    bold('Usage'),
    '  handrail COMMAND [--project DIR] [options]',
    ...[...groups, ['For scripts', others] as const].flatMap(([title, names]) => [
      '',
      bold(title),
      ...names.flatMap((name) => {
        const command = commands.find((one) => one.name === name)
        return command ? beside(`  ${name.padEnd(width)}  `, command.summary) : []
      }),
    ]),
    '',
    bold('Start here'),
    ...rows([
      ['handrail demo', 'two minutes: a question, your answer, undo, the log'],
      ['handrail init cursor', 'let your agent in; also claude-code, vscode, …'],
      ['handrail serve', 'run it for the current folder'],
      ['handrail doctor', 'see what works here'],
      ['handrail COMMAND --help', 'learn one command'],
    ]),
  ].join('\n')
}

export function help(command: Command, flags: readonly SettingFlag[]): string {
  const own = (command.options ?? []).map(row)
  const settings = flags.filter(({ flag }) => command.settings?.includes(flag))
  return [
    foldedAt(screen(), `handrail ${command.name}: ${command.summary}.`, '').replace(`handrail ${command.name}`, bold),
    '',
    bold('Usage'),
    foldedAt(screen(), `  ${command.usage}`, '      '),
    '',
    reflowed(command.about),
    '',
    ...(own.length ? [bold('Options'), ...rows(own), ''] : []),
    ...(settings.length
      ? [bold('Settings it is often given'), ...rows(settings.map((one) => [`--${one.flag}${valueIn(one)}`, saysOf(one)])), '']
      : []),
    bold('Every command takes'),
    ...rows(everywhere.map(row)),
    '',
    bold('Examples'),
    // A command is pasted as it stands: it is never broken.
    ...command.examples.map((example) => `  ${example}`),
  ].join('\n')
}

/** Every setting by its group, with its default and unit. */
export function settingsHelp(flags: readonly SettingFlag[]): string {
  const names = [...new Set(flags.map(({ group }) => group))]
  return [
    ...[
      `Settings are given as flags, as HANDRAIL_… variables (--ask-from is HANDRAIL_ASK_FROM), in your own file ~/.config/handrail/config.json, or in a project's handrail.config.json, which can only tighten.`,
      '`handrail doctor` shows the values in force and where each comes from.',
    ].map((line) => foldedAt(screen(), line, '')),
    ...names.flatMap((group) => [
      '',
      bold(group === '' ? 'General' : group),
      ...rows(flags.filter((one) => one.group === group).map((one) => [`--${one.flag}${valueIn(one)}`, saysOf(one)])),
    ]),
    '',
    bold('Folders that are refused as projects'),
    ...rows(seldom.map(row)),
  ].join('\n')
}

const row = ({ name, value, says }: Option): [string, string] => [`--${name}${value ? ` ${value}` : ''}`, says]

const units: readonly (readonly [RegExp, string])[] = [
  [/Ms$/, 'MS'],
  [/Bytes$/, 'BYTES'],
  [/Days$/, 'DAYS'],
  [/Cents$/, 'CENTS'],
  [/Tokens$/, 'TOKENS'],
]

function valueIn({ boolean, key, type, choices }: SettingFlag): string {
  if (boolean) return ''
  if (choices) return ` ${choices.join('|')}`
  const unit = units.find(([ends]) => ends.test(key))?.[1]
  return ` ${unit ?? (type === 'array' ? 'A,B' : type === 'integer' ? 'N' : 'TEXT')}`
}

const saysOf = (one: SettingFlag): string => `${one.says} ${dim(`Default: ${defaultOf(one)}.`)}`

function defaultOf({ default: value, key }: SettingFlag): string {
  if (Array.isArray(value)) return value.length ? value.join(',') : 'none'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (value === '' || value === undefined) return 'none'
  if (typeof value !== 'number' || value === 0) return String(value)
  if (key.endsWith('Ms')) return `${value} (${duration(value)})`
  return key.endsWith('Bytes') ? `${value} (${size(value)})` : String(value)
}

function duration(ms: number): string {
  const steps = [
    [86_400_000, 'days'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const
  const [unit, name] = steps.find(([one]) => ms >= one && ms % one === 0) ?? [1, 'ms']
  return `${ms / unit} ${name}`
}

const leftMost = 28

/** Two columns; what is too long on the left has its words on the next line. */
function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(leftMost, Math.max(...pairs.map(([left]) => left.length)))
  return pairs.flatMap(([left, says]) =>
    left.length > width ? [`  ${left}`, ...beside(' '.repeat(width + 4), says)] : beside(`  ${left.padEnd(width)}  `, says),
  )
}

function beside(left: string, says: string): string[] {
  return foldedAt(screen(), left + says, ' '.repeat(left.length)).split('\n')
}

/** Paragraphs as wide as the screen. A line that begins with a word and two blanks begins an item of its own. */
function reflowed(text: string): string {
  const item = /^(\S+(?: \S+)? {2,})\S/
  return text
    .split(/\n\n/)
    .map((paragraph) => {
      const lines: string[] = []
      for (const line of paragraph.split('\n'))
        if (lines.length === 0 || item.test(line)) lines.push(line)
        else lines[lines.length - 1] += ` ${line.trim()}`
      return lines.map((line) => foldedAt(screen(), line, ' '.repeat(item.exec(line)?.[1]?.length ?? 0))).join('\n')
    })
    .join('\n\n')
}
