import { randomBytes } from 'node:crypto'
import { Readable, Writable } from 'node:stream'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { TurnTaker } from '../../contracts/turn.ts'
import { oneLine } from '../../text/printable.ts'
import { logFault } from '../log-fault.ts'
import { said, wordsOf } from './dialect.ts'
import { agent, methods, ndJsonStream, RequestError, type AgentContext, type SessionUpdate } from './sdk.ts'
import { AcpSession, modes, type Mode } from './session.ts'

/** What serves an editor: a gate, forms, and whoever answers. */
export interface AcpParts {
  gate: AgentGate
  forms: ClientForms
  project: string
  taker: TurnTaker
  /** What was said in a conversation that is kept; nothing where there is none. Without: conversations cannot be taken up again. */
  history?: (session: string) => readonly { role: 'user' | 'assistant'; text: string }[] | undefined
  /** What a conversation took so far, of what there is. */
  usage?: (session: string) => { used: number; size: number } | undefined
}

const mostSessions = 100

/** Serves the Agent Client Protocol on a pair of streams until the first of them ends. */
export async function serveAcp(
  parts: AcpParts,
  input: Readable = process.stdin,
  output: Writable = process.stdout,
): Promise<void> {
  const { gate, forms, project, taker, history, usage } = parts
  const sessions = new Map<string, AcpSession>()
  let name = 'unknown/?'

  const open = (sessionId: string): AcpSession => {
    const caller: AgentCaller = { surface: 'acp', client: name, session: sessionId, role: 'agent' }
    gate.openSession({ id: sessionId, surface: 'acp', client: name })
    const session = new AcpSession({ sessionId, caller, project, taker, forms })
    sessions.set(sessionId, session)
    if (sessions.size > mostSessions) {
      const idle = [...sessions].find(([, one]) => !one.busy)?.[0]
      if (idle !== undefined) sessions.delete(idle)
    }
    return session
  }
  const known = (sessionId: string): AcpSession => {
    const session = sessions.get(sessionId)
    if (!session) throw RequestError.resourceNotFound(sessionId.slice(0, 100))
    return session
  }
  const modesOf = ({ mode }: AcpSession) => ({
    currentModeId: mode,
    availableModes: Object.entries(modes).map(([id, description]) => ({ id, name: id, description })),
  })
  /** After the answer: some clients hang where it comes before. */
  const afterwards = (client: AgentContext, sessionId: string, notices: readonly string[]): void =>
    void setImmediate(() => {
      const tell = (update: SessionUpdate): void =>
        void client.notify(methods.client.session.update, { sessionId, update }).catch(() => undefined)
      tell({ sessionUpdate: 'available_commands_update', availableCommands: [...commands] })
      for (const notice of notices) tell(said(`${notice}\n\n`))
    })
  const noticesFor = (servers: readonly unknown[]): string[] => [
    ...(gate.notice === undefined ? [] : [gate.notice]),
    ...(servers.length === 0 ? [] : [noServers]),
  ]

  const connection = agent({ name: 'handrail' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      const { name: given = 'unknown', version = '?' } = params.clientInfo ?? {}
      name = oneLine(`${given}/${version}`, 120)
      return {
        protocolVersion: 1,
        agentInfo: { name: 'handrail', title: 'Handrail', version: gate.version },
        agentCapabilities: { loadSession: history !== undefined, promptCapabilities: { embeddedContext: true } },
        authMethods: [],
      }
    })
    .onRequest(methods.agent.session.new, ({ params, client }) => {
      mustBeHere(params.cwd, project)
      const sessionId = `sess_${randomBytes(16).toString('hex')}`
      const session = open(sessionId)
      afterwards(client, sessionId, noticesFor(params.mcpServers))
      return { sessionId, modes: modesOf(session) }
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      const { sessionId } = params
      mustBeHere(params.cwd, project)
      const before = /^sess_[0-9a-f]{32}$/.test(sessionId) ? history?.(sessionId) : undefined
      if (!before) throw RequestError.resourceNotFound(sessionId.slice(0, 100))
      const session = sessions.get(sessionId) ?? open(sessionId)
      for (const { role, text } of before) {
        const sessionUpdate = role === 'user' ? ('user_message_chunk' as const) : ('agent_message_chunk' as const)
        await client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate, content: { type: 'text', text } },
        })
      }
      afterwards(client, sessionId, noticesFor(params.mcpServers))
      return { modes: modesOf(session) }
    })
    .onRequest(methods.agent.session.setMode, ({ params }) => {
      if (!Object.hasOwn(modes, params.modeId)) throw RequestError.invalidParams({ modeId: 'unknown' })
      known(params.sessionId).mode = params.modeId as Mode
      return {}
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const { sessionId } = params
      const session = known(sessionId)
      if (session.busy) throw RequestError.invalidRequest({ reason: 'a prompt of this session is not answered yet' })
      const { mode, text } = commandIn(wordsOf(params.prompt), session.mode)
      try {
        const stopReason = await session.prompt(client, text, mode)
        const used = usage?.(sessionId)
        if (used)
          await client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate: 'usage_update', ...used } })
        return { stopReason }
      } catch (fault) {
        // The SDK would send the words of any fault; they may be anybody's.
        logFault('handrail: acp:', fault)
        throw RequestError.internalError({ reason: 'Handrail met an unexpected fault; its messages say more' })
      }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
    .connect(
      ndJsonStream(Writable.toWeb(output) as WritableStream<Uint8Array>, Readable.toWeb(input) as ReadableStream<Uint8Array>),
    )
  await connection.closed
  for (const session of sessions.values()) session.cancel()
}

const commands = [
  { name: 'plan', description: 'Only look, and end in a plan', input: { hint: 'what to plan' } },
  { name: 'act', description: 'Do it', input: { hint: 'what to do' } },
  { name: 'answer', description: 'Answer, and touch nothing', input: { hint: 'a question' } },
] as const

function commandIn(text: string, mode: Mode): { mode: Mode; text: string } {
  const [, command, rest = ''] = /^\/(plan|act|answer)(?:\s+([^]*))?$/.exec(text.trim()) ?? []
  return command === undefined ? { mode, text } : { mode: command as Mode, text: rest }
}

const noServers =
  'The MCP servers that your editor names for this conversation are not started: Handrail reaches only those that you mounted yourself (the setting mounts).'

/** One process serves one project: what an editor has open elsewhere is not this one's. */
function mustBeHere(cwd: string, project: string): void {
  if (cwd === project || cwd.startsWith(`${project}/`)) return
  throw RequestError.invalidParams({ cwd: `This Handrail serves ${project}. Start another with --project.` })
}
