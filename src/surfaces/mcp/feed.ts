import type { Runtime } from '../../contracts/runtime.ts'

export type News = { kind: 'tools' } | { kind: 'prompts' } | { kind: 'resource'; uri: string }

/** News of the project for whoever listens, whichever process made it. */
export interface Feed {
  /** Returns the way to stop listening. */
  follow(listener: (news: News) => void): () => void
  tell(news: News): void
}

/** Reads are frequent: after one of them the list of tools is looked at again this seldom. */
const listMs = 500

/** Follows the log while somebody listens. */
export function openFeed(runtime: Runtime): Feed {
  const listeners = new Set<(news: News) => void>()
  let stop: (() => void) | undefined
  let snapshot = ''
  let list = { names: '', at: 0 }

  const tell = (news: News): void => {
    for (const listener of listeners) listener(news)
  }
  const look = (): void => {
    tell({ kind: 'resource', uri: 'handrail://audit' })
    const newest = newestSnapshot(runtime) ?? snapshot
    if (newest !== snapshot) tell({ kind: 'resource', uri: 'handrail://snapshots' })
    snapshot = newest
    lookAtList()
  }
  // A project becomes a game when its first scene is written, by hand too: that is seen when somebody next does something.
  const lookAtList = (): void => {
    const before = list.names
    list = { names: listOf(runtime), at: performance.now() }
    if (list.names !== before) tell({ kind: 'tools' })
  }
  runtime.onToolsChanged(() => {
    list = { names: listOf(runtime), at: performance.now() }
    tell({ kind: 'tools' })
  })
  // Reads are written down too, but are no news, or a reader who follows the log would never come to rest.
  const news = { events: (event: string) => event !== 'call.read', onLost: look }

  return {
    tell,
    follow(listener) {
      listeners.add(listener)
      if (!stop) {
        stop = runtime.audit.subscribe(news, (lines) => {
          if (lines.length > 0) look()
          else if (performance.now() - list.at > listMs) lookAtList()
        })
        snapshot = newestSnapshot(runtime) ?? ''
        list = { names: listOf(runtime), at: performance.now() }
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        stop?.()
        stop = undefined
      }
    },
  }
}

function newestSnapshot(runtime: Runtime): string | undefined {
  try {
    return runtime.snapshots(1, '')[0]?.id ?? ''
  } catch {
    return undefined
  }
}

function listOf(runtime: Runtime): string {
  return runtime
    .listed()
    .map((tool) => tool.name)
    .join()
}
