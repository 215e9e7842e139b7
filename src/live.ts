import { asToolError } from './contracts/errors.ts'
import type { Runtime, RuntimeOptions } from './contracts/runtime.ts'
import { stampOf, watchSettings } from './host/settings-file.ts'
import { openRuntime } from './main.ts'

interface Inner {
  runtime: Runtime
  /** Calls under way. */
  calls: number
}

/**
 * A runtime for processes that stay: when a settings file changes, a new one with the new settings takes over for every call that
 * comes after, and the old one is closed when its last call is done. Settings that cannot be used change nothing, save that a
 * project's own file that is no longer the trusted one loosens nothing any more: what it tightened stays in force.
 */
export function openLiveRuntime(options: RuntimeOptions): Runtime {
  let now: Inner = { runtime: openRuntime(options), calls: 0 }
  const { settingsFiles: files } = now.runtime
  /** The files as they were just before they were read. */
  let seen = now.runtime.settingsStamp
  /** The newest text of the project's own file that could be used. */
  let usable = now.runtime.projectSettings?.text
  const listeners = new Set<() => void>()
  const leave = (inner: Inner): void => {
    if (inner !== now && inner.calls === 0) void inner.runtime.close()
  }

  const reload = (): void => {
    const before = now
    seen = stampOf(files)
    try {
      now = { runtime: openRuntime({ ...options, standIn: usable ?? '{}' }), calls: 0 }
    } catch (thrown) {
      complain(asToolError(thrown).message)
      return
    }
    const { projectSettings } = now.runtime
    if (projectSettings?.fault !== undefined) complain(projectSettings.fault)
    else {
      usable = projectSettings?.text
      if (projectSettings?.says !== undefined && projectSettings.says !== before.runtime.projectSettings?.says)
        console.error(`handrail: ${projectSettings.says}`)
    }
    const changed = changedKeys(before.runtime, now.runtime)
    const ignored = projectSettings?.ignored.map(({ key }) => key) ?? []
    if (changed.length > 0 || ignored.join() !== before.runtime.projectSettings?.ignored.map(({ key }) => key).join())
      now.runtime.audit.note({
        event: 'settings.changed',
        details: { settings: changed, ...(ignored.length > 0 && { ignored }) },
      })
    leave(before)
    if (toolNames(before.runtime) !== toolNames(now.runtime)) for (const listener of listeners) listener()
  }
  const unwatch = watchSettings(files, reload)
  if (stampOf(files) !== seen) reload()

  /** Trust is in bytes: while some is in force, no call goes out on a file that has been replaced since it was read. */
  const lookAgain = (): void => {
    const { projectSettings } = now.runtime
    if (projectSettings && projectSettings.loosenings.length > projectSettings.ignored.length && stampOf(files) !== seen) reload()
  }

  const own: Pick<Runtime, 'call' | 'close' | 'onToolsChanged'> = {
    onToolsChanged: (listener) => void listeners.add(listener),
    async call(...call) {
      lookAgain()
      const inner = now
      inner.calls++
      try {
        return await inner.runtime.call(...call)
      } finally {
        inner.calls--
        leave(inner)
      }
    },
    async close() {
      unwatch()
      await now.runtime.close()
    },
  }
  // Everything else is asked of whichever runtime is in force at that moment.
  return new Proxy(own as Runtime, {
    get: (_, name) => (Object.hasOwn(own, name) ? own[name as keyof typeof own] : now.runtime[name as keyof Runtime]),
  })
}

function complain(why: string): void {
  console.error(`handrail: the settings changed but cannot be used, so the old ones stay in force: ${why}`)
}

function toolNames(runtime: Runtime): string {
  return runtime.tools.map((tool) => tool.name).join()
}

function changedKeys(before: Runtime, after: Runtime): string[] {
  const values = new Map(before.settings.map(({ key, value }) => [key, JSON.stringify(value)]))
  return after.settings.filter(({ key, value }) => values.get(key) !== JSON.stringify(value)).map(({ key }) => key)
}
