import { asToolError } from './contracts/errors.ts'
import type { Runtime, RuntimeOptions } from './contracts/runtime.ts'
import { watchSettings } from './host/settings-file.ts'
import { openRuntime } from './main.ts'

interface Inner {
  runtime: Runtime
  /** Calls under way. */
  calls: number
}

/**
 * A runtime for processes that stay: when a settings file changes, a new one with the new settings takes over for every call that
 * comes after, and the old one is closed when its last call is done. Settings that cannot be used change nothing.
 */
export function openLiveRuntime(options: RuntimeOptions): Runtime {
  let now: Inner = { runtime: openRuntime(options), calls: 0 }
  const listeners = new Set<() => void>()
  const leave = (inner: Inner): void => {
    if (inner !== now && inner.calls === 0) void inner.runtime.close()
  }

  const reload = (): void => {
    const before = now
    try {
      now = { runtime: openRuntime(options), calls: 0 }
    } catch (thrown) {
      console.error(
        `handrail: the settings changed but cannot be used, so the old ones stay in force: ${asToolError(thrown).message}`,
      )
      return
    }
    const changed = changedKeys(before.runtime, now.runtime)
    if (changed.length > 0) now.runtime.audit.note({ event: 'settings.changed', details: { settings: changed } })
    leave(before)
    if (toolNames(before.runtime) !== toolNames(now.runtime)) for (const listener of listeners) listener()
  }
  const unwatch = watchSettings(now.runtime.settingsFiles, reload)

  const own: Pick<Runtime, 'call' | 'close' | 'onToolsChanged'> = {
    onToolsChanged: (listener) => void listeners.add(listener),
    async call(...call) {
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

function toolNames(runtime: Runtime): string {
  return runtime.tools.map((tool) => tool.name).join()
}

function changedKeys(before: Runtime, after: Runtime): string[] {
  const values = new Map(before.settings.map(({ key, value }) => [key, JSON.stringify(value)]))
  return after.settings.filter(({ key, value }) => values.get(key) !== JSON.stringify(value)).map(({ key }) => key)
}
