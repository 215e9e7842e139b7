import type { Server } from '@modelcontextprotocol/server'
import { Refusal } from '../../contracts/refusal.ts'
import { chooseVictim, type SlotHolder } from '../../text/eviction.ts'
import { SessionTransport } from './session-transport.ts'

/** Sessions of clients from before 2026. */
export interface Sessions {
  begin(id: string, peer: () => Promise<string>): Promise<SessionTransport>
  find(id: string | null): SessionTransport | undefined
  end(id: string): Promise<void>
  close(): Promise<void>
}

interface Session extends SlotHolder {
  id: string
  transport: SessionTransport
  server: Server
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
  /** The ones that were not used for long go; where there are still too many, one of whoever has most, or one that waited a while. */
  const makeRoom = async (peer: string): Promise<void> => {
    const now = Date.now()
    for (const { id, usedAt } of sessions.values()) if (now - usedAt > idleMs) await end(id)
    if (sessions.size < mostSessions) return
    const oldest = [...sessions.values()].reduce((one, other) => (other.usedAt < one.usedAt ? other : one))
    const victim = chooseVictim(sessions.values(), peer) ?? (now - oldest.usedAt > 60_000 ? oldest : undefined)
    if (victim) await end(victim.id)
  }
  const mustHaveRoom = (): void => {
    if (sessions.size >= mostSessions) throw new Refusal(503, 'Too many sessions are open; end one, or wait a minute.')
  }
  return {
    async begin(id, peer) {
      const whose = await peer()
      await makeRoom(whose)
      // Others may have come in the same moment: from here to its place in the list nothing is waited for.
      mustHaveRoom()
      const transport = new SessionTransport({
        sessionIdGenerator: () => id,
        onsessionclosed: (closed) => end(closed),
      })
      const server = serve(id, whose)
      sessions.set(id, { id, peer: whose, transport, server, usedAt: Date.now() })
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
