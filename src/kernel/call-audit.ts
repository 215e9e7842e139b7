import type { AuditEntry } from '../contracts/audit.ts'
import type { Call, SuspendedCall } from '../contracts/call.ts'
import { Fault, asFault } from '../contracts/faults/fault.ts'
import { effectKinds, type ProgramResult } from '../contracts/stage.ts'
import type { Risk, Tool, Touch } from '../contracts/tool.ts'
import type { Mark } from './marks.ts'
import type { Ports } from './ports.ts'
import { outline, recordable, scrub, scrubDeep, scrubTouches } from './redacted-input.ts'
import { blame, endSuspended, stands, withdrawQuestion } from './suspended-calls.ts'

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
  /** The call's own, or that of the one it goes on with. */
  readonly id: string
  readonly snapshots: string[]
  readonly key: string | null
  readonly approvedState: string | undefined
  /** The yes it goes by; the last one, where it needed several. */
  readonly approval: string | undefined
  /** The input fits the contract: from here on the tool's own line is written, however the call ends. */
  accepted(input: unknown): void
  setFacts(facts: Facts): void
  /** Names the tool and its exact input; known once the call is judged. */
  named(inputDigest: () => string): void
  /** Goes on with the same call of this session where that waits for a person and no request has it in hand. */
  takeUp(): void
  /** Whether this request may go on after the answer to a question: it has asked it, or nobody else has it in hand any more. */
  mayUse(approval: string): boolean
  /** It waits for an answer to this. Where the same call has asked it, this one ends with its process: whoever finds it left behind says so. */
  awaits(approval: string): void
  /** Its question is in the store: to be called in the same transaction. */
  asked(approval: string): void
  /** What it had asked before is about something else than what it asks now: nobody need answer it. Its stage is the new question's by now. */
  withdrawBefore(): void
  /** A person has agreed: it goes on under its id, which is on the disk before anything is done. */
  approved(id: string, state: string): void
  /** `durable`: on the disk itself before anything is done. */
  start(durable: boolean): void
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
  /** The request stops waiting for a person, the call does not: it is taken up again, or ends with its question. */
  suspend(fault: Fault): Fault
}

/** Paths of one call that its line names; its snapshots name every one that was changed. */
const mostTouches = 1_000
/** Files of one call that its line says more about. */
const mostMarks = 50

/**
 * Keeps the record of one call: a start and an end line where the world may change, one line where it is only read. Where a person is needed,
 * the call is one story in the log however many requests, processes and surfaces it takes: start, question, answer, end.
 */
export function openCallAudit(
  { audit, approvals, suspended }: Pick<Ports, 'audit' | 'approvals' | 'suspended'>,
  tool: Tool,
  raw: unknown,
  call: Call,
): CallAudit {
  const began = performance.now()
  /** Whoever makes a call again has it in hand under a name of their own. */
  const request = call.id
  /** The question it waits for, while this request has it in hand. */
  let question: string | undefined
  /** The one it had asked before. */
  let before: string | undefined
  let follows = false
  let digest: () => string = () => ''
  let facts: Facts | undefined
  let started = false
  let outcome: AuditEntry['outcome'] = 'ok'
  let approval: string | undefined
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
  const whyShown = (): string[] => why.slice(0, mostMarks).map(scrub)
  /** What the end says, but for how it ended; the tool's own line comes first. */
  const ending = (withInput = false): AuditEntry[] => {
    const own = fitting === undefined ? undefined : tool.record?.(fitting, program)
    const entry = line(facts && !facts.changes ? 'call.read' : 'call.end', withInput)
    if (program)
      entry.details = {
        ...(entry.details as object | undefined),
        ...summary(program),
        ...(why.length && { why: whyShown() }),
      }
    if (evidence.length) entry.evidence = [...evidence]
    const { id } = call
    const first = own && { ...own, details: scrubDeep(own.details), call: id, session: call.caller.session, tool: tool.name }
    return first ? [first, entry] : [entry]
  }
  const spent = (): number => Math.round((performance.now() - began) * 100) / 100
  const close = (fault?: Fault): void => {
    // Where it ends without its answer.
    withdraw(question)
    const lines = ending(!started)
    const entry = lines.at(-1) as AuditEntry
    entry.outcome = outcome
    if (fault) blame(entry, fault)
    if (snapshots.length) entry.snapshots = snapshots
    if (approval !== undefined) entry.approval = approval
    entry.ms = spent()
    if (lines.length > 1) audit.write(lines[0] as AuditEntry)
    if (started) audit.write(entry)
    else audit.note(entry)
    if (question !== undefined || follows) suspended.over(call.id, request)
  }
  const withdraw = (id: string | undefined): void => {
    const asked = id === undefined ? undefined : approvals.head(id)
    if (asked && stands(asked)) withdrawQuestion({ audit, approvals }, asked)
  }
  const put = (id: string, following?: true): void => {
    const { session } = call.caller
    const kept = {
      call: call.id,
      approval: id,
      ending: ending(),
      inputDigest: digest(),
      session,
      ...(following && { follows: following }),
    }
    suspended.put(kept, request)
  }
  const goOnWith = (found: SuspendedCall): void => {
    call.id = found.call
    question = found.approval
    started = true
  }
  const begin = (durable: boolean): void => {
    // A call that is judged anew, or taken up again, has begun already.
    if (started || !facts?.changes) return
    const entry = line('call.start', true)
    entry.inputDigest = digest()
    audit.write(entry, durable)
    started = true
  }

  return {
    get id() {
      return call.id
    },
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
    named: (inputDigest) => void (digest = inputDigest),
    takeUp() {
      const found = started ? undefined : suspended.take(digest(), call.caller.session, request)
      if (found) goOnWith(found)
    },
    mayUse(id) {
      if (question === id) return true
      // What has begun under an id of its own ends under it.
      const found = started ? 'held' : suspended.takeBy(id, request)
      if (found && found !== 'held') goOnWith(found)
      return found !== 'held'
    },
    awaits(id) {
      // What has not begun is not in the log.
      if (!started || question !== undefined) return
      follows = true
      put(id, true)
    },
    asked(id) {
      before = question
      question = id
      put(id)
    },
    withdrawBefore: () => withdraw(before),
    approved(id, state) {
      approval = id
      approvedState = state
      begin(false)
      audit.write({ ...line('call.resumed', false), approval: id }, true)
    },
    start: begin,
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
    suspend(fault) {
      if (question === undefined) return this.fail(fault)
      const entry = line('call.suspended', false)
      if (call.options.signal?.aborted) entry.outcome = 'cancelled'
      if (why.length) entry.details = { why: whyShown() }
      audit.write({ ...entry, approval: question, ms: spent() })
      suspended.release(call.id, ending(), request)
      const asked = approvals.head(question)
      // Answered in the very moment: nobody was there to hear it.
      if (asked && !stands(asked)) endSuspended({ audit, suspended }, asked, request)
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
