import type { Reach } from './reach.ts'
import type { LoadedSettings } from './settings.ts'
import type { SettingsScope } from './settings-scope.ts'

/** The settings that count now. Calls that are under way end under those they were judged by. */
export interface ActiveSettings {
  now(): SettingsScope
  /** Makes something of these settings, and lets it take over for every call that comes after; throws, and changes nothing, where they cannot be used. */
  change(settings: LoadedSettings): void
  /** Does it under what is in force when it begins, which stays until it is done. */
  during<T>(act: (scope: SettingsScope) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function openActiveSettings(parts: {
  openReach: (settings: LoadedSettings) => Reach
  openSettingsScope: (reach: Reach, settings: LoadedSettings) => SettingsScope
}): ActiveSettings {
  let now: SettingsScope | undefined
  /** What still has calls under way, and how many. */
  const held = new Map<SettingsScope, number>()
  const reaches = new Set<Reach>()
  /** Not in force any more; a server that goes on still has what it was started with. */
  const closing = new Set<Promise<void>>()

  const isUsed = (reach: Reach): boolean => now?.reach === reach || [...held.keys()].some((scope) => scope.reach === reach)
  const closeUnused = (): void => {
    for (const reach of reaches) {
      if (isUsed(reach)) continue
      reaches.delete(reach)
      const gone = reach.close().finally(() => closing.delete(gone))
      closing.add(gone)
    }
  }

  const current = (): SettingsScope => {
    if (!now) throw new Error('no settings are in force yet')
    return now
  }
  return {
    now: current,
    change(settings) {
      const reach = now?.reach.fits(settings) ? now.reach : parts.openReach(settings)
      reaches.add(reach)
      try {
        now = parts.openSettingsScope(reach, settings)
      } finally {
        closeUnused()
      }
    },
    async during(act) {
      const scope = current()
      held.set(scope, (held.get(scope) ?? 0) + 1)
      try {
        return await act(scope)
      } finally {
        const left = (held.get(scope) ?? 1) - 1
        if (left > 0) held.set(scope, left)
        else held.delete(scope)
        if (left === 0 && scope !== now) closeUnused()
      }
    },
    async close() {
      await Promise.all([...closing, ...[...reaches].map((reach) => reach.close())])
    },
  }
}
