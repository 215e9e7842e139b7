import { Fault } from '../../contracts/faults/fault.ts'
import type { ProgramResult } from '../../contracts/stage.ts'
import type { Files } from '../../host/files.ts'

/** The folder that scripts start in and the only one they may change. */
export const sandbox = 'sandbox'

/** Whether a folder is there; a file or a link in its place is refused. */
export function hasFolder(files: Files, path: string): boolean {
  try {
    if (files.isFolder(path)) return true
  } catch (fault) {
    if (fault instanceof Fault && fault.reason === 'not-found') return false
    throw fault
  }
  throw new Fault('io', `Is a file, not a folder: ${path}`, { hint: `${path}/ must be a folder.`, details: { path } })
}

const prefixed = /^(-{1,2}[\w.-]+=)?(?:\.\/)?sandbox\/+(.*)$/s

/**
 * Scripts start in sandbox/, yet callers write paths from the project on: `--output sandbox/outputs/x` would land in
 * sandbox/sandbox/outputs. One base for both: the prefix is left out where it stands at the start of an argument or of its value.
 */
export function fromSandbox(files: Files, args: readonly string[]): string[] {
  if (!args.some((arg) => prefixed.test(arg)) || hasInner(files)) return [...args]
  return args.map((arg) => arg.replace(prefixed, (_, flag = '', rest: string) => `${flag}${rest || '.'}`))
}

/** Whether that was done for a script that has run by now, and may have made a sandbox/sandbox itself. */
export function wasFromSandbox(files: Files, args: readonly string[], { effects }: ProgramResult): boolean {
  const made = effects.some(({ path, kind }) => path === inner && kind === 'created')
  return args.some((arg) => prefixed.test(arg)) && (made || !hasInner(files))
}

const inner = `${sandbox}/${sandbox}`

/** Asked by name: sandbox/ may hold any number of things. A link or a file of that name is none. */
function hasInner(files: Files): boolean {
  if (!hasFolder(files, sandbox)) return false
  try {
    return files.isFolder(inner)
  } catch (fault) {
    if (fault instanceof Fault) return false
    throw fault
  }
}
