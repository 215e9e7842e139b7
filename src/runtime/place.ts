import type { RuntimeOptions } from '../contracts/runtime.ts'
import { checkProject } from '../host/project-place.ts'
import { openProjectState, type ProjectState } from '../host/state-project.ts'
import { closeRoot, openRoot, type Root } from '../host/walk.ts'
import type { Keep } from './closing.ts'

/** A project, and where what Handrail keeps of it lies. */
export interface Place {
  root: Root
  kept: ProjectState
  environment: Record<string, string | undefined>
}

export function openPlace(options: RuntimeOptions, keep: Keep): Place {
  const root = openRoot(options.project)
  keep({ close: () => closeRoot(root) })
  const environment = options.environment ?? process.env
  checkProject(root, environment, options.allows ?? [])
  return { root, kept: keep(openProjectState(root, { state: options.state, environment })), environment }
}
