import { relative, resolve } from 'node:path'
import { printable } from '../../text/printable.ts'
import type { Invocation } from './command.ts'

/** How this program was called, so that what it suggests can be typed as it stands. */
export function programName(): string {
  const [, script = 'handrail'] = process.argv
  if (process.env['npm_command'] === 'exec') return 'npx handrail'
  if (!script.endsWith('.js')) return 'handrail'
  const near = relative(process.cwd(), script)
  return `node ${forShell(near.startsWith('..') ? script : near)}`
}

/** A command about the same project and state, as it can be typed in another terminal. */
export function commandHere(command: string, project: string, options: Invocation['options']): string {
  if (/--help\b/.test(command)) return `${programName()} ${command}`
  const state = options['state']
  const where = ['--project', project, ...(typeof state === 'string' ? ['--state', resolve(state)] : [])]
  return `${programName()} ${command} ${printable(where.map(forShell).join(' '))}`
}

/** Makes of a command's words what can be typed as it stands. */
export type CommandHere = (words: string) => string

/** A hint whose commands, which stand in backquotes, can be typed as they stand; `ID` in them is this one. */
export function hintHere(hint: string, id: string, command: CommandHere): string {
  return hint.replaceAll(/`handrail ([^`]+)`/g, (_, words: string) => `\`${command(words.replace(/\bID\b/, id))}\``)
}

/** A word as a shell takes it for one. */
export function forShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
