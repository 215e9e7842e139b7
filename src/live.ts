import type { AuditListener, Subscription } from './contracts/audit.ts'
import { asFault } from './contracts/faults/fault.ts'
import { printable } from './text/printable.ts'
import type { Runtime, RuntimeOptions } from './contracts/runtime.ts'
import { stampOf } from './host/settings-file.ts'
import { watchNames } from './host/watch-names.ts'
import { openRuntime } from './main.ts'

interface Inner {
  runtime: Runtime
  /** Calls under way. */
  calls: number
}

/** Somebody who follows the log, whichever runtime is in force. */
interface Follower {
  wanted: Subscription
  listener: AuditListener
  /** The line it has yet to hear. */
  next?: number
  stop(): void
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
  const followers = new Set<Follower>()
  const follow = (follower: Follower): void => {
    const { wanted, listener, next } = follower
    follower.stop = now.runtime.audit.subscribe({ ...wanted, ...(next && { from: next }) }, (lines, upTo) => {
      follower.next = upTo + 1
      return listener(lines, upTo)
    })
  }
  const leave = (inner: Inner): void => {
    if (inner !== now && inner.calls === 0) void inner.runtime.close()
  }

  const reload = (): void => {
    const before = now
    seen = stampOf(files)
    try {
      now = { runtime: openRuntime({ ...options, standIn: usable ?? '{}' }), calls: 0 }
    } catch (thrown) {
      complain(asFault(thrown).message)
      return
    }
    const { projectSettings } = now.runtime
    if (projectSettings?.fault !== undefined) complain(`${projectSettings.fault}. What they had loosened is no longer in force.`)
    else {
      usable = projectSettings?.text
      if (projectSettings?.says !== undefined && projectSettings.says !== before.runtime.projectSettings?.says)
        console.error(`handrail: ${printable(projectSettings.says)}`)
    }
    for (const follower of followers) {
      follower.stop()
      follow(follower)
      // Where it has heard nothing yet, nobody knows what it missed.
      if (follower.next === undefined) follower.wanted.onLost?.('the settings changed')
    }
    noteChange(before.runtime, now.runtime)
    leave(before)
    if (toolNames(before.runtime) !== toolNames(now.runtime)) for (const listener of listeners) listener()
  }
  const look = (): void => {
    if (stampOf(files) !== seen) reload()
  }
  const stopLooking = watchNames(files, look)

  /** Trust is in bytes: while some is in force, no call goes out on a file that has been replaced since it was read. */
  const lookAgain = (): void => {
    const { loosenings, ignored } = now.runtime.projectSettings ?? { loosenings: [], ignored: [] }
    if (loosenings.length > ignored.length) look()
  }

  const subscribe: Runtime['audit']['subscribe'] = (wanted, listener) => {
    const follower: Follower = { wanted, listener, stop: () => undefined }
    follow(follower)
    followers.add(follower)
    return () => {
      followers.delete(follower)
      follower.stop()
    }
  }

  const own: Pick<Runtime, 'audit' | 'call' | 'close' | 'onToolsChanged'> = {
    get audit() {
      return { ...now.runtime.audit, subscribe }
    },
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
      stopLooking()
      await now.runtime.close()
    },
  }
  // Everything else is asked of whichever runtime is in force at that moment.
  return new Proxy(own as Runtime, {
    get: (_, name) => (Object.hasOwn(own, name) ? own[name as keyof typeof own] : now.runtime[name as keyof Runtime]),
  })
}

function complain(why: string): void {
  console.error(`handrail: the settings changed but cannot be used, so the old ones stay in force: ${printable(why)}`)
}

function toolNames(runtime: Runtime): string {
  return runtime
    .listed()
    .map((tool) => tool.name)
    .join()
}

function noteChange(before: Runtime, after: Runtime): void {
  const values = new Map(before.settings.map(({ key, value }) => [key, JSON.stringify(value)]))
  const settings = after.settings.filter(({ key, value }) => values.get(key) !== JSON.stringify(value)).map(({ key }) => key)
  const ignored = ignoredKeys(after)
  if (settings.length === 0 && ignored.join() === ignoredKeys(before).join()) return
  try {
    after.audit.note({ event: 'settings.changed', details: { settings, ...(ignored.length > 0 && { ignored }) } })
  } catch (fault) {
    // The log cannot be written: the next act is refused for that, and looking at the settings must not end the server.
    console.error(`handrail: ${printable(asFault(fault).message)}`)
  }
}

function ignoredKeys({ projectSettings }: Runtime): string[] {
  return (projectSettings?.ignored ?? []).map(({ key }) => key)
}
