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

/** Paths of one call that its line names; its snapshots name every one that was changed. */
const mostTouches = 1_000
/** Files of one call that its line says more about. */
const mostMarks = 50

const nothing: readonly string[] = []

type Stores = Pick<Ports, 'audit' | 'approvals' | 'suspended'>

/**
 * Keeps the record of one call: a start and an end line where the world may change, one line where it is only read. Where a person is needed,
 * the call is one story in the log however many requests, processes and surfaces it takes: start, question, answer, end.
 */
export class CallAudit {
  readonly snapshots: string[] = []
  approvedState: string | undefined
  /** The yes it goes by; the last one, where it needed several. */
  approval: string | undefined
  private readonly began = performance.now()
  /** Whoever makes a call again has it in hand under a name of their own. */
  private readonly request: string
  /** The question it waits for, while this request has it in hand. */
  private question: string | undefined
  /** The one it had asked before. */
  private before: string | undefined
  /** It waits for an answer to what the same call has asked. */
  private follows = false
  private digest: (() => string) | undefined
  private facts: Facts | undefined
  private started = false
  private outcome: AuditEntry['outcome'] = 'ok'
  private program: ProgramResult | undefined
  private fitting: unknown
  private evidence: readonly string[] = nothing
  private why: readonly string[] = nothing
  private readonly stores: Stores
  private readonly tool: Tool
  private readonly raw: unknown
  private readonly call: Call

  constructor(stores: Stores, tool: Tool, raw: unknown, call: Call) {
    this.stores = stores
    this.tool = tool
    this.raw = raw
    this.call = call
    this.request = call.id
  }

  /** The call's own, or that of the one it goes on with. */
  get id(): string {
    return this.call.id
  }

  get key(): string | null {
    return (this.facts && keyOf(this.facts.input)) ?? null
  }

  /** The input fits the contract: from here on the tool's own line is written, however the call ends. */
  accepted(input: unknown): void {
    this.fitting = input
  }

  setFacts(found: Facts): void {
    this.facts = found
  }

  /** Names the tool and its exact input; known once the call is judged. */
  named(inputDigest: () => string): void {
    this.digest = inputDigest
  }

  /** Goes on with the same call of this session where that waits for a person and no request has it in hand. */
  takeUp(): void {
    const found = this.started
      ? undefined
      : this.stores.suspended.take(this.inputDigest(), this.call.caller.session, this.request)
    if (found) this.goOnWith(found)
  }

  /** Whether this request may go on after the answer to a question: it has asked it, or nobody else has it in hand any more. */
  mayUse(id: string): boolean {
    if (this.question === id) return true
    // What has begun under an id of its own ends under it.
    const found = this.started ? 'held' : this.stores.suspended.takeBy(id, this.request)
    if (found && found !== 'held') this.goOnWith(found)
    return found !== 'held'
  }

  /** It waits for an answer to this. Where the same call has asked it, this one ends with its process: whoever finds it left behind says so. */
  awaits(id: string): void {
    // What has not begun is not in the log.
    if (!this.started || this.question !== undefined) return
    this.follows = true
    this.put(id)
  }

  /** Its question is in the store: to be called in the same transaction. */
  asked(id: string): void {
    this.before = this.question
    this.question = id
    this.follows = false
    this.put(id)
  }

  /** What it had asked before is about something else than what it asks now: nobody need answer it. Its stage is the new question's by now. */
  withdrawBefore(): void {
    this.withdraw(this.before)
  }

  /** A person has agreed: it goes on under its id, which is on the disk before anything is done. */
  approved(id: string, state: string): void {
    this.approval = id
    this.approvedState = state
    this.start(false)
    this.stores.audit.write({ ...this.line('call.resumed', false), approval: id }, true)
  }

  /** `durable`: on the disk itself before anything is done. */
  start(durable: boolean): void {
    const entry = this.startLine()
    if (!entry) return
    this.stores.audit.write(entry, durable)
    this.started = true
  }

  /** The same, in one append with others that begin with the same event. */
  async startTogether(): Promise<void> {
    const entry = this.startLine()
    if (!entry) return
    await this.stores.audit.writeTogether(entry)
    this.started = true
  }

  private startLine(): AuditEntry | undefined {
    // A call that is judged anew, or taken up again, has begun already.
    if (this.started || !this.facts?.changes) return undefined
    const entry = this.line('call.start', true)
    entry.inputDigest = this.inputDigest()
    if (this.call.options.again) entry.message = 'made again: the process that had begun it was gone before it ended'
    return entry
  }

  wrote(ids: string[]): void {
    for (const id of ids) this.snapshots.push(id)
  }

  /** So many changes are in their places. */
  landed(changes: number): void {
    const entry = this.line('call.landed', false)
    if (this.approval !== undefined) entry.approval = this.approval
    entry.details = { changes }
    this.stores.audit.write(entry)
  }

  /** How a program ran; written with the end of the call. */
  ran(program: ProgramResult): void {
    this.program = program
  }

  /** Why what it did is more than an ordinary change; nothing where it is one. */
  measured(found: readonly string[]): void {
    this.why = found
  }

  kept(refs: readonly string[]): void {
    this.evidence = refs
  }

  replayed(): void {
    this.outcome = 'replayed'
  }

  end(): void {
    this.close()
  }

  /** The same, in one append with others that end with the same event. */
  async endTogether(): Promise<void> {
    const { audit } = this.stores
    const lines = this.endLines()
    if (!this.started) return this.write(lines)
    await Promise.all(lines.map((line) => audit.writeTogether(line)))
    this.settled()
  }

  fail(thrown: unknown): Fault {
    const cancelled = this.call.options.signal?.aborted === true && !(thrown instanceof Fault)
    const fault = cancelled
      ? new Fault('cancelled', 'Cancelled by the caller', {
          details: { cancelled: true },
          hint: 'Nothing was changed after the cancellation.',
        })
      : asFault(thrown)
    this.outcome = fault.reason === 'cancelled' ? 'cancelled' : 'error'
    try {
      this.close(fault)
    } catch {
      // The log itself is what failed; the caller is told of the first fault.
    }
    return fault
  }

  /** The request stops waiting for a person, the call does not: it is taken up again, or ends with its question. */
  suspend(fault: Fault): Fault {
    const { question, call, stores } = this
    if (question === undefined) return this.fail(fault)
    const entry = this.line('call.suspended', false)
    if (call.options.signal?.aborted) entry.outcome = 'cancelled'
    if (this.why.length) entry.details = { why: this.whyShown() }
    stores.audit.write({ ...entry, approval: question, ms: this.spent() })
    stores.suspended.release(call.id, this.ending(), this.request)
    const asked = stores.approvals.head(question)
    // Answered in the very moment: nobody was there to hear it.
    if (asked && !stands(asked)) endSuspended(stores, asked, this.request)
    return fault
  }

  private put(approval: string): void {
    const { id, caller } = this.call
    const kept = { call: id, approval, ending: this.ending(), inputDigest: this.inputDigest(), session: caller.session }
    this.stores.suspended.put(this.follows ? { ...kept, follows: true } : kept, this.request)
  }

  private inputDigest(): string {
    return this.digest?.() ?? ''
  }

  private line(event: AuditEntry['event'], withInput: boolean): AuditEntry {
    const { facts, tool } = this
    const { session, surface, client, role } = this.call.caller
    const entry: AuditEntry = { event, call: this.call.id, session, surface, client, tool: tool.name }
    if (role === 'person') entry.role = role
    if (facts) entry.risk = facts.risk
    if (withInput) {
      entry.input = facts ? recordable(tool, facts.redactedInput) : outline(tool, this.raw)
      if (facts?.touches.length) entry.touches = scrubTouches(facts.touches.slice(0, mostTouches))
      if (facts && facts.touches.length > mostTouches) entry.details = { touches: facts.touches.length }
      if (facts?.marks.length) entry.marks = facts.marks.slice(0, mostMarks).map(({ path, says }) => scrub(`${path}: ${says}`))
    }
    return entry
  }

  private whyShown(): string[] {
    return this.why.slice(0, mostMarks).map(scrub)
  }

  /** What the end says, but for how it ended; the tool's own line comes first. */
  private ending(withInput = false): AuditEntry[] {
    const { facts, tool, program, call } = this
    const own = this.fitting === undefined ? undefined : tool.record?.(this.fitting, program)
    const entry = this.line(facts && !facts.changes ? 'call.read' : 'call.end', withInput)
    if (call.options.traceparent !== undefined) entry.traceparent = call.options.traceparent
    if (program)
      entry.details = {
        ...(entry.details as object | undefined),
        ...summary(program),
        ...(this.why.length && { why: this.whyShown() }),
      }
    if (this.evidence.length) entry.evidence = [...this.evidence]
    const first = own && {
      ...own,
      details: scrubDeep(own.details),
      call: call.id,
      session: call.caller.session,
      tool: tool.name,
    }
    return first ? [first, entry] : [entry]
  }

  private spent(): number {
    return Math.round((performance.now() - this.began) * 100) / 100
  }

  private close(fault?: Fault): void {
    this.write(this.endLines(fault))
  }

  private endLines(fault?: Fault): AuditEntry[] {
    // Where it ends without its answer.
    this.withdraw(this.question)
    const lines = this.ending(!this.started)
    const entry = lines.at(-1) as AuditEntry
    entry.outcome = this.outcome
    if (fault) blame(entry, fault)
    if (this.snapshots.length) entry.snapshots = this.snapshots
    if (this.approval !== undefined) entry.approval = this.approval
    entry.ms = this.spent()
    return lines
  }

  /** Its end is the last of them; a call that was only a read has that line alone, which may wait for others. */
  private write(lines: readonly AuditEntry[]): void {
    const { audit } = this.stores
    const entry = lines.at(-1) as AuditEntry
    if (lines.length > 1) audit.write(lines[0] as AuditEntry)
    if (this.started) audit.write(entry)
    else audit.note(entry)
    this.settled()
  }

  private settled(): void {
    if (this.question !== undefined || this.follows) this.stores.suspended.over(this.call.id, this.request)
  }

  private withdraw(id: string | undefined): void {
    const { approvals } = this.stores
    const asked = id === undefined ? undefined : approvals.head(id)
    if (asked && stands(asked)) withdrawQuestion(this.stores, asked)
  }

  private goOnWith(found: SuspendedCall): void {
    this.call.id = found.call
    this.question = found.approval
    this.started = true
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
