import { parseArgs } from 'node:util'
import { Fault } from '../../contracts/faults/fault.ts'
import { nearest } from '../../text/nearest.ts'
import type { Command, SettingFlag } from './command.ts'
import { everywhere, seldom } from './help.ts'

export interface Parsed {
  options: Record<string, string | boolean | undefined>
  words: string[]
}

/** The words and options of a command; one that it does not know is a fault, never silence. */
export function parse(command: Command, argv: string[], flags: readonly SettingFlag[]): Parsed {
  const known = [...(command.options ?? []), ...everywhere, ...seldom]
  const explained = `${command.usage}. \`handrail ${command.name} --help\` explains it.`
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
    const options = values as Parsed['options']
    if (options['help'] !== true && options['help-settings'] !== true) checkWords(command, positionals)
    return { options, words: positionals }
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const message = (cause as Error).message.split('. ')[0] as string
    const wrong = /^Unknown option '--?([\w-]+)/.exec(message)?.[1]
    const near =
      wrong === undefined ? undefined : like(wrong, [...known.map(({ name }) => name), ...flags.map((one) => one.flag)])
    throw new Fault('bad-input', message, { hint: near === undefined ? explained : `Did you mean --${near}? ${explained}` })
  }
}

/** A word like one of these, where there is one. */
export function like(word: string, known: readonly string[]): string | undefined {
  return nearest(word, known, Math.max(1, Math.floor(word.length / 3)))
}

function checkWords({ name, acts, mostWords = 0, usage }: Command, words: readonly string[]): void {
  const [act] = words
  if (acts && act !== undefined && !Object.hasOwn(acts, act)) {
    const near = like(act, Object.keys(acts))
    throw new Fault('bad-input', `Unknown: ${name} ${act}`, {
      hint: `${near === undefined ? '' : `Did you mean \`handrail ${name} ${near}\`? `}There are: ${Object.keys(acts).join(', ')}.`,
    })
  }
  const most = acts ? (act === undefined ? 0 : 1 + (acts[act] ?? 0)) : mostWords
  const extra = words[most]
  if (extra !== undefined)
    throw new Fault('bad-input', `One word too many: ${extra}`, {
      hint: `${usage}. Words with blanks in them need quotation marks.`,
    })
}

/** `--read-only`, `--no-read-only` and `--read-only false` all become `--read-only=…`. */
function joinSwitches(argv: string[], flags: readonly SettingFlag[]): string[] {
  const switches = new Set(flags.filter((one) => one.boolean).map((one) => one.flag))
  const joined: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] as string
    if (word === '--') return [...joined, ...argv.slice(index)]
    const name = word.replace(/^--(no-)?/, '')
    if (!word.startsWith('--') || !switches.has(name)) joined.push(word === '-h' ? '--help' : word)
    else if (word.startsWith('--no-')) joined.push(`--${name}=false`)
    else if (/^(true|false|1|0|yes|no|on|off)$/i.test(argv[index + 1] ?? '')) joined.push(`--${name}=${argv[++index]}`)
    else joined.push(`--${name}=true`)
  }
  return joined
}
