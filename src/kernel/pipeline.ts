import type { Call } from '../contracts/call.ts'
import { changedLines } from '../text/diff.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { CallResult } from '../contracts/gate.ts'
import { each, runInSlices, runPromptly } from '../text/steps.ts'
import type { Card, Draft, Tool, Touch } from '../contracts/tool.ts'
import { checkInput, checkOutput } from './check.ts'
import { consent, JustDone } from './consent.ts'
import { deadline } from './deadline.ts'
import { digest } from './digest.ts'
import { RiskChanged } from './recheck-at-commit.ts'
import { askedAbout, askedOnce, boundTo, marksAsk, tellMarks } from './marks.ts'
import { commitNow, openToolContext, type CommitGuard } from './tool-context.ts'
import { scrub, redactInput } from './redacted-input.ts'
import { newSites, tellSites } from './sites.ts'
import type { CallContext, ProgramContext, KernelContext } from './call-context.ts'
import type { Scheduled } from './path-scheduler.ts'
import { cardBefore } from './program-card.ts'
import { prepareProgram, riskBefore, scopeOf, stage } from './staging.ts'
import { statesOf, type States } from './states.ts'
import { CallAudit, keyOf } from './call-audit.ts'
import { Unanswered } from './question-faults.ts'

/** The one road every act takes. Read it top to bottom; there is no other. */
export async function perform(kernel: KernelContext, tool: Tool, raw: unknown, call: Call): Promise<CallResult> {
  const { ports, policy } = kernel
  const callAudit = new CallAudit(ports, tool, raw, call)
  let done = false
  try {
    call.options.signal?.throwIfAborted()
    // 1. contract
    const input = checkInput(tool, raw)
    callAudit.accepted(input)
    // 2. policy
    const hidingSecrets = ports.world.hideLinkedSecrets()
    if (hidingSecrets) await hidingSecrets
    // Nothing is waited for that is there at once: calls that come together keep their order.
    const told = tool.touches(input)
    const given = told instanceof Promise ? await told : told
    const normal = (touch: Touch): Touch => ('path' in touch ? { ...touch, path: ports.world.normal(touch.path) } : touch)
    const naming = given.length > 1 ? runPromptly(each(given, normal)) : given.map(normal)
    const touches = naming instanceof Promise ? await naming : naming
    const judging = touches.length > 1 ? runPromptly(policy.authorizeAll(tool, touches)) : policy.authorize(tool, touches)
    if (judging instanceof Promise) await judging
    const redactedInput = redactInput(tool, input)
    const context: CallContext = {
      kernel,
      tool,
      input,
      redactedInput,
      touches,
      call,
      callAudit,
      inputDigest: () => digest(tool.name, redactedInput, ...(tool.definition === undefined ? [] : [tool.definition])),
    }
    callAudit.named(context.inputDigest)
    const program = tool.program && (await prepareProgram(context))
    for (let round = 1; ; round++) {
      try {
        const performed = await authorizeAndRun(context, program)
        done = true
        return performed
      } catch (fault) {
        const known = fault instanceof JustDone ? recall(context) : undefined
        if (known) return replay(context, known.output)
        if (!(fault instanceof RiskChanged) || round === mostRounds || callAudit.snapshots.length > 0) throw fault
        // Its yes is used up and came to nothing; it must not wait for itself.
        kernel.duplicates.over(call.id, false)
      }
    }
  } catch (thrown) {
    throw thrown instanceof Unanswered ? callAudit.suspend(thrown) : callAudit.fail(thrown)
  } finally {
    kernel.duplicates.over(call.id, done)
  }
}

/** The answer that the same call with the same key got. */
function replay({ call, callAudit }: CallContext, output: unknown): CallResult {
  callAudit.replayed()
  callAudit.end()
  return { callId: call.id, output, snapshots: [] }
}

/** How often one call is judged anew because others made something else of it meanwhile. */
const mostRounds = 3

/** Judged, agreed to, done: from here on it begins again where what it was judged by did not last until its commit. */
async function authorizeAndRun(context: CallContext, program: ProgramContext | undefined): Promise<CallResult> {
  const { kernel, tool, input, redactedInput, touches, call, callAudit } = context
  const { ports, policy, config } = kernel
  // 3. risk
  const changes = touches.some((touch) => 'path' in touch && touch.access === 'write')
  const { session } = call.caller
  const floor = program ? riskBefore(program, tool.risk(input)) : tool.risk(input)
  const drafts = tool.drafts && draftsOf(context, tool.drafts)
  const found = kernel.marks(drafts ? { session, touches, drafts } : { session, touches })
  const marks = found instanceof Promise ? await found : found
  const by = call.options.run ?? call.id
  const sites = newSites(touches, (host) => policy.allowsSite(host) || ports.grants.mayVisit(session, host, by))
  const risk = policy.risk(
    floor,
    changes && ports.sessions.failing(session) ? touches : [],
    (path) => ports.sessions.failures(session, path),
    call.options.raisedRisk,
    sites.length > 0 || marksAsk(marks, (mark) => ports.grants.mayChange(session, mark)),
  )
  callAudit.setFacts({ input, redactedInput, touches, marks, risk, changes: changes || risk !== 'R0' || program !== undefined })
  const known = changes ? recall(context) : undefined
  if (known) return replay(context, known.output)
  const looking = requireDryRun(context)
  if (looking) await looking
  // A dry run is remembered with the state it was made on; fixed before it runs, so that a change in between shows.
  const dryRun = tool.dryRun?.(input)
  const now = dryRun?.dry ? statesOf(ports.world, touches) : undefined
  const dryRunState = now && digest(now instanceof Promise ? await now : now)
  // 4. consent
  // A grant leaves the question out, and the risk as it is: what is raised above it is asked about.
  const asks = policy.asks(risk) && call.caller.role !== 'person' && !(risk === 'R2' && ports.grants.mayCall(session, tool))
  if (asks || program) callAudit.takeUp()
  if (asks && !program?.waiting) {
    const stateOf = async (): Promise<string> => digest(await statesOf(ports.world, touches))
    if (program) program.seen = await ports.world.fingerprint(scopeOf(program), call.options.signal)
    const asker = { session, client: call.caller.peer ?? session, signal: call.options.signal }
    const targetNow = async (): Promise<readonly string[] | undefined> => tool.target?.(input, asker)
    const state = await stateOf()
    const target = await targetNow()
    // A yes to a change is none to what else the change has come to be by the time it is made.
    const bound = (on: string, to: readonly string[] | undefined): string =>
      digest(on, program?.seen ?? null, boundTo(marks), ...(sites.length > 0 ? [sites] : []), ...(to ? [{ to }] : []))
    const stateDigest = bound(state, target)
    const card = async (): Promise<Card> => {
      const plain = await tool.card(input)
      const made = tellSites(target ? { ...plain, notes: [...target, ...(plain.notes ?? [])] } : plain, sites)
      if (program) return tellMarks(cardBefore(made, program), marks)
      // Nobody is asked about what is refused anyway.
      policy.checkSize(
        made.changes.reduce((sum, { diff }) => sum + changedLines(diff), 0),
        call.caller,
      )
      const where = ports.world.whichRoots(pathsOf(context))
      return tellMarks(where.length ? { ...made, notes: [...(made.notes ?? []), ...where] } : made, marks)
    }
    const asked = { tool, input, redactedInput, inputDigest: context.inputDigest(), stateDigest, risk, card }
    const sensitive = askedAbout(marks)
    const question = {
      ...call,
      ...asked,
      duplicates: kernel.duplicates,
      callAudit,
      closing: kernel.closing,
      sensitive,
      keeps: sensitive,
      beforeRun: program !== undefined,
      ...(!program && { stateNow: async () => bound(await stateOf(), await targetNow()) }),
    }
    const approval = await consent(ports, config.limits, question)
    callAudit.approved(approval, state)
    context.agreed = marks
    context.agreedTo = target
    // What destroys, publishes, spends or touches secrets is asked about each time, with all that goes with it.
    if (risk !== 'R3') {
      ports.grants.letChange(call.caller.session, askedOnce(marks), approval)
      ports.grants.letVisit(call.caller.session, sites, approval)
    }
  }
  // 5. audit: the start line, on disk before anything is done; nothing a confined program does is real before its commit, and what goes the
  // same road itself has start lines of its own there
  if (tool.unhurried) await callAudit.startTogether()
  else callAudit.start(!program?.confined || program.program.network === true)
  const within = tool.unhurried ? Number.POSITIVE_INFINITY : config.limits.callTimeoutMs
  const act = (): Promise<unknown> => (changes ? change(context) : run(context, {}, { within }))
  const scheduled: Scheduled = {
    caller: call.caller,
    lane: tool.waits(input) ? 'waits' : changes ? 'changes' : 'reads',
    touches,
    signal: call.options.signal,
  }
  const output = program ? await stage(context, program) : await (tool.unhurried ? act() : kernel.scheduler.run(scheduled, act))
  if (dryRun && dryRunState !== undefined)
    ports.sessions.rememberDryRun(call.caller.session, tool.name, dryRunDigest(context, dryRun.same), dryRunState)
  const verdict = tool.verdict?.(input, output)
  if (verdict) ports.sessions.checked(call.caller.session, ports.world.normal(verdict.path), verdict.passed)
  // 9. audit: the end line
  if (tool.unhurried) await callAudit.endTogether()
  else callAudit.end()
  return { callId: call.id, output: withNote(context, output), snapshots: callAudit.snapshots }
}

/** What the files a call writes will hold, worked out only where it matters. */
function draftsOf({ input, call }: CallContext, draft: NonNullable<Tool['drafts']>): () => Draft[] | Promise<Draft[]> {
  const { session, peer } = call.caller
  return () => draft(input, { client: peer ?? session, signal: call.options.signal })
}

/** The answer with what the person said when they agreed to it: after a yes as after a no, their words reach the agent. */
function withNote({ kernel, tool, callAudit }: CallContext, output: unknown): unknown {
  const note = callAudit.approval === undefined ? undefined : kernel.ports.approvals.head(callAudit.approval)?.note
  return note === undefined || tool.floor === 'R0' ? output : { ...(output as object), approvalNote: note }
}

/** How long a change may be thought about with the project's lock in hand, where others were faster before. */
const lockedMs = 1_000

/**
 * A change is thought out without the project's lock, which is taken for its commit alone. Where others changed the same meanwhile it begins again,
 * this time with the project to itself, and has a moment for it.
 */
async function change(context: CallContext): Promise<unknown> {
  const { config, ports } = context.kernel
  const { callTimeoutMs } = config.limits
  try {
    return await attemptChange(context, false, { within: callTimeoutMs })
  } catch (fault) {
    if (!(fault instanceof ConcurrentChange)) throw fault
  }
  const moment = { within: Math.min(callTimeoutMs, lockedMs), late: keepsChanging }
  return ports.world.exclusive(() => attemptChange(context, true, moment), context.call.options.signal, pathsOf(context))
}

const pathsOf = ({ touches }: CallContext): string[] => touches.flatMap((touch) => ('path' in touch ? [touch.path] : []))

function keepsChanging(): Fault {
  return new Fault('conflict', 'Others changed the same file again and again while this change was being made', {
    hint: 'Nothing of it was done. Make the call again.',
  })
}

interface Limits {
  within: number
  late?: (ms: number) => Fault
}

/** The same key gives the same answer, and the world must be as it was judged. */
async function attemptChange(context: CallContext, alone: boolean, limits: Limits): Promise<unknown> {
  const { kernel, touches, call, callAudit } = context
  const { world } = kernel.ports
  const replayed = (known: { output: unknown }): unknown => {
    callAudit.replayed()
    return known.output
  }
  const known = recall(context)
  if (known) return replayed(known)
  const paths = pathsOf(context)
  // Told at once: the program that runs there may go on for long, and where nothing confines it, it has the project's lock.
  const pinned = call.caller.role === 'person' ? undefined : world.pinConflict(paths, call.id)
  if (pinned) throw pinned
  const newest = world.newest()
  await requireDryRun(context)
  // 6. snapshot: the state before is fixed here; `commit` keeps it, and the state after, with the change itself
  const states = await statesOf(world, touches)
  if (callAudit.approvedState !== undefined && digest(states) !== callAudit.approvedState)
    throw new Fault('conflict', 'What this call touches changed after it was approved', {
      hint: 'Look at the files again and make the call again.',
    })
  const moved = async (among: readonly Touch[]): Promise<boolean> =>
    Object.entries(await statesOf(world, among)).some(([path, state]) => state !== states[path])
  const onlyRead = touches.filter((touch) => 'path' in touch && touch.access === 'read')
  const recheckedCommit: CommitGuard = (act, signal) =>
    world.exclusive(
      async () => {
        signal.throwIfAborted()
        // What it has written itself is no news to it.
        if (callAudit.snapshots.length > 0) return act()
        const answered = recall(context)
        if (answered) throw new AlreadyAnswered(answered.output)
        // Also where it was changed and changed back: what the tool read in between was not what was judged.
        if (world.changedSince(paths, newest) || (await moved(onlyRead))) throw new ConcurrentChange()
        try {
          return await act()
        } catch (fault) {
          if (fault instanceof Fault && fault.reason === 'conflict' && (await moved(touches))) throw new ConcurrentChange()
          throw fault
        }
      },
      signal,
      paths,
    )
  let output: unknown
  try {
    output = await run(context, states, limits, alone ? commitNow : recheckedCommit)
  } catch (fault) {
    if (fault instanceof AlreadyAnswered) return replayed(fault)
    throw fault
  }
  const { sessions } = kernel.ports
  const repaired = (touch: Touch): void => {
    if ('path' in touch && touch.access === 'write') sessions.repaired(call.caller.session, touch.path)
  }
  if (sessions.failing(call.caller.session)) await runInSlices(each(touches, repaired))
  return output
}

/** Somebody else changed what a call touches while it was thinking. */
class ConcurrentChange extends Error {}

/** The same call with the same key was answered while this one was thinking. */
class AlreadyAnswered extends Error {
  readonly output: unknown
  constructor(output: unknown) {
    super()
    this.output = output
  }
}

/** 7. execute under a deadline, 8. check the answer. */
async function run(context: CallContext, states: States, { within, late }: Limits, commitGuard?: CommitGuard): Promise<unknown> {
  const { tool, input, call } = context
  const limit = deadline(within, call.options.signal, late)
  try {
    const doing = tool.execute(input, openToolContext(context, states, limit, commitGuard))
    return checkOutput(
      tool,
      doing instanceof Promise ? await (tool.unhurried ? limit.settling(doing) : limit.within(doing)) : doing,
    )
  } finally {
    limit.done()
  }
}

/** The answer this key already got, where it belongs to exactly this input. */
function recall({ kernel, tool, input, inputDigest }: CallContext): { output: unknown } | undefined {
  const key = keyOf(input)
  if (key === undefined) return undefined
  const known = kernel.ports.idempotency.recall(tool.name, key)
  if (known && known.inputDigest !== inputDigest())
    throw new Fault('conflict', 'This idempotency key was used for a different call', {
      details: { idempotencyKey: scrub(key) },
      hint: 'A key belongs to one exact input. Use a new key for a new change.',
    })
  // The old answer would claim what no longer stands, and a second write would set a person's undo aside.
  if (known?.undone)
    throw new Fault('conflict', 'The change this idempotency key stands for was made, and undone since', {
      details: { idempotencyKey: scrub(key) },
      hint: 'Nothing was written. Read the file as it is now; if the change is still wanted, make it under a new key.',
    })
  return known
}

/** A change that can be made as a dry run must have been, in this session, on the world as it is now. */
function requireDryRun(context: CallContext): void | Promise<void> {
  const { kernel, tool, input, touches, call } = context
  const dryRun = tool.dryRun?.(input)
  if (!dryRun || dryRun.dry || !kernel.config.policies.writeRequiresDiff) return
  const seen = kernel.ports.sessions.dryRunState(call.caller.session, tool.name, dryRunDigest(context, dryRun.same))
  if (seen === undefined)
    throw new Fault('no-dry-run', `${tool.name} needs a dry run of exactly this change first`, {
      details: { policy: 'writeRequiresDiff' },
      hint: 'Call it with dryRun: true and the same path, content and mode, look at the diff, then call it with dryRun: false.',
    })
  const mustBe = (states: States): void => {
    if (seen === digest(states)) return
    throw new Fault('conflict', 'The file changed since the dry run', {
      details: { paths: touches.flatMap((touch) => ('path' in touch ? [touch.path] : [])) },
      hint: 'Read the file again, make the dry run again, look at the new diff, then write.',
    })
  }
  const states = statesOf(kernel.ports.world, touches)
  return states instanceof Promise ? states.then(mustBe) : mustBe(states)
}

/** Names what must be equal between a dry run and the real one, by the fields the tool lists. */
function dryRunDigest({ redactedInput }: CallContext, fields: readonly string[]): string {
  return digest(fields.map((field) => redactedInput[field]))
}
