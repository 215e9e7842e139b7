import { isDeepStrictEqual } from 'node:util'
import type { Diffs } from '../host/diffs.ts'
import { openLinkNames, type LinkNames } from '../host/links/link-names.ts'
import { followingRules, pathRules, withKinOfGit, type PathRules } from '../host/paths.ts'
import type { Servers } from '../host/stage/servers.ts'
import { openStages, type Stages } from '../host/stage/stages.ts'
import type { Root } from '../host/walk.ts'
import type { Place } from './place.ts'
import type { LoadedSettings } from './settings.ts'

/** What tools and programs reach of the project. It is made anew only where the settings it was made from are others. */
export interface Reach {
  root: Root
  forbidden: readonly string[]
  rules: PathRules
  links: LinkNames
  stages: Stages
  /** Whether these settings would make the same. */
  fits(settings: LoadedSettings): boolean
  close(): Promise<void>
}

export function openReach(
  { root: opened, kept, environment }: Place,
  settings: LoadedSettings,
  { diffs, servers }: { diffs: Diffs; servers: Servers },
): Reach {
  const made = madeFrom(settings)
  const { forbidden, within, absolute, crossMounts, stage, limits } = made
  const root: Root = { ...opened, mounts: crossMounts ? undefined : opened.mounts }
  const rules = pathRules(forbidden, within, true, absolute ? root.path : undefined)
  const links = openLinkNames(root, followingRules(forbidden), rules)
  const stages = openStages({ project: root, rules, environment, state: kept.base.path, settings: stage, limits, diffs, servers })
  return {
    root,
    forbidden,
    rules,
    links,
    stages,
    fits: (other) => isDeepStrictEqual(madeFrom(other), made),
    async close() {
      links.close()
      await stages.close()
    },
  }
}

function madeFrom({ config: { policies, limits, stage }, personal, within, absolutePaths: absolute = false }: LoadedSettings) {
  return {
    forbidden: withKinOfGit([...personal, ...policies.forbiddenDirs]),
    within,
    absolute,
    crossMounts: policies.crossMounts,
    stage: { ...stage, stageVisible: withKinOfGit(stage.stageVisible) },
    limits: {
      processes: limits.stageProcesses,
      memoryBytes: limits.stageMemoryBytes,
      diskBytes: limits.stageDiskBytes,
      entries: limits.stageEntries,
    },
  }
}
