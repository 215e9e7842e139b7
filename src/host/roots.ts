import { fstatSync } from 'node:fs'
import { asFault, Fault } from '../contracts/faults/fault.ts'
import type { Danger } from '../contracts/runtime.ts'
import { checkProject } from './project-place.ts'
import { whereItLies, willBe } from './state-place.ts'
import { closeRoot, openRoot, type Root } from './walk.ts'

export interface RootsAsked {
  project: Root
  environment: Record<string, string | undefined>
  allows: readonly Danger[]
  /** Where Handrail keeps what agents must not reach: its state, its stages. */
  own: readonly string[]
}

/** A root as the settings write it: `docs=/srv/docs`. The schema has seen to its form. */
export function readRoot(said: string): { name: string; path: string } {
  const at = said.indexOf('=')
  return { name: said.slice(0, at), path: said.slice(at + 1) }
}

/**
 * Opens a further root, judged as a project is, on the folder that was opened and not on its name. Roots lie apart from each other and from
 * the project: a file would have two names else, and what is forbidden, locked or kept under one would not be under the other.
 */
export function openFurtherRoot(path: string, others: Iterable<Root>, { project, environment, allows, own }: RootsAsked): Root {
  const root = openRoot(path)
  try {
    // A folder of the system never is one: contract 001 forbids those to its callers in any case.
    checkProject(
      root,
      environment,
      allows.filter((danger) => danger !== 'system'),
    )
    for (const folder of own)
      if (whereItLies(willBe(folder), root) !== undefined) throw overlaps(root, `${folder}, where Handrail keeps its own`)
    for (const other of [project, ...others])
      if (whereItLies(other.path, root) !== undefined) throw overlaps(root, other === project ? 'the project' : other.path)
    return root
  } catch (fault) {
    closeRoot(root)
    throw fault
  }
}

/** Whether two opened roots are one folder. */
export function isSameRoot(one: Root, other: Root): boolean {
  const [a, b] = [fstatSync(one.fd), fstatSync(other.fd)]
  return one.path === other.path && a.ino === b.ino && a.dev === b.dev
}

/** In one sentence, for people. */
export function whyNot(fault: unknown): string {
  return asFault(fault).message
}

function overlaps({ path }: Root, what: string): Fault {
  return new Fault('bad-input', `${path} and ${what} lie in each other`, {
    details: { path },
    hint: 'Name a folder of its own in the setting roots.',
  })
}
