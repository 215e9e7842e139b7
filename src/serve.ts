import type { Runtime } from './contracts/runtime.ts'
import { openPeers } from './host/peer.ts'
import { answer, listen, type Listening } from './surfaces/listen.ts'
import type { OpenFixtures } from './surfaces/mcp/fixtures.ts'
import { mcpHttp } from './surfaces/mcp/http.ts'
import { openMcpContext } from './surfaces/mcp/server.ts'
import { mcpSse } from './surfaces/mcp/sse.ts'
import { approvalPages } from './surfaces/page/approvals.ts'
import { detour, signInPages } from './surfaces/page/sign-in.ts'
import { welcome } from './surfaces/page/welcome.ts'
import { openPersonAuth } from './surfaces/person-auth.ts'

export interface ServeOptions {
  host: string
  port: number
  allowRemote: boolean
  allowOrigins: readonly string[]
}

/** Puts the HTTP surfaces behind the one listener. */
export async function serveHttp(runtime: Runtime, options: ServeOptions, fixtures?: OpenFixtures): Promise<Listening> {
  const mcpContext = openMcpContext(runtime, fixtures)
  const personAuth = openPersonAuth(runtime.token('person').token, (word, until) => runtime.consumeNonce(word, until))
  let url: string | undefined
  let page: string | undefined
  const peers = openPeers()
  const mcp = mcpHttp(mcpContext, () => url, peers)
  const listening = await listen({
    ...options,
    peers,
    requestsPerSecond: runtime.config.limits.requestsPerSecond,
    token: runtime.token().token,
    isPerson: personAuth.isPerson,
    page: { name: personAuth.name, room: personAuth.room, detour },
    routes: {
      '/': welcome,
      '/healthz': {
        for: 'anyone',
        methods: ['GET', 'HEAD'],
        async handle({ response }) {
          const { confined, says } = await runtime.capabilities.confinement()
          // Anybody may ask, so why nothing confines is for `doctor` to say: it may name folders of this user.
          const confinement = { confined, says: confined ? says : 'programs are not confined here; handrail doctor says why' }
          answer(response, 200, { ok: true, name: 'handrail', version: runtime.version, confinement })
        },
      },
      '/mcp': mcp.route,
      ...mcpSse(mcpContext, () => url, peers),
      ...signInPages(personAuth, () => page),
      ...approvalPages(runtime, personAuth),
    },
  })
  ;({ url, page } = listening)
  return {
    ...listening,
    async close() {
      await mcp.close()
      await listening.close()
    },
  }
}
