import type { AuditEntry } from '../contracts/audit.ts'
import type { Call } from '../contracts/call.ts'
import { errorCodeOf } from '../contracts/faults/contract-000.ts'
import { Fault, asFault } from '../contracts/faults/fault.ts'
import { effectKinds, type ProgramResult } from '../contracts/stage.ts'
import type { Risk, Tool, Touch } from '../contracts/tool.ts'
import type { Mark } from './marks.ts'
import type { AuditPort } from './ports.ts'
import { outline, recordable, scrub, scrubDeep, scrubTouches } from './redacted-input.ts'

/** What is known of a call once it has been judged. */
interface Facts {
  input: unknown
  redactedInput: Record<string, unknown>
  touches: Touch[]
  marks: readonly Mark[]
  risk: Risk
  /** Whether the world may change: then there is a start line on disk before, and an end line after. */
  changes: boolean
}

/** The record of one call, as far as it has come. */
export interface CallAudit {
  readonly snapshots: string[]
  readonly key: string | null
  readonly approvedState: string | undefined
  /** The yes it goes by; the last one, where it needed several. */
  readonly approval: string | undefined
  /** The input fits the contract: from here on the tool's own line is written, however the call ends. */
  accepted(input: unknown): void
  setFacts(facts: Facts): void
  approved(id: string, state: string): void
  /** `durable`: on the disk itself before anything is done. */
  start(inputDigest: () => string, durable: boolean): void
  wrote(ids: string[]): void
  /** So many changes are in their places. */
  landed(changes: number): void
  /** How a program ran; written with the end of the call. */
  ran(ran: ProgramResult): void
  /** Why what it did is more than an ordinary change; nothing where it is one. */
  measured(why: readonly string[]): void
  kept(evidence: readonly string[]): void
  replayed(): void
  end(): void
  fail(thrown: unknown): Fault
}

/** Paths of one call that its line names; its snapshots name every one that was changed. */
const mostTouches = 1_000
/** Files of one call that its line says more about. */
const mostMarks = 50

/** Keeps the record of one call: a start and an end line where the world may change, one line where it is only read. */
export function openCallAudit(audit: AuditPort, tool: Tool, raw: unknown, call: Call): CallAudit {
  const began = performance.now()
  let facts: Facts | undefined
  let started = false
  let outcome: AuditEntry['outcome'] = 'ok'
  let approval: string | undefined
  /** The approval the start line names; one that comes while the call goes on is named at its end. */
  let told: string | undefined
  let approvedState: string | undefined
  let program: ProgramResult | undefined
  let fitting: unknown
  let evidence: readonly string[] = []
  let why: readonly string[] = []
  const snapshots: string[] = []

  const line = (event: AuditEntry['event'], withInput: boolean): AuditEntry => {
    const { session, surface, client, role } = call.caller
    const entry: AuditEntry = { event, call: call.id, session, surface, client, tool: tool.name }
    if (role === 'person') entry.role = role
    if (facts) entry.risk = facts.risk
    if (withInput) {
      entry.input = facts ? recordable(tool, facts.redactedInput) : outline(tool, raw)
      if (facts?.touches.length) entry.touches = scrubTouches(facts.touches.slice(0, mostTouches))
      if (facts && facts.touches.length > mostTouches) entry.details = { touches: facts.touches.length }
      if (facts?.marks.length) entry.marks = facts.marks.slice(0, mostMarks).map(({ path, says }) => scrub(`${path}: ${says}`))
    }
    return entry
  }
  const close = (fault?: Fault): void => {
    const own = fitting === undefined ? undefined : tool.record?.(fitting, program)
    if (own)
      audit.write({ ...own, details: scrubDeep(own.details), call: call.id, session: call.caller.session, tool: tool.name })
    const entry = line(facts && !facts.changes ? 'call.read' : 'call.end', !started)
    entry.outcome = outcome
    if (fault) {
      entry.error = errorCodeOf(fault)
      entry.reason = fault.reason
      // What is wrong with bad arguments is said in terms of them, and they may hold anything.
      if (fault.reason !== 'bad-input') entry.message = scrub(fault.message)
    }
    if (snapshots.length) entry.snapshots = snapshots
    if (approval !== undefined && approval !== told) entry.approval = approval
    if (program)
      entry.details = {
        ...(entry.details as object | undefined),
        ...summary(program),
        ...(why.length && { why: why.slice(0, mostMarks).map(scrub) }),
      }
    if (evidence.length) entry.evidence = [...evidence]
    entry.ms = Math.round((performance.now() - began) * 100) / 100
    if (started) audit.write(entry)
    else audit.note(entry)
  }

  return {
    snapshots,
    get key() {
      return (facts && keyOf(facts.input)) ?? null
    },
    get approvedState() {
      return approvedState
    },
    get approval() {
      return approval
    },
    accepted: (input) => void (fitting = input),
    setFacts: (found) => void (facts = found),
    approved(id, state) {
      approval = id
      approvedState = state
    },
    start(inputDigest, durable) {
      // A call that is judged anew has begun already.
      if (started || !facts?.changes) return
      const entry = line('call.start', true)
      entry.inputDigest = inputDigest()
      if (approval !== undefined) entry.approval = told = approval
      audit.write(entry, durable)
      started = true
    },
    wrote(ids) {
      for (const id of ids) snapshots.push(id)
    },
    landed(changes) {
      const entry = line('call.landed', false)
      if (approval !== undefined) entry.approval = approval
      entry.details = { changes }
      audit.write(entry)
    },
    ran: (ran) => void (program = ran),
    measured: (found) => void (why = found),
    kept: (refs) => void (evidence = refs),
    replayed: () => void (outcome = 'replayed'),
    end: () => close(),
    fail(thrown) {
      const cancelled = call.options.signal?.aborted === true && !(thrown instanceof Fault)
      const fault = cancelled
        ? new Fault('cancelled', 'Cancelled by the caller', {
            details: { cancelled: true },
            hint: 'Nothing was changed after the cancellation.',
          })
        : asFault(thrown)
      outcome = fault.reason === 'cancelled' ? 'cancelled' : 'error'
      try {
        close(fault)
      } catch {
        // The log itself is what failed; the caller is told of the first fault.
      }
      return fault
    },
  }
}

/** What a program did, in numbers; its output may hold anything and is not written down. */
function summary(ran: ProgramResult): Record<string, unknown> {
  const { exitCode, ended, confined, network, effects, leftover, leftoverMore = 0, stdout, stderr, ms } = ran
  const kinds = effectKinds.map((kind) => [kind, effects.filter((effect) => effect.kind === kind).length] as const)
  return {
    exitCode,
    ...(ended !== undefined && { ended }),
    confined,
    network,
    changes: Object.fromEntries(kinds.filter(([, count]) => count > 0)),
    ...(leftover.length && { leftover: leftover.length + leftoverMore }),
    stdoutBytes: stdout.bytes,
    stderrBytes: stderr.bytes,
    ranMs: ms,
  }
}

/** The idempotency key of an input, where it has one. */
export function keyOf(input: unknown): string | undefined {
  return (input as { idempotencyKey?: string }).idempotencyKey
}
