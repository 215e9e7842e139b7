import type { Runtime } from './contracts/runtime.ts'
import { openPeers } from './host/peer.ts'
import { answer, listen, type Listening } from './surfaces/listen.ts'
import type { OpenFixtures } from './surfaces/mcp/fixtures.ts'
import { mcpHttp } from './surfaces/mcp/http.ts'
import { openHouse } from './surfaces/mcp/server.ts'
import { mcpSse } from './surfaces/mcp/sse.ts'
import { approvalPages } from './surfaces/page/approvals.ts'
import { detour, signInPages } from './surfaces/page/sign-in.ts'
import { welcome } from './surfaces/page/welcome.ts'
import { openDoorman } from './surfaces/person.ts'

export interface ServeOptions {
  host: string
  port: number
  allowRemote: boolean
  allowOrigins: readonly string[]
}

/** Puts the HTTP surfaces behind the one listener. */
export async function serveHttp(runtime: Runtime, options: ServeOptions, fixtures?: OpenFixtures): Promise<Listening> {
  const house = openHouse(runtime, fixtures)
  const doorman = openDoorman(runtime.token('person').token, (word, until) => runtime.spend(word, until))
  let url: string | undefined
  let page: string | undefined
  const peers = openPeers()
  const mcp = mcpHttp(house, () => url, peers)
  const listening = await listen({
    ...options,
    peers,
    requestsPerSecond: runtime.config.limits.requestsPerSecond,
    token: runtime.token().token,
    isPerson: doorman.isPerson,
    page: { name: doorman.name, room: doorman.room, detour },
    routes: {
      '/': welcome,
      '/healthz': {
        for: 'anyone',
        methods: ['GET', 'HEAD'],
        async visit({ response }) {
          const { confined, says } = await runtime.means.confinement()
          // Anybody may ask, so why nothing confines is for `doctor` to say: it may name folders of this user.
          const confinement = { confined, says: confined ? says : 'programs are not confined here; handrail doctor says why' }
          answer(response, 200, { ok: true, name: 'handrail', version: runtime.version, confinement })
        },
      },
      '/mcp': mcp.route,
      ...mcpSse(house, () => url, peers),
      ...signInPages(doorman, () => page),
      ...approvalPages(runtime, doorman),
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
