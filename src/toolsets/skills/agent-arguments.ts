import { Fault } from '../../contracts/faults/fault.ts'
import type { Files } from '../../host/files.ts'
import type { AgentProfile, ValueKind } from './agents.ts'

const shapes: Record<Exclude<ValueKind, 'path'>, RegExp> = {
  word: /^[A-Za-z0-9][\w./:@+-]{0,199}$/,
  number: /^\d{1,4}$/,
}

/** The arguments a caller added, each a flag the profile knows with a value of its kind; anything else is refused. */
export function allowedArguments(
  files: Files,
  { program, allows }: AgentProfile,
  workspace: string,
  given: readonly string[],
): string[] {
  const flags = Object.entries(allows).map(([flag, kind]) => `${flag} <${kind}>`)
  const refuse = (why: string): Fault =>
    new Fault('bad-input', `additional_args for ${program}: ${why}`, {
      details: { allowed: flags },
      hint: `Allowed: ${flags.join(', ')}. Everything else is refused.`,
    })
  const words = given.values()
  const taken: string[] = []
  for (const word of words) {
    const [flag = '', inline] = word.startsWith('--') && word.includes('=') ? splitOnce(word) : [word]
    const kind = Object.hasOwn(allows, flag) ? allows[flag] : undefined
    if (kind === undefined) throw refuse(`${JSON.stringify(flag.slice(0, 100))} is not allowed`)
    const value = inline ?? words.next().value
    if (value === undefined) throw refuse(`${flag} needs a value`)
    if (kind === 'path' ? !isInside(files, workspace, value) : !shapes[kind].test(value)) throw refuse(`${flag} needs a ${kind}`)
    taken.push(flag, value)
  }
  return taken
}

function splitOnce(word: string): [string, string] {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}

function isInside(files: Files, workspace: string, path: string): boolean {
  if (path.startsWith('-') || path.startsWith('/')) return false
  return files.normal(`${workspace}/${path}`).startsWith(`${workspace}/`)
}
