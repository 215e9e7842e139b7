import type { Operator } from '../contracts/operator.ts'
import { claimPort } from '../host/own-ports.ts'
import { openPeers, programOf } from '../host/peer.ts'
import { sendJson, tells } from '../surfaces/envelope.ts'
import { eventOperation } from '../surfaces/event-feed.ts'
import { gatewayProfile } from '../surfaces/gateway/dialect.ts'
import { gatewayOperations } from '../surfaces/gateway/routes.ts'
import { openGatewaySessions } from '../surfaces/gateway/sessions.ts'
import { listen, type Listening } from '../surfaces/listen.ts'
import type { OpenFixtures } from '../surfaces/mcp/fixtures.ts'
import { metricsOf } from '../surfaces/metrics.ts'
import { mcpHttp } from '../surfaces/mcp/http.ts'
import { openMcpContext } from '../surfaces/mcp/server.ts'
import { mcpSse } from '../surfaces/mcp/sse.ts'
import { openApiOf, routesOf, type Operation } from '../surfaces/operations.ts'
import { approvalPages } from '../surfaces/page/approvals.ts'
import { referencePage } from '../surfaces/page/reference.ts'
import { detour, signInPages } from '../surfaces/page/sign-in.ts'
import { welcome } from '../surfaces/page/welcome.ts'
import { approvalOperations } from '../surfaces/person/approvals.ts'
import { questionOperations } from '../surfaces/person/questions.ts'
import { openPersonAuth } from '../surfaces/person-auth.ts'
import { linkTo } from '../surfaces/page/link.ts'
import { bridgeOf, noteRejectedRequests } from './bridge.ts'

export interface ServeOptions {
  host: string
  port: number
  allowRemote: boolean
  allowOrigins: readonly string[]
  /** Health and numbers, and nothing that anybody could ask for an act. */
  watchOnly?: true
  /** Commands at `/dev` may write source. */
  allowDevWrite?: boolean
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
  const isFine = options.watchOnly ? rarely(() => isWell(operator)) : () => true
  const operations = httpOperations(operator, peers, isFine)
  const mcp = mcpHttp(mcpContext, () => url, peers)
  // It serves more than the bridge: nobody there may end it.
  const bridge = bridgeOf(operator, { peers, write: options.allowDevWrite === true })
  // A worker serves nothing but how it is.
  const watched = {
    ...routesOf(options.watchOnly ? operations.filter(({ id }) => id === 'health') : operations, tells),
    '/metrics': metricsOf(operator),
  }
  const listening = await listen({
    ...options,
    peers,
    requestsPerSecond: operator.config.limits.requestsPerSecond,
    token: operator.token().token,
    onRejected: noteRejectedRequests(operator, 'http'),
    isPerson: personAuth.isPerson,
    isPersonKey: personAuth.isProgramKey,
    page: { name: personAuth.name, basePath: personAuth.basePath, detour },
    routes: options.watchOnly
      ? watched
      : {
          '/': welcome,
          ...watched,
          '/mcp': mcp.route,
          '/dev': bridge.route,
          ...mcpSse(mcpContext, () => url, peers),
          ...signInPages(personAuth, () => page),
          ...approvalPages(() => [operator], personAuth),
        },
  })
  ;({ url, page } = listening)
  const served = { instance: personAuth.instance, url, ...(page !== undefined && { page }) }
  let withdraw: () => void
  let release: () => void
  try {
    // Where nobody signs in, nobody is led.
    withdraw = options.watchOnly ? () => undefined : operator.servedPages.announce(served)
    release = claimPort(listening.port)
  } catch (fault) {
    await listening.close()
    throw fault
  }
  return {
    ...listening,
    signInLink: linkTo(operator, served),
    async close() {
      withdraw()
      release()
      await bridge.close()
      await mcp.close()
      await listening.close()
    },
  }
}

/** Whether the store that machines share answers, and this process counts as alive there. */
async function isWell(operator: Operator): Promise<boolean> {
  try {
    const view = await operator.cluster()
    return view?.workers.some(({ pid, here, alive }) => here && pid === process.pid && alive) === true
  } catch {
    return false
  }
}

/** Anybody may ask, as often as they like: an answer is good for a second, and one question is on its way at a time. */
export function rarely<T>(ask: () => Promise<T>, forMs = 1_000): () => Promise<T> {
  let answer: Promise<T> | undefined
  let until = -Infinity
  return () => {
    if (answer && performance.now() < until) return answer
    until = Infinity
    answer = ask().finally(() => (until = performance.now() + forMs))
    return answer
  }
}

/** Everything over plain HTTP, as one list: routes, document and page are made of it. */
function httpOperations(
  operator: Operator,
  peers: ReturnType<typeof openPeers>,
  isFine: () => boolean | Promise<boolean>,
): Operation[] {
  const gate = operator.gateFor(gatewayProfile)
  // Of a process it can be seen; an address stays what it is.
  const isOver = (peer: string): boolean => peer.startsWith('process ') && programOf(peer) === undefined
  const sessions = openGatewaySessions(isOver)
  const operations: Operation[] = [
    ...gatewayOperations({
      gate,
      sessions,
      chats: operator.chats,
      forms: operator.forms,
      peers,
      agent: { take: async (turn, tell, signal) => (await operator.agent(gate)).taker.take(turn, tell, signal) },
      hasModel: () => operator.config.agent.provider !== 'none',
    }),
    ...approvalOperations(operator),
    ...questionOperations(operator),
    eventOperation(
      {
        all: operator.audit.subscribe,
        own(speaker, peer) {
          const session = sessions.of(speaker, peer)
          return (wanted, listener) => gate.events(session, wanted, listener)
        },
      },
      peers,
    ),
    {
      id: 'health',
      method: 'GET',
      path: '/healthz',
      for: 'anyone',
      tag: 'server',
      summary: 'Whether it runs, which version, and whether programs are confined',
      answers: { 200: { says: 'It runs.', schema: { type: 'object' } } },
      async handle({ response }) {
        const { confined, says } = await operator.capabilities.confinement()
        // Anybody may ask, so why nothing confines is for `doctor` to say: it may name folders of this user.
        const confinement = { confined, says: confined ? says : 'programs are not confined here; handrail doctor says why' }
        const ok = await isFine()
        sendJson(response, ok ? 200 : 503, { ok, name: 'handrail', version: operator.version, confinement })
      },
    },
    {
      id: 'openApi',
      method: 'GET',
      path: '/openapi.json',
      for: 'anyone',
      tag: 'server',
      summary: 'This document',
      answers: { 200: { says: 'OpenAPI 3.1.', schema: { type: 'object' } } },
      handle: ({ response }) => sendJson(response, 200, document()),
    },
    {
      id: 'reference',
      method: 'GET',
      path: '/reference',
      for: 'anyone',
      shows: 'document',
      tag: 'server',
      summary: 'This document as a page to read',
      answers: { 200: { says: 'The page.', html: true } },
      handle: ({ response }) => page(response),
    },
  ]
  const page = referencePage(operations)
  let text: string | undefined
  const document = (): string => (text ??= JSON.stringify(openApi(operations)))
  return operations
}

/** The document of all operations, as it is served and as it is published with the contracts. */
function openApi(operations: readonly Operation[]): object {
  return openApiOf(operations, {
    title: 'Handrail over HTTP',
    version: '1.0.0',
    description:
      'Agents act through POST /agent/process, the person answers at /api/approvals and /api/questions. Errors are {"error":{"code","message","details"}}; every answer has an X-Request-Id.',
  })
}

/** The same without a server: it is made of what operations say of themselves, and nothing of what they are made with is used. */
export function gatewayDocument(): object {
  const unused = new Proxy({}, { get: () => () => undefined }) as never
  return openApi(httpOperations(unused, unused, () => true))
}
