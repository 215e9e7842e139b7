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
    roots: typeof profile.roots === 'function' ? profile.roots(config) : (profile.roots ?? []),
    ...(profile.systemFolders && { refusesSystem: true as const }),
    config: {
      ...config,
      readOnly: config.readOnly || profile.readOnly === true,
      disabledTools: [...config.disabledTools, ...(profile.withholds ?? [])],
      policies: {
        ...policies,
        forbiddenDirs: [...policies.forbiddenDirs, ...(profile.forbids ?? [])],
        askFrom: profile.asksFrom ?? policies.askFrom,
        writeRequiresDiff: profile.dryRun ?? policies.writeRequiresDiff,
        // A folder of the system that is mounted in the project has another path there.
        crossMounts: policies.crossMounts && profile.systemFolders === undefined,
      },
      limits: {
        ...limits,
        callTimeoutMs: Math.min(limits.callTimeoutMs, callMs),
        answerWithinMs: Math.min(limits.answerWithinMs, answerMs),
      },
    },
  }
}
