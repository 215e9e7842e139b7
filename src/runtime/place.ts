import { Fault } from '../contracts/faults/fault.ts'
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
  if (options.noLink && root.path !== options.project)
    throw new Fault('conflict', `It leads elsewhere now (${root.path})`, {
      details: { path: options.project, real: root.path },
      hint: 'Remove the link that stands there.',
    })
  checkProject(root, environment, options.allows ?? [])
  return { root, kept: keep(openProjectState(root, { state: options.state, environment })), environment }
}
