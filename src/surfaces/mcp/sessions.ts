import { WebStandardStreamableHTTPServerTransport, type Server } from '@modelcontextprotocol/server'
import { Refusal } from '../../contracts/refusal.ts'

/** Sessions of clients from before 2026. */
export interface Sessions {
  begin(id: string, peer: () => Promise<string>): Promise<WebStandardStreamableHTTPServerTransport>
  find(id: string | null): WebStandardStreamableHTTPServerTransport | undefined
  end(id: string): Promise<void>
  close(): Promise<void>
}

interface Session {
  transport: WebStandardStreamableHTTPServerTransport
  server: Server
  usedAt: number
}

const mostSessions = 100
const idleMs = 60 * 60_000

export function openSessions(serve: (id: string, peer: string) => Server): Sessions {
  const sessions = new Map<string, Session>()
  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id)
    sessions.delete(id)
    await session?.server.close().catch(() => undefined)
  }
  /** The ones that were not used for long go; where there are still too many, the one that waited longest, if it waited at all. */
  const makeRoom = async (): Promise<void> => {
    const now = Date.now()
    const oldest = [...sessions].toSorted(([, one], [, other]) => one.usedAt - other.usedAt)
    for (const [id, { usedAt }] of oldest) if (now - usedAt > idleMs) await end(id)
    const [id, { usedAt }] = oldest[0] ?? ['', { usedAt: now }]
    if (sessions.size >= mostSessions && now - usedAt > 60_000) await end(id)
    mustHaveRoom()
  }
  const mustHaveRoom = (): void => {
    if (sessions.size >= mostSessions) throw new Refusal(503, 'Too many sessions are open; end one, or wait a minute.')
  }
  return {
    async begin(id, peer) {
      const whose = await peer()
      await makeRoom()
      // Others may have come in the same moment: from here to its place in the list nothing is waited for.
      mustHaveRoom()
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        onsessionclosed: (closed) => end(closed),
      })
      const server = serve(id, whose)
      sessions.set(id, { transport, server, usedAt: Date.now() })
      await server.connect(transport)
      return transport
    },
    end,
    find(id) {
      const session = sessions.get(id ?? '')
      if (session) session.usedAt = Date.now()
      return session?.transport
    },
    async close() {
      await Promise.all([...sessions.keys()].map(end))
    },
  }
}
