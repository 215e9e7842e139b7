import type { Operator } from '../contracts/operator.ts'
import { openPeers } from '../host/peer.ts'
import { answer, listen, type Listening } from '../surfaces/listen.ts'
import type { OpenFixtures } from '../surfaces/mcp/fixtures.ts'
import { mcpHttp } from '../surfaces/mcp/http.ts'
import { openMcpContext } from '../surfaces/mcp/server.ts'
import { mcpSse } from '../surfaces/mcp/sse.ts'
import { approvalPages } from '../surfaces/page/approvals.ts'
import { detour, signInPages } from '../surfaces/page/sign-in.ts'
import { welcome } from '../surfaces/page/welcome.ts'
import { openPersonAuth } from '../surfaces/person-auth.ts'
import { linkTo } from '../surfaces/page/link.ts'

export interface ServeOptions {
  host: string
  port: number
  allowRemote: boolean
  allowOrigins: readonly string[]
}

/** Puts the HTTP surfaces behind the one listener: those for agents get the gate, those for the person get it all. */
export async function serveHttp(
  operator: Operator,
  options: ServeOptions,
  fixtures?: OpenFixtures,
): Promise<Listening & { signInLink: string }> {
  const mcpContext = openMcpContext(operator.gate, operator.forms, fixtures)
  const personAuth = openPersonAuth(operator.token('person').token, (word, until) => operator.consumeNonce(word, until))
  let url: string | undefined
  let page: string | undefined
  const peers = openPeers()
  const mcp = mcpHttp(mcpContext, () => url, peers)
  const listening = await listen({
    ...options,
    peers,
    requestsPerSecond: operator.config.limits.requestsPerSecond,
    token: operator.token().token,
    isPerson: personAuth.isPerson,
    page: { name: personAuth.name, room: personAuth.room, detour },
    routes: {
      '/': welcome,
      '/healthz': {
        for: 'anyone',
        methods: ['GET', 'HEAD'],
        async handle({ response }) {
          const { confined, says } = await operator.capabilities.confinement()
          // Anybody may ask, so why nothing confines is for `doctor` to say: it may name folders of this user.
          const confinement = { confined, says: confined ? says : 'programs are not confined here; handrail doctor says why' }
          answer(response, 200, { ok: true, name: 'handrail', version: operator.version, confinement })
        },
      },
      '/mcp': mcp.route,
      ...mcpSse(mcpContext, () => url, peers),
      ...signInPages(personAuth, () => page),
      ...approvalPages(operator, personAuth),
    },
  })
  ;({ url, page } = listening)
  const served = { instance: personAuth.instance, url, ...(page !== undefined && { page }) }
  const withdraw = operator.servedPages.announce(served)
  return {
    ...listening,
    signInLink: linkTo(operator, served),
    async close() {
      withdraw()
      await mcp.close()
      await listening.close()
    },
  }
}
