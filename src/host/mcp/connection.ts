import { Fault } from '../../contracts/faults/fault.ts'
import type { Definition } from '../../contracts/mounts.ts'
import { version } from '../../version.ts'
import type { StdioServer, StdioServerProgram } from '../stage/stdio-servers.ts'
import { boundedFetch } from './http-fetch.ts'
import { LineTransport } from './line-transport.ts'
import type * as Sdk from './sdk.ts'
import { without } from './sign-in-words.ts'

/** A server to be reached: its program, or its address with what signs in there. */
export type MountTarget = ({ program: StdioServerProgram } | { url: string; headers: Readonly<Record<string, string>> }) & {
  /** What it signs in with, which is never handed on from its answers. */
  untold: readonly string[]
}

/** What came of a call, as the server answered it. */
export interface MountAnswer {
  content: readonly Record<string, unknown>[]
  structuredContent?: unknown
  isError?: boolean
}

/** A connection to one mounted server. */
export interface MountConnection {
  /** Its definitions as they are now, every field of them. */
  list(): Promise<Definition[]>
  call(
    tool: string,
    input: Record<string, unknown>,
    how: { signal: AbortSignal; onProgress: (done: number, total: number | undefined, says: string | undefined) => void },
  ): Promise<MountAnswer>
  /** Why it is over; nothing while it is not. */
  over(): string | undefined
  close(): Promise<void>
}

const connectMs = 30_000
/** The kernel's deadline comes before. */
const callMs = 3_600_000
const mostPages = 20

/** Nothing of a server's schemas is compiled here. */
const anything = { getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }) as never }

export async function connectMount(
  name: string,
  target: MountTarget,
  open: (program: StdioServerProgram, onOutput: (chunk: Buffer) => void) => Promise<StdioServer>,
  onListChanged: () => void,
  closing: AbortSignal,
): Promise<MountConnection> {
  const sdk = await import('./sdk.ts')
  const attempt = async (mode: 'legacy' | 'auto' | { pin: string }): Promise<MountConnection> => {
    const transport: Sdk.Transport =
      'program' in target
        ? new LineTransport((onOutput) => open(target.program, onOutput))
        : new sdk.StreamableHTTPClientTransport(new URL(target.url), {
            requestInit: { headers: { ...target.headers } },
            fetch: boundedFetch(new URL(target.url).origin),
          })
    return connected(sdk, name, transport, mode, onListChanged, closing, target.untold)
  }
  // Some programs end at whatever comes before `initialize`; an address can be asked which revision it speaks.
  if (!('program' in target)) return attempt('auto')
  try {
    return await attempt('legacy')
  } catch (fault) {
    if (!(fault instanceof Refused)) throw fault
    return attempt({ pin: '2026-07-28' })
  }
}

/** It answered, and does not speak the older revisions. */
class Refused extends Fault {}

async function connected(
  sdk: typeof Sdk,
  name: string,
  transport: Sdk.Transport,
  mode: 'legacy' | 'auto' | { pin: string },
  onListChanged: () => void,
  closing: AbortSignal,
  untold: readonly string[],
): Promise<MountConnection> {
  const client = new sdk.Client(
    { name: 'handrail', version },
    {
      capabilities: {},
      versionNegotiation: { mode, probe: { timeoutMs: 10_000 } },
      jsonSchemaValidator: anything,
      listMaxPages: mostPages,
      listChanged: { tools: { autoRefresh: false, onChanged: () => onListChanged() } },
    },
  )
  let closedFor: string | undefined
  const lines = transport instanceof LineTransport ? transport : undefined
  const over = (): string | undefined => lines?.why ?? closedFor
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to hear of it
  client.onclose = () => (closedFor ??= 'the connection was closed')
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- what one message is wrong in is no news
  client.onerror = () => undefined
  client.fallbackRequestHandler = ({ method }) =>
    Promise.reject(new sdk.ProtocolError(sdk.ProtocolErrorCode.MethodNotFound, noQuestions(method)))
  const asFault = (thrown: unknown, what: string): Fault => {
    if (thrown instanceof Fault) return thrown
    const { message = '', code, status } = thrown as { message?: string; code?: unknown; status?: number }
    if (closing.aborted) return failed('Handrail is closing')
    const ended = over()
    if (ended !== undefined)
      return failed(`The MCP server ${name} is gone: ${ended}`, 'It is started again at the next call of one of its tools.')
    if (code === sdk.SdkErrorCode.RequestTimeout)
      return new Fault('timeout', `The MCP server ${name} did not answer ${what} in time`)
    const told = status === undefined ? message : `HTTP ${status} ${message}`
    return failed(`The MCP server ${name} answered ${what} with an error: ${without(untold, told).slice(0, 2_000)}`)
  }
  try {
    await client.connect(transport, { timeout: connectMs, signal: closing })
  } catch (thrown) {
    const fault = asFault(thrown, 'the greeting')
    const refused = lines && over() === undefined && typeof (thrown as { code?: unknown }).code === 'number'
    await transport.close()
    throw refused ? new Refused(fault.reason, fault.message) : fault
  }
  const raw = listen(transport)
  return {
    over,
    async list() {
      const done = raw.begin()
      try {
        await client.listTools({}, { cacheMode: 'bypass', timeout: connectMs, signal: closing })
        return raw.heard()
      } catch (thrown) {
        throw asFault(thrown, 'tools/list')
      } finally {
        done()
      }
    },
    async call(tool, input, { signal, onProgress }) {
      try {
        const answer = (await client.callTool(
          { name: tool, arguments: input },
          {
            signal,
            timeout: callMs,
            onprogress: ({ progress, total, message }) => onProgress(progress, total, without(untold, message)),
          },
        )) as MountAnswer
        return without(untold, answer)
      } catch (thrown) {
        signal.throwIfAborted()
        throw asFault(thrown, tool)
      }
    },
    async close() {
      await client.close().catch(() => undefined)
      await transport.close()
    },
  }
}

/** The SDK leaves out what it does not know, and a digest must not: the answers to `tools/list` are taken as they come. */
function listen(transport: Sdk.Transport): { begin(): () => void; heard(): Definition[] } {
  const asked = new Set<unknown>()
  let listening = false
  let tools: Definition[] = []
  const send = transport.send.bind(transport)
  const { onmessage } = transport
  transport.send = (message, options) => {
    if (listening && 'method' in message && message.method === 'tools/list' && 'id' in message) asked.add(message.id)
    return send(message, options)
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to hear of it
  transport.onmessage = (message, extra) => {
    if ('result' in message && asked.delete(message.id)) {
      const { tools: found } = message.result as { tools?: unknown }
      if (Array.isArray(found)) tools.push(...(structuredClone(found) as Definition[]))
    }
    onmessage?.(message, extra)
  }
  return {
    begin() {
      listening = true
      tools = []
      return () => {
        listening = false
        asked.clear()
      }
    },
    heard: () => tools,
  }
}

/** A server has no say in what a person is shown, and no use of the person's model. */
const noQuestions = (method: string): string =>
  `Handrail lets no mounted server ask: ${method.slice(0, 100)} is not offered. Answer with what you have, or with an error that says what is missing.`

export const failed = (message: string, hint?: string): Fault =>
  new Fault('mount-failed', message, hint === undefined ? {} : { hint })
