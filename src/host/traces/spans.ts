import { createHash } from 'node:crypto'
import type { AuditEntry } from '../../contracts/audit.ts'

/** The conventions that names and attributes follow, pinned: none of those for GenAI and MCP is stable yet. */
export const conventions = 'https://opentelemetry.io/schemas/1.41.0'

export type Attribute = string | number | boolean

/** A span as OTLP/JSON has it. */
export interface Span {
  traceId: string
  spanId: string
  /** In the caller's own trace, where it gave one. */
  parentSpanId?: string
  name: string
  kind: 1 | 2 | 3
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
  events?: { timeUnixNano: string; name: string; attributes: [] }[]
  status: { code: 0 | 1 | 2 }
}

const [internal, server, client] = [1, 2, 3] as const
const [unset, failed] = [0, 2] as const

/** So many calls and runs are waited for; of more the oldest begin when they end. */
const mostOpen = 2_000
const mostEvents = 16

/** One request to a model, without a word of it. */
export interface ModelSpan {
  startedAt: number
  endedAt: number
  provider: string
  model: string
  endpoint: string
  tokens?: { input: number; output: number } | undefined
  end?: string | undefined
  failure?: string | undefined
}

/**
 * Makes spans of what is written to the log: a call from its start to its end, a run from when it is taken in hand. They say which tool, how risky,
 * how it ended and how long it took; no input, output, path, name of a client or message is in them.
 */
export function openSpans(): { of(entry: AuditEntry & { at?: string }): Span | undefined; ofModel(asked: ModelSpan): Span } {
  const open = new Map<string, { at: number; events: { at: number; name: string }[]; template?: string }>()
  const begin = (id: string, at: number, template?: string): void => {
    if (open.has(id)) return
    for (const oldest of open.keys()) {
      if (open.size < mostOpen) break
      open.delete(oldest)
    }
    open.set(id, { at, events: [], ...(template !== undefined && { template }) })
  }
  const end = (id: string, at: number, ms = 0): Open => {
    const known = open.get(id)
    open.delete(id)
    return { startedAt: known?.at ?? at - ms, events: known?.events ?? [], template: known?.template }
  }
  return {
    of(entry) {
      const at = Date.parse(entry.at ?? '')
      if (Number.isNaN(at)) return undefined
      const { event, call, run, ms } = entry
      if (call !== undefined) {
        if (event === 'call.start') begin(call, at)
        else if (event === 'call.end' || event === 'call.read') return callSpan(entry, call, at, end(call, at, ms))
        else if (steps.has(event)) {
          const events = open.get(call)?.events
          if (events && events.length < mostEvents) events.push({ at, name: `handrail.${event}` })
        }
        return undefined
      }
      if (run === undefined) return undefined
      if (event === 'run.started') {
        const { template } = (entry.details ?? {}) as { template?: unknown }
        begin(run, at, typeof template === 'string' ? template : undefined)
      } else if (event === 'run.ended') return runSpan(entry, run, at, end(run, at))
      return undefined
    },
    ofModel,
  }
}

const steps = new Set(['approval.requested', 'approval.decided', 'call.suspended', 'call.resumed', 'call.landed'])

interface Open {
  startedAt: number
  events: { at: number; name: string }[]
  template?: string | undefined
}

function callSpan(entry: AuditEntry, call: string, at: number, { startedAt, events }: Open): Span {
  const { tool = '', surface = '', session, outcome, reason, risk, details, approval, traceparent } = entry
  const isMcp = surface.startsWith('mcp-')
  const { exitCode } = (details ?? {}) as { exitCode?: unknown }
  const isWrong = outcome === 'error' || outcome === 'cancelled'
  return span(
    `call ${call}`,
    isMcp ? `tools/call ${tool}` : `execute_tool ${tool}`,
    isMcp ? server : internal,
    startedAt,
    at,
    {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': call,
      ...(isMcp && {
        'mcp.method.name': 'tools/call',
        ...(session !== undefined && { 'mcp.session.id': session }),
        'network.transport': surface === 'mcp-stdio' ? 'pipe' : 'tcp',
        ...(surface !== 'mcp-stdio' && { 'network.protocol.name': 'http' }),
      }),
      ...(isWrong && { 'error.type': isMcp ? 'tool_error' : (reason ?? '_OTHER') }),
      'handrail.surface': surface,
      ...(session !== undefined && { 'handrail.session.id': session }),
      ...(risk !== undefined && { 'handrail.risk': risk }),
      ...(outcome !== undefined && { 'handrail.outcome': outcome }),
      ...(reason !== undefined && { 'handrail.reason': reason }),
      ...(approval !== undefined && { 'handrail.approval.id': approval }),
      ...(typeof exitCode === 'number' && { 'process.exit.code': exitCode }),
    },
    isWrong,
    events,
    traceparent,
  )
}

function runSpan({ details }: AuditEntry, run: string, at: number, { startedAt, events, template }: Open): Span {
  const { status, errorCode } = (details ?? {}) as { status?: unknown; errorCode?: unknown }
  const isWrong = status === 'failed' || status === 'canceled'
  return span(
    `run ${run}`,
    template === undefined ? 'invoke_workflow' : `invoke_workflow ${template}`,
    internal,
    startedAt,
    at,
    {
      'gen_ai.operation.name': 'invoke_workflow',
      ...(template !== undefined && { 'gen_ai.workflow.name': template }),
      'handrail.run.id': run,
      ...(typeof status === 'string' && { 'handrail.outcome': status }),
      ...(isWrong && { 'error.type': typeof errorCode === 'string' ? errorCode : '_OTHER' }),
    },
    isWrong,
    events,
  )
}

let asked = 0

function ofModel({ startedAt, endedAt, provider, model, endpoint, tokens, end, failure }: ModelSpan): Span {
  const { hostname, port, protocol } = new URL(endpoint)
  return span(
    `model ${process.pid} ${startedAt} ${asked++}`,
    `chat ${model}`,
    client,
    startedAt,
    endedAt,
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      ...(tokens && { 'gen_ai.usage.input_tokens': tokens.input, 'gen_ai.usage.output_tokens': tokens.output }),
      ...(end !== undefined && { 'handrail.finish': end }),
      ...(failure !== undefined && { 'error.type': failure }),
    },
    failure !== undefined,
    [],
  )
}

/** The same thing has the same ids, whichever process tells of it. */
function span(
  of: string,
  name: string,
  kind: Span['kind'],
  startedAt: number,
  endedAt: number,
  attributes: Record<string, Attribute>,
  isWrong: boolean,
  events: Open['events'],
  traceparent?: string,
): Span {
  // What it says of sampling does not count: nobody keeps a call of theirs out of the traces.
  const [, trace, parent] = traceparent?.split('-') ?? []
  const digest = createHash('sha256').update(of).digest('hex')
  return {
    traceId: trace ?? digest.slice(0, 32),
    spanId: digest.slice(32, 48),
    ...(parent !== undefined && { parentSpanId: parent }),
    name: name.slice(0, 200),
    kind,
    startTimeUnixNano: nanoseconds(Math.min(startedAt, endedAt)),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) })),
    ...(events.length > 0 && {
      events: events.map((one) => ({ timeUnixNano: nanoseconds(one.at), name: one.name, attributes: [] as [] })),
    }),
    status: { code: isWrong ? failed : unset },
  }
}

/** In OTLP/JSON numbers of 64 bits are texts. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1_000)}000`

export function valueOf(value: Attribute): Record<string, unknown> {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'string') return { stringValue: value.slice(0, 500) }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
