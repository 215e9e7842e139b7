import { randomBytes } from 'node:crypto'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { Tool } from '../../contracts/tool.ts'
import { openCaller, createToolCallHandler, type ToolCallHandler, type ToolCall, type Connection } from './tool-calls.ts'
import { elicitationSupportOf, type ElicitationAnswer, type Pending, type Elicitation } from './elicitation.ts'
import { CallServer } from './call-server.ts'
import { describeTool, icons, instructions } from './dialect.ts'
import { openFeed, type Feed } from './feed.ts'
import type { OpenFixtures } from './fixtures.ts'
import { openProgress } from './progress.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { acceptedIn, hasTasks, refusalIn, openTasks, tasksExtension, taskTool, type Asker, type TaskViews } from './tasks.ts'
import { serveLegacyTasks, serveTasks } from './task-requests.ts'
import { fillTemplate, listResources, listTemplates, readResource } from './resources.ts'
import { traceparentOf } from '../../text/traceparent.ts'

/** What all connections of one process share. */
export interface McpContext {
  gate: AgentGate
  forms: ClientForms
  feed: Feed
  tasks: TaskViews
  /** Seals what goes through a client's hands. The key lives and dies with this process. */
  seal: ReturnType<typeof createRequestStateCodec<Pending>>
  /** Only on the conformance suite's own server. */
  openFixtures?: OpenFixtures | undefined
}

export function openMcpContext(gate: AgentGate, forms: ClientForms, openFixtures?: OpenFixtures): McpContext {
  const feed = openFeed(gate)
  return {
    gate,
    forms,
    feed,
    tasks: openTasks(gate, feed),
    seal: createRequestStateCodec<Pending>({ key: randomBytes(32), ttlSeconds: 900 }),
    openFixtures,
  }
}

/** One connection: who calls, and how calls are answered. */
export interface ConnectionContext {
  answer: ToolCallHandler
  caller: (client: ToolCall['client']) => AgentCaller
}

export function openConnectionContext({ gate, forms }: McpContext, connection: Connection): ConnectionContext {
  const caller = openCaller(gate, connection)
  return { answer: createToolCallHandler({ gate, forms }, connection, caller), caller }
}

/** One MCP server at the gate. It lives for one request (2026 over HTTP) or one connection. */
export function createServer(
  mcpContext: McpContext,
  connection: ConnectionContext,
  era: 'legacy' | 'modern',
  lasting: boolean,
): CallServer {
  const { gate, seal, tasks } = mcpContext
  const server = new CallServer(
    { name: 'handrail', title: 'Handrail', version: gate.version, icons: icons.handrail },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: false },
        prompts: { listChanged: mcpContext.openFixtures !== undefined },
        completions: {},
        logging: {},
        ...(era === 'modern'
          ? { extensions: { [tasksExtension]: {} } }
          : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
      },
      instructions,
      requestState: { verify: seal.verify },
    },
  )
  const subscribed = new Set<string>()
  if (lasting && era === 'legacy')
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to hear of it
    server.oninitialized = () => {
      const data = gate.notice
      if (data !== undefined)
        void server.sendLoggingMessage({ level: 'warning', logger: 'handrail', data }).catch(() => undefined)
    }
  const fixtures = mcpContext.openFixtures?.({ server, notify: announcer(mcpContext.feed), state: seal as never })
  if (era === 'legacy')
    server.answerCalls(mcpContext, connection.answer, new Set(fixtures?.tools.map(({ name }) => name)), (answer, call) => {
      const accepted = acceptedIn(answer)
      if (accepted === undefined) throw refusalIn(answer)
      return tasks.legacy.created(accepted, { caller: connection.caller(call.client), signal: call.signal })
    })
  const client = (context: ServerContext): ToolCall['client'] => clientOf(server, context)

  const asker = (context: ServerContext): Asker => ({ caller: connection.caller(client(context)), signal: context.mcpReq.signal })

  server.setRequestHandler('tools/list', async () => {
    if (gate.wraps) await gate.mountsKnown()
    const offered = gate.listed().filter(({ definition }) => definition === undefined || gate.wraps)
    return { tools: [...offered.map((tool) => listedIn(era, tool)), ...(fixtures?.tools ?? [])] } as never
  })
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: input = {} } = request.params
    const fixture = fixtures?.call(name, input, context)
    if (fixture) return (await fixture) as never
    const call: ToolCall = {
      name,
      input,
      client: client(context),
      elicitation: elicitationSupportOf(capabilitiesOf(server, context)),
      signal: context.mcpReq.signal,
      progress: progressOf(context),
      traceparent: traceparentOf(context.mcpReq._meta?.['traceparent']),
      answered: answeredIn(context),
    }
    const reply = await connection.answer.reply(call)
    const accepted =
      'result' in reply && name === taskTool && hasTasks(capabilitiesOf(server, context)) && acceptedIn(reply.result)
    if (accepted) return (await tasks.modern.created(accepted, asker(context))) as never
    return ('result' in reply ? reply.result : await toInputRequired(reply.question, seal, context)) as never
  })

  server.setRequestHandler(
    'resources/list',
    async () => ({ resources: [...(await listResources(gate)), ...(fixtures?.resources ?? [])] }) as never,
  )
  server.setRequestHandler(
    'resources/templates/list',
    () => ({ resourceTemplates: [...listTemplates(gate), ...(fixtures?.templates ?? [])] }) as never,
  )
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const fixture = fixtures?.read(uri)
    return (fixture ?? (await readResource(gate, uri, connection.caller(client(context)), context.mcpReq.signal))) as never
  })
  server.setRequestHandler(
    'prompts/list',
    async () => ({ prompts: [...(await listPrompts(gate)), ...(fixtures?.prompts ?? [])] }) as never,
  )
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: given = {} } }, context) => {
    const fixture = await fixtures?.prompt(name, given, context)
    return (fixture ?? (await getPrompt(gate, name, given, connection.caller(client(context)), context.mcpReq.signal))) as never
  })
  server.setRequestHandler('completion/complete', async ({ params }, context) => {
    const fixture = fixtures?.complete(params)
    return (fixture ?? { completion: await complete(mcpContext, connection, params, client(context)) }) as never
  })
  if (era === 'legacy') serveLegacyTasks(server, tasks.legacy, asker)
  else serveTasks(server, tasks.modern, asker)
  if (era === 'legacy') {
    server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
      if (uri.length > 1_000) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The address is too long')
      if (subscribed.size >= 100) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Too many subscriptions')
      subscribed.add(uri)
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      subscribed.delete(uri)
      return {}
    })
  }
  if (lasting) {
    const stop = mcpContext.feed.follow((news) => {
      const sending =
        news.kind === 'tools'
          ? server.sendToolListChanged()
          : news.kind === 'prompts'
            ? server.sendPromptListChanged()
            : era === 'modern' || subscribed.has(news.uri)
              ? server.sendResourceUpdated({ uri: news.uri })
              : undefined
      void sending?.catch(() => undefined)
    })
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to hear of it
    server.onclose = stop
  }
  return server
}

/** What a list says of a tool; since 2026 it no longer says there which calls may become tasks. */
function listedIn(era: 'legacy' | 'modern', tool: Tool): Record<string, unknown> {
  const said = describeTool(tool)
  return era === 'legacy' && tool.name === taskTool ? { ...said, execution: { taskSupport: 'optional' } } : said
}

/** Suggestions for what a person types into a prompt or a resource address. */
async function complete(
  { gate }: McpContext,
  connection: ConnectionContext,
  { ref, argument }: { ref: { type: string; uri?: string; name?: string }; argument: { name: string; value: string } },
  client: ToolCall['client'],
): Promise<object> {
  const all =
    ref.type === 'ref/resource'
      ? fillTemplate(gate, ref.uri ?? '', argument.value)
      : argument.name === 'path'
        ? await pathsFrom(gate, connection.caller(client), argument.value)
        : []
  return { values: all.slice(0, 100), total: all.length, hasMore: all.length > 100 }
}

/** Names in the folder that was typed so far. */
async function pathsFrom(gate: AgentGate, caller: AgentCaller, typed: string): Promise<string[]> {
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1)
  try {
    const { output } = await gate.call('list_files', { path: folder || '.' }, caller)
    const { entries } = output as { entries: string[] }
    return entries.map((entry) => `${folder}${entry}`).filter((path) => path.startsWith(typed))
  } catch {
    return []
  }
}

async function toInputRequired(
  { params, state }: Elicitation,
  seal: McpContext['seal'],
  context: ServerContext,
): Promise<object> {
  const { mode: _, elicitationId: __, ...rest } = params
  const ask = state.mode === 'url' ? inputRequired.elicitUrl(rest as never) : inputRequired.elicit(rest as never)
  return inputRequired({ inputRequests: { person: ask }, requestState: await seal.mint(state, context) })
}

/** What a retried call brings back; the seal has been checked before we get here. */
function answeredIn({ mcpReq }: ServerContext): ElicitationAnswer | undefined {
  const state = mcpReq.requestState() as Pending | undefined
  if (state === undefined) return undefined
  const said = inputResponse(mcpReq.inputResponses, 'person')
  return said.kind === 'elicit' ? { state, action: said.action, content: said.content } : { state, action: 'none' }
}

function announcer({ tell }: Feed): Parameters<OpenFixtures>[0]['notify'] {
  return {
    toolsChanged: () => tell({ kind: 'tools' }),
    promptsChanged: () => tell({ kind: 'prompts' }),
    resourceUpdated: (uri) => tell({ kind: 'resource', uri }),
  }
}

function clientOf(server: Server, context: ServerContext): ToolCall['client'] {
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
  return (envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion()) as ToolCall['client']
}

function capabilitiesOf(server: Server, context: ServerContext): unknown {
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
  return envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
}

function progressOf(context: ServerContext): ToolCall['progress'] {
  const token = context.mcpReq._meta?.progressToken
  if (token === undefined) return undefined
  return openProgress(
    (params) =>
      void context.mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken: token, ...params } as never })
        .catch(() => undefined),
  )
}
