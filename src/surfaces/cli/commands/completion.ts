import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { everywhere } from '../help.ts'
import { say } from '../print.ts'

/** Words that a shell offers for the commands there are. `commands` is asked when it is needed: this command is one of them. */
export const completionOf = (commands: () => readonly Command[]): Command => ({
  name: 'completion',
  summary: 'Print what your shell needs to complete commands, acts and options',
  usage: 'handrail completion bash|zsh|fish',
  about: `bash  add to ~/.bashrc: eval "$(handrail completion bash)"
zsh   add to ~/.zshrc, after compinit: eval "$(handrail completion zsh)"
fish  handrail completion fish > ~/.config/fish/completions/handrail.fish`,
  acts: { bash: 0, zsh: 0, fish: 0 },
  examples: ['handrail completion bash', 'handrail completion zsh', 'handrail completion fish'],
  run({ words }) {
    const [shell = ''] = words
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (!script) throw new Fault('bad-input', 'For which shell?', { hint: 'handrail completion bash, zsh or fish.' })
    say(script(commands()))
    return Promise.resolve(0)
  },
})

const optionsOf = ({ options = [] }: Command) => [...options, ...everywhere]

/** In single quotes, for any of the three. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\\''`)}'`

const scripts: Record<string, (commands: readonly Command[]) => string> = { bash, zsh, fish }

const names = (commands: readonly Command[]): string => commands.map(({ name }) => name).join(' ')

function wordsOf(command: Command): string {
  return [...Object.keys(command.acts ?? {}), ...optionsOf(command).map(({ name }) => `--${name}`)].join(' ')
}

function bash(commands: readonly Command[]): string {
  return `_handrail() {
  local current=\${COMP_WORDS[COMP_CWORD]} words
  case \${COMP_WORDS[COMP_CWORD-1]} in
    --project|--state) COMPREPLY=($(compgen -d -- "$current")); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=${quoted(names(commands))}
  else
    case \${COMP_WORDS[1]} in
${commands.map((command) => `      ${command.name}) words=${quoted(wordsOf(command))} ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _handrail handrail`
}

function zsh(commands: readonly Command[]): string {
  const described = (name: string, says: string): string => quoted(`${name.replaceAll(':', '\\:')}:${says}`)
  const cases = commands.map((command) => {
    const acts = Object.keys(command.acts ?? {})
    const options = optionsOf(command).map(({ name, says }) => described(`--${name}`, says))
    return `      ${command.name}) acts=(${acts.join(' ')}) options=(${options.join(' ')}) ;;`
  })
  return `_handrail() {
  local -a commands acts options
  case $words[CURRENT-1] in
    --project|--state) _files -/; return ;;
  esac
  if (( CURRENT == 2 )); then
    commands=(${commands.map(({ name, summary }) => described(name, summary)).join(' ')})
    _describe command commands
  else
    case $words[2] in
${cases.join('\n')}
    esac
    (( CURRENT == 3 )) && compadd -a acts
    _describe option options
  fi
}
compdef _handrail handrail`
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const seen = `-n ${quoted(`__fish_seen_subcommand_from ${command.name}`)}`
    const acts = Object.keys(command.acts ?? {})
    return [
      `complete -c handrail -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.summary)}`,
      ...(acts.length ? [`complete -c handrail ${seen} -f -a ${quoted(acts.join(' '))}`] : []),
      ...(command.options ?? []).map(
        ({ name, value, says }) =>
          `complete -c handrail ${seen} -l ${name}${value === undefined ? '' : ' -r'} -d ${quoted(says)}`,
      ),
    ]
  })
  const all = everywhere.map(
    ({ name, value, says }) => `complete -c handrail -l ${name}${value === undefined ? '' : ' -r'} -d ${quoted(says)}`,
  )
  return [...lines, ...all].join('\n')
}
