import { randomBytes } from 'node:crypto'
import type { AgentRecord, OpenCall } from '../contracts/agent.ts'
import type { AuditLine } from '../contracts/audit.ts'
import { asFault, Fault, hintFor } from '../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate, CallResult } from '../contracts/gate.ts'
import type { Tool } from '../contracts/tool.ts'
import type { TurnEvent } from '../contracts/turn.ts'
import { fenced, outputText } from './fence.ts'

/** What calls are made with. */
export interface CallPorts {
  gate: AgentGate
  caller: AgentCaller
  tell: (event: TurnEvent) => void
  signal: AbortSignal
  /** How long a call waits for a person: for ever, or not at all, where whoever asks comes back once they have answered. */
  waitMs: number
}

/** What came of a call: what the model is told of it, and what the loop goes by. */
export interface Made {
  ok: boolean
  /** Fenced. */
  text: string
  output?: unknown
  fault?: Fault
  /** Files it wrote. */
  wrote: readonly string[]
}

export const newCallId = (): string => `call_${randomBytes(12).toString('hex')}`

/** Told in events; all of it is in the log. */
const longestShown = 2_000

/**
 * One call at the gate, waiting for a person as long as it takes. A change that needs a dry run first gets it; one that takes an idempotency
 * key has the id of the call as its key, so that it is not made twice by whoever goes on after a crash.
 */
export async function makeCall(
  tool: Tool,
  open: OpenCall,
  step: number,
  record: AgentRecord,
  ports: CallPorts,
  again = false,
): Promise<Made> {
  const { gate, caller, tell, signal, waitMs } = ports
  const input = withKey(tool, open)
  const { id } = open
  const shown = shownInput(input)
  const make = (given: unknown, callId: string): Promise<CallResult> =>
    gate.call(tool.name, given, caller, {
      id: callId,
      signal,
      ...(again && callId === id && { again }),
      // What only looks stays what it is: a word in the request makes no reading risky.
      ...(record.minRisk && !onlyLooks(tool, given) && { raisedRisk: record.minRisk }),
      approvalWaitMs: waitMs,
      onApproval: (approval) => tell({ type: 'approval', step, id, name: tool.name, input: shown, approval }),
    })
  try {
    if (needsDryRun(tool, input, record)) {
      const dry = newCallId()
      tell({ type: 'tool_call', step, id: dry, name: tool.name, input: { ...shown, dryRun: true } })
      const { output } = await make({ ...without(input, 'idempotencyKey'), dryRun: true }, dry)
      const said = outputText(output).slice(0, longestShown)
      tell({ type: 'tool_result', step, id: dry, name: tool.name, result: { ok: true, text: said } })
    }
    tell({ type: 'tool_call', step, id, name: tool.name, input: shown })
    const result = await make(input, id)
    const text = outputText(result.output)
    tell({ type: 'tool_result', step, id, name: tool.name, result: { ok: true, text: text.slice(0, longestShown) } })
    // What was made before a crash is answered again, without its snapshots.
    const hasWritten = result.snapshots.length > 0 || (takesKey(tool) && tool.dryRun?.(input).dry === false)
    const wrote = hasWritten ? await writtenBy(tool, input) : []
    return { ok: true, text: fenced(tool.name, text), output: result.output, wrote }
  } catch (thrown) {
    if (signal.aborted) throw new Fault('cancelled', 'The turn was cancelled')
    const fault = asFault(thrown)
    // The call is suspended, and made again by whoever comes back.
    if (fault.reason === 'needs-approval' && waitMs === 0) throw fault
    const text = told(fault)
    tell({ type: 'tool_result', step, id, name: tool.name, result: { ok: false, text: text.slice(0, longestShown) } })
    return { ok: false, text: fenced(`${tool.name}, which failed`, text), fault, wrote: [] }
  }
}

/** What is known of a call that was begun by a process that is gone. */
export async function fateOf(open: OpenCall, gate: AgentGate, session: string): Promise<'never' | 'ended' | 'waits' | 'unknown'> {
  if (open.after === undefined) return 'never'
  const lines = await linesOf(open.id, open.after + 1, gate, session)
  const newest = lines.at(-1)?.event
  if (newest === undefined) return 'never'
  if (newest === 'call.end' || newest === 'call.read') return 'ended'
  return newest === 'call.start' || newest === 'call.resumed' || newest === 'call.landed' ? 'unknown' : 'waits'
}

function linesOf(call: string, from: number, gate: AgentGate, session: string): Promise<AuditLine[]> {
  const last = gate.lastLine()
  if (from > last) return Promise.resolve([])
  return new Promise((resolve) => {
    const found: AuditLine[] = []
    let stop: (() => void) | undefined
    const end = (): void => {
      setImmediate(() => stop?.())
      resolve(found)
    }
    stop = gate.events(session, { from, onEnd: end, onLost: end }, (lines, upTo) => {
      found.push(...lines.filter((line) => line.call === call))
      if (upTo >= last) end()
    })
  })
}

const takesKey = ({ input }: Tool): boolean => 'idempotencyKey' in ((input as { properties?: object }).properties ?? {})

export const onlyLooks = (tool: Tool, input: unknown): boolean => {
  try {
    return tool.risk(input) === 'R0'
  } catch {
    return false
  }
}

/** Whether making it once more does nothing twice. */
export const mayRepeat = (tool: Tool, open: OpenCall): boolean => onlyLooks(tool, open.call.input) || takesKey(tool)

function withKey(tool: Tool, { call: { input }, id }: OpenCall): Record<string, unknown> {
  if (!takesKey(tool) || input['dryRun'] === true || typeof input['idempotencyKey'] === 'string') return input
  return { ...input, idempotencyKey: id }
}

/** A change is looked at before it is made, unless the model has just done so with exactly this one. */
function needsDryRun(tool: Tool, input: Record<string, unknown>, { messages }: AgentRecord): boolean {
  if (!tool.dryRun || !gateTakes(tool, input)) return false
  const { dry, same } = tool.dryRun(input)
  if (dry) return false
  const wanted = same.map((name) => input[name])
  return !messages.some(
    (message) =>
      message.role === 'assistant' &&
      message.calls?.some(
        (call) =>
          call.name === tool.name &&
          call.input['dryRun'] === true &&
          same.every((name, at) => isEqual(call.input[name], wanted[at])),
      ),
  )
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Input that the tool cannot even read goes straight to the kernel, which says what is wrong with it. */
const gateTakes = (tool: Tool, input: Record<string, unknown>): boolean => {
  try {
    return tool.dryRun?.(input) !== undefined
  } catch {
    return false
  }
}

const without = (input: Record<string, unknown>, name: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).filter(([key]) => key !== name))

async function writtenBy(tool: Tool, input: unknown): Promise<string[]> {
  const touches = await tool.touches(input)
  return touches.flatMap((touch) => ('path' in touch && touch.access === 'write' ? [touch.path] : []))
}

/** Long texts are for the log and the card. */
function shownInput(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > longestShown ? `${value.slice(0, longestShown)}…` : value,
    ]),
  )
}

function told(fault: Fault): string {
  const hint = hintFor(fault, (tool) => tool)
  const { fields, approvalId } = fault.details ?? {}
  return JSON.stringify({
    error: fault.reason,
    message: fault.message,
    ...(hint !== undefined && { hint }),
    ...(fields !== undefined && { fields }),
    ...(approvalId !== undefined && { approvalId }),
  })
}
