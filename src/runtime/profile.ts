import type { Profile } from '../contracts/profile.ts'
import type { LoadedSettings } from './settings.ts'

/** The settings as the callers of a profile go by them. */
export function underProfile(settings: LoadedSettings, profile: Profile): LoadedSettings {
  const { config } = settings
  const { policies, limits } = config
  const { callMs = Number.POSITIVE_INFINITY, answerMs = Number.POSITIVE_INFINITY } = profile.deadlines ?? {}
  return {
    ...settings,
    profiled: true,
    absolutePaths: profile.paths === 'absolute',
    roots: profile.roots ?? [],
    config: {
      ...config,
      readOnly: config.readOnly || profile.readOnly === true,
      disabledTools: [...config.disabledTools, ...(profile.withholds ?? [])],
      policies: {
        ...policies,
        forbiddenDirs: [...policies.forbiddenDirs, ...(profile.forbids ?? [])],
        writeRequiresDiff: profile.dryRun ?? policies.writeRequiresDiff,
      },
      limits: {
        ...limits,
        callTimeoutMs: Math.min(limits.callTimeoutMs, callMs),
        answerWithinMs: Math.min(limits.answerWithinMs, answerMs),
      },
    },
  }
}
