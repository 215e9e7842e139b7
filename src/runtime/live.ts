import { asFault } from '../contracts/faults/fault.ts'
import { stampOf } from '../host/settings-file.ts'
import { watchNames } from '../host/watch-names.ts'
import type { AuditStore } from '../stores/audit.ts'
import { printable } from '../text/printable.ts'
import type { ActiveSettings } from './active-settings.ts'
import type { LoadedSettings } from './settings.ts'
import type { SettingsScope } from './settings-scope.ts'

export interface Live {
  /** Trust is in bytes: while some is in force, no call goes out on a file that has been replaced since it was read. */
  lookAgain(): void
  onToolsChanged(listener: () => void): void
  /** They are others for another reason than the settings. */
  toolsChanged(): void
  close(): void
}

/**
 * For processes that stay: when a settings file changes, the new settings take over for every call that comes after. Settings that cannot be
 * used change nothing, save that a project's own file that is no longer the trusted one loosens nothing any more: what it tightened
 * stays in force.
 */
export function openLive(parts: {
  activeSettings: ActiveSettings
  /** Takes the settings up as they are now, with this in the place of a project's own that cannot be used. */
  reload: (standIn: string) => void
  audit: Pick<AuditStore, 'note'>
}): Live {
  const { activeSettings, reload, audit } = parts
  const settings = (): LoadedSettings => activeSettings.now().settings
  const { files } = settings()
  /** The files as they were just before they were read. */
  let seen = settings().stamp
  /** The newest text of the project's own file that could be used. */
  let usable = settings().project?.text
  const listeners = new Set<() => void>()

  const takeUp = (): void => {
    const before = activeSettings.now()
    const listed = toolNames(before)
    seen = stampOf(files)
    try {
      reload(usable ?? '{}')
    } catch (thrown) {
      complain(asFault(thrown).message)
      return
    }
    const { project } = settings()
    if (project?.fault !== undefined) complain(`${project.fault}. What they had loosened is no longer in force.`)
    else {
      usable = project?.text
      if (project?.says !== undefined && project.says !== before.settings.project?.says)
        console.error(`handrail: ${printable(project.says)}`)
    }
    noteChange(before.settings, settings(), audit)
    if (toolNames(activeSettings.now()) !== listed) for (const listener of listeners) listener()
  }
  const look = (): void => {
    if (stampOf(files) !== seen) takeUp()
  }
  return {
    lookAgain() {
      const { loosenings, ignored } = settings().project ?? { loosenings: [], ignored: [] }
      if (loosenings.length > ignored.length) look()
    },
    onToolsChanged: (listener) => void listeners.add(listener),
    toolsChanged() {
      for (const listener of listeners) listener()
    },
    close: watchNames(files, look),
  }
}

/** For processes that end before anybody changes a setting. */
export const notLive: Live = {
  lookAgain: () => undefined,
  onToolsChanged: () => undefined,
  toolsChanged: () => undefined,
  close: () => undefined,
}

function complain(why: string): void {
  console.error(`handrail: the settings changed but cannot be used, so the old ones stay in force: ${printable(why)}`)
}

function toolNames(scope: SettingsScope): string {
  return scope
    .listed()
    .map((tool) => tool.name)
    .join()
}

function noteChange(before: LoadedSettings, after: LoadedSettings, audit: Pick<AuditStore, 'note'>): void {
  const values = new Map(before.settings.map(({ key, value }) => [key, JSON.stringify(value)]))
  const settings = after.settings.filter(({ key, value }) => values.get(key) !== JSON.stringify(value)).map(({ key }) => key)
  const ignored = ignoredKeys(after)
  if (settings.length === 0 && ignored.join() === ignoredKeys(before).join()) return
  try {
    audit.note({ event: 'settings.changed', details: { settings, ...(ignored.length > 0 && { ignored }) } })
  } catch (fault) {
    // The log cannot be written: the next act is refused for that, and looking at the settings must not end the server.
    console.error(`handrail: ${printable(asFault(fault).message)}`)
  }
}

function ignoredKeys({ project }: LoadedSettings): string[] {
  return (project?.ignored ?? []).map(({ key }) => key)
}
