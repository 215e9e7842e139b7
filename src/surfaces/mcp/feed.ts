import type { AgentGate, News as ProjectNews } from '../../contracts/gate.ts'

export type News = { kind: 'tools' } | { kind: 'prompts' } | { kind: 'resource'; uri: string }

/** News of the project for whoever listens, whichever process made it. */
export interface Feed {
  /** Returns the way to stop listening. */
  follow(listener: (news: News) => void): () => void
  tell(news: News): void
}

/** Changes come in bursts, and reads by the thousand: what is told of them is told together. */
const burstMs = 100
const readsMs = 500

/** Follows the log while somebody listens. */
export function openFeed(gate: AgentGate): Feed {
  const listeners = new Set<(news: News) => void>()
  const updated = new Set<string>()
  let stop: (() => void) | undefined
  let due: NodeJS.Timeout | undefined
  let listed = ''

  const tell = (news: News): void => {
    for (const listener of listeners) listener(news)
  }
  const tellAll = (): void => {
    due = undefined
    for (const uri of updated) tell({ kind: 'resource', uri })
    updated.clear()
    // A project becomes a game when its first scene is written, by hand too: that is seen when somebody next does something.
    const before = listed
    try {
      listed = listOf(gate)
    } catch {
      // A project that cannot be looked at right now is looked at with the next news.
      return
    }
    if (listed !== before) tell({ kind: 'tools' })
  }
  /** Reads are written down too, but are no news, or a reader who follows the log would never come to rest. */
  const hear = ({ log, snapshots, runs }: ProjectNews): void => {
    if (log) updated.add('handrail://audit')
    if (snapshots) updated.add('handrail://snapshots')
    for (const run of runs) updated.add(`handrail://runs/${run}`)
    due ??= setTimeout(tellAll, log ? burstMs : readsMs).unref()
  }
  gate.onToolsChanged(() => {
    listed = listOf(gate)
    tell({ kind: 'tools' })
  })

  return {
    tell,
    follow(listener) {
      listeners.add(listener)
      if (!stop) {
        stop = gate.onNews(hear)
        listed = listOf(gate)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        stop?.()
        clearTimeout(due)
        stop = due = undefined
      }
    },
  }
}

function listOf(gate: AgentGate): string {
  return gate
    .listed()
    .map((tool) => tool.name)
    .join()
}
