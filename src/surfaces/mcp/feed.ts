import type { Runtime } from '../../contracts/runtime.ts'

export type News = { kind: 'tools' } | { kind: 'prompts' } | { kind: 'resource'; uri: string }

/** News of the project for whoever listens, whichever process made it. */
export interface Feed {
  /** Returns the way to stop listening. */
  follow(listener: (news: News) => void): () => void
  tell(news: News): void
}

const lookMs = 500

/** Looks only while somebody listens. */
export function openFeed(runtime: Runtime): Feed {
  const listeners = new Set<(news: News) => void>()
  let timer: NodeJS.Timeout | undefined
  let seen = { line: 0, snapshot: '' }
  let listed = ''

  const tell = (news: News): void => {
    for (const listener of listeners) listener(news)
  }
  const look = (): void => {
    const now = present(runtime, seen)
    if (now.line !== seen.line) tell({ kind: 'resource', uri: 'handrail://audit' })
    if (now.snapshot !== seen.snapshot) tell({ kind: 'resource', uri: 'handrail://snapshots' })
    seen = now
    // A project becomes a game when its first scene is written.
    const list = listOf(runtime)
    if (list !== listed) tell({ kind: 'tools' })
    listed = list
  }
  runtime.onToolsChanged(() => {
    listed = listOf(runtime)
    tell({ kind: 'tools' })
  })

  return {
    tell,
    follow(listener) {
      listeners.add(listener)
      if (!timer) {
        seen = present(runtime, seen)
        listed = listOf(runtime)
        timer = setInterval(look, lookMs).unref()
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

/** Reads are written down too, but are no news, or a reader who follows the log would never come to rest. */
function present(runtime: Runtime, seen: { line: number; snapshot: string }): { line: number; snapshot: string } {
  try {
    const line = runtime.audit.last(1, ({ event }) => event !== 'call.read')[0]?.seq ?? 0
    return { line, snapshot: runtime.snapshots(1, '')[0]?.id ?? '' }
  } catch {
    return seen
  }
}

function listOf(runtime: Runtime): string {
  return runtime
    .listed()
    .map((tool) => tool.name)
    .join()
}
