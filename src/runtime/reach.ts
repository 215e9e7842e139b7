import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Diffs } from '../host/diffs.ts'
import type { LinkNames } from '../host/links/link-names.ts'
import { openLinksOver } from '../host/links/over-roots.ts'
import { followingRules, pathRules, withKinOfGit, type PathRules } from '../host/paths.ts'
import type { Servers } from '../host/stage/servers.ts'
import { openStages, type Stages } from '../host/stage/stages.ts'
import { refuseSystem } from '../host/system-folders.ts'
import { withMounts, type Root } from '../host/walk.ts'
import { rootMark } from '../text/root-path.ts'
import type { Place } from './place.ts'
import type { Roots } from './roots.ts'
import { personalIn, type LoadedSettings } from './settings.ts'

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
  roots: Roots,
): Reach {
  const made = madeFrom(settings, roots)
  const { forbidden, within, absolute, crossMounts, refusesSystem, stage, limits, further } = made
  const root = withMounts(opened, ({ mounts }) => (crossMounts ? undefined : mounts), new Map(further))
  const folders = new Map(further.map(([mark, { path }]) => [mark.slice(rootMark('').length), path]))
  const rules = pathRules(forbidden, within, true, {
    further: folders,
    absolute: absolute ? root.path : undefined,
    ...(refusesSystem && { system: refuseSystem(root) }),
  })
  const links = openLinksOver(root, followingRules(forbidden), rules)
  const stages = openStages({ project: root, rules, environment, state: kept.base.path, settings: stage, limits, diffs, servers })
  return {
    root,
    forbidden,
    rules,
    links,
    stages,
    fits: (other) => isDeepStrictEqual(madeFrom(other, roots), made),
    async close() {
      links.close()
      await stages.close()
    },
  }
}

function madeFrom(settings: LoadedSettings, { named, opened }: Roots) {
  const { config, personal, within, files, absolutePaths: absolute = false, refusesSystem = false, roots: wanted = [] } = settings
  const { policies, limits, stage } = config
  const further = named().flatMap(({ name, why }): [string, Root][] => {
    const root = opened.get(rootMark(name))
    return root && why === undefined && (wanted === 'all' || wanted.includes(name)) ? [[rootMark(name), root]] : []
  })
  // The person's own settings are nobody's to reach, in whichever root they lie.
  const theirs = further.flatMap(([mark, { path }]) =>
    personalIn(dirname(files[0] as string), path).map((one) => `${mark}/${one}`),
  )
  return {
    further,
    forbidden: withKinOfGit([...personal, ...theirs, ...policies.forbiddenDirs]),
    within,
    absolute,
    refusesSystem,
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
