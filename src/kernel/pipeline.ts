import type { Call } from '../contracts/call.ts'
import { changedLines } from '../contracts/diff.ts'
import { ToolError } from '../contracts/errors.ts'
import { each, inTurns, promptly } from '../contracts/steps.ts'
import type { Card, Tool, Touch } from '../contracts/tool.ts'
import { checkInput, checkOutput } from './check.ts'
import { consent, JustDone } from './consent.ts'
import { deadline } from './deadline.ts'
import { digest } from './digest.ts'
import { Unforeseen } from './judged-at-commit.ts'
import { askedAbout, askedOnce, marksAsk, reasons, tellMarks } from './marks.ts'
import { atOnce, powers, type Commits } from './powers.ts'
import { scrub, weighed } from './record.ts'
import type { Judged, Programmed, Road } from './road.ts'
import { cardBefore, programmed, riskBefore, scopeOf, stage } from './staging.ts'
import { statesOf, type States } from './states.ts'
import { follow, keyOf } from './trace.ts'

export interface Performed {
  callId: string
  output: unknown
  snapshots: string[]
}

/** The one road every act takes. Read it top to bottom; there is no other. */
export async function perform(road: Road, tool: Tool, raw: unknown, call: Call): Promise<Performed> {
  const { ports, policy } = road
  const trace = follow(ports.audit, tool, raw, call)
  let done = false
  try {
    call.options.signal?.throwIfAborted()
    // 1. contract
    const input = checkInput(tool, raw)
    trace.accepted(input)
    // 2. policy
    const normal = (touch: Touch): Touch => ('path' in touch ? { ...touch, path: ports.world.normal(touch.path) } : touch)
    // Nothing is waited for that is there at once: calls that come together keep their order.
    const named = promptly(each(await tool.touches(input), normal))
    const touches = named instanceof Promise ? await named : named
    const judging = promptly(policy.judgeAll(tool, touches))
    if (judging instanceof Promise) await judging
    const light = weighed(tool, input)
    const judged: Judged = { road, tool, input, light, touches, call, trace, inputDigest: () => digest(tool.name, light) }
    const program = await programmed(judged)
    for (let round = 1; ; round++) {
      try {
        const performed = await settle(judged, program)
        done = true
        return performed
      } catch (fault) {
        const known = fault instanceof JustDone ? recall(judged) : undefined
        if (known) return replay(judged, known.output)
        if (!(fault instanceof Unforeseen) || round === mostRounds || trace.snapshots.length > 0) throw fault
      }
    }
  } catch (thrown) {
    throw trace.fail(thrown)
  } finally {
    road.same.over(call.id, done)
  }
}

/** The answer that the same call with the same key got. */
function replay({ call, trace }: Judged, output: unknown): Performed {
  trace.replayed()
  trace.end()
  return { callId: call.id, output, snapshots: [] }
}

/** How often one call is judged anew because others made something else of it meanwhile. */
const mostRounds = 3

/** Judged, agreed to, done: from here on it begins again where what it was judged by did not last until its commit. */
async function settle(judged: Judged, program: Programmed | undefined): Promise<Performed> {
  const { road, tool, input, light, touches, call, trace } = judged
  const { ports, policy, config } = road
  // 3. risk
  const { session } = call.caller
  const failures = (path: string): number => ports.sessions.failures(session, path)
  const floor = program ? riskBefore(program, tool.risk(input)) : tool.risk(input)
  const mayChange = (path: string): boolean => ports.grants.mayChange(call.caller.session, path)
  const asker = { client: call.caller.peer ?? session, signal: call.options.signal }
  const found = road.marks({ session, touches, ...(tool.drafts && { drafts: () => tool.drafts?.(input, asker) ?? [] }) })
  const marks = found instanceof Promise ? await found : found
  const risk = policy.risk(
    floor,
    ports.sessions.failing(session) ? touches : [],
    failures,
    call.options.raisedRisk,
    marksAsk(marks, mayChange),
  )
  const changes = touches.some((touch) => 'path' in touch && touch.access === 'write')
  trace.know({ input, light, touches, marks, risk, changes: changes || risk !== 'R0' || program !== undefined })
  const known = changes ? recall(judged) : undefined
  if (known) return replay(judged, known.output)
  const looking = mustBeRehearsed(judged)
  if (looking) await looking
  // A dry run is remembered with the state it was made on; fixed before it runs, so that a change in between shows.
  const rehearsal = tool.rehearsal?.(input)
  const now = rehearsal?.dry ? statesOf(ports.world, touches) : undefined
  const rehearsedOn = now && digest(now instanceof Promise ? await now : now)
  // 4. consent
  if (policy.asks(risk) && call.caller.role !== 'person' && !program?.waiting) {
    const stateOf = async (): Promise<string> => digest(await statesOf(ports.world, touches))
    if (program) program.seen = await ports.world.fingerprint(scopeOf(program), call.options.signal)
    const state = await stateOf()
    // A yes to a change is none to what else the change has come to be by the time it is made.
    const bound = (on: string): string => digest(on, program?.seen ?? null, reasons(marks))
    const stateDigest = bound(state)
    const card = async (): Promise<Card> => {
      const made = await tool.card(input)
      if (program) return tellMarks(cardBefore(made, program), marks)
      // Nobody is asked about what is refused anyway.
      policy.judgeSize(
        made.changes.reduce((sum, { diff }) => sum + changedLines(diff), 0),
        call.caller,
      )
      return tellMarks(made, marks)
    }
    const asked = { tool, input, light, inputDigest: judged.inputDigest(), stateDigest, risk, card }
    const sensitive = askedAbout(marks)
    const question = {
      ...call,
      ...asked,
      same: road.same,
      sensitive,
      beforeRun: program !== undefined,
      ...(!program && { stillOn: async () => bound(await stateOf()) }),
    }
    const approval = await consent(ports, config.limits, question)
    trace.approved(approval, state)
    judged.agreed = marks
    ports.grants.letChange(call.caller.session, askedOnce(marks), approval)
  }
  // 5. audit: the start line, on disk before anything is done; nothing a confined program does is real before its commit
  trace.start(judged.inputDigest, !program?.confined || program.program.network === true)
  const act = (): Promise<unknown> => (changes ? change(judged) : run(judged, {}, { within: config.limits.callTimeoutMs }))
  const scheduled = {
    caller: call.caller,
    lane: tool.waits(input) ? ('waits' as const) : ('files' as const),
    touches,
    signal: call.options.signal,
  }
  const output = program ? await stage(judged, program) : await road.scheduler.run(scheduled, act)
  if (rehearsal && rehearsedOn !== undefined)
    ports.sessions.rehearse(call.caller.session, tool.name, rehearsalDigest(judged, rehearsal.same), rehearsedOn)
  const verdict = tool.verdict?.(input, output)
  if (verdict) ports.sessions.checked(call.caller.session, ports.world.normal(verdict.path), verdict.passed)
  // 9. audit: the end line
  trace.end()
  return { callId: call.id, output, snapshots: trace.snapshots }
}

/** How long a change may be thought about with the project's lock in hand, where others were faster before. */
const lockedMs = 1_000

/**
 * A change is thought out without the project's lock, which is taken for its commit alone. Whoever was overtaken meanwhile begins again,
 * this time with the project to itself, and has a moment for it.
 */
async function change(judged: Judged): Promise<unknown> {
  const { config, ports } = judged.road
  const { callTimeoutMs } = config.limits
  try {
    return await attempt(judged, false, { within: callTimeoutMs })
  } catch (fault) {
    if (!(fault instanceof Overtaken)) throw fault
  }
  const moment = { within: Math.min(callTimeoutMs, lockedMs), late: keepsChanging }
  return ports.world.exclusive(() => attempt(judged, true, moment), judged.call.options.signal)
}

function keepsChanging(): ToolError {
  return new ToolError('E_CONFLICT', 'Others changed the same file again and again while this change was being made', {
    hint: 'Nothing of it was done. Make the call again.',
  })
}

interface Limits {
  within: number
  late?: (ms: number) => ToolError
}

/** The same key gives the same answer, and the world must be as it was judged. */
async function attempt(judged: Judged, alone: boolean, limits: Limits): Promise<unknown> {
  const { road, touches, call, trace } = judged
  const { world } = road.ports
  const replayed = (known: { output: unknown }): unknown => {
    trace.replayed()
    return known.output
  }
  const known = recall(judged)
  if (known) return replayed(known)
  const paths = touches.flatMap((touch) => ('path' in touch ? [touch.path] : []))
  // Told at once: the program that runs there may go on for long, and where nothing confines it, it has the project's lock.
  const held = call.caller.role === 'person' ? undefined : world.held(paths, call.id)
  if (held) throw held
  const newest = world.newest()
  await mustBeRehearsed(judged)
  // 6. snapshot: the state before is fixed here; `commit` keeps it, and the state after, with the change itself
  const states = await statesOf(world, touches)
  if (trace.approvedState !== undefined && digest(states) !== trace.approvedState)
    throw new ToolError('E_CONFLICT', 'What this call touches changed after it was approved', {
      hint: 'Look at the files again and make the call again.',
    })
  const moved = async (among: readonly Touch[]): Promise<boolean> =>
    Object.entries(await statesOf(world, among)).some(([path, state]) => state !== states[path])
  const onlyRead = touches.filter((touch) => 'path' in touch && touch.access === 'read')
  const judgedAgain: Commits = (act, signal) =>
    world.exclusive(async () => {
      signal.throwIfAborted()
      // What it has written itself is no news to it.
      if (trace.snapshots.length > 0) return act()
      const answered = recall(judged)
      if (answered) throw new Answered(answered.output)
      // Also where it was changed and changed back: what the tool read in between was not what was judged.
      if (world.changedSince(paths, newest) || (await moved(onlyRead))) throw new Overtaken()
      try {
        return await act()
      } catch (fault) {
        if (fault instanceof ToolError && fault.code === 'E_CONFLICT' && (await moved(touches))) throw new Overtaken()
        throw fault
      }
    }, signal)
  let output: unknown
  try {
    output = await run(judged, states, limits, alone ? atOnce : judgedAgain)
  } catch (fault) {
    if (fault instanceof Answered) return replayed(fault)
    throw fault
  }
  const { sessions } = road.ports
  const repaired = (touch: Touch): void => {
    if ('path' in touch && touch.access === 'write') sessions.repaired(call.caller.session, touch.path)
  }
  if (sessions.failing(call.caller.session)) await inTurns(each(touches, repaired))
  return output
}

/** Somebody else changed what a call touches while it was thinking. */
class Overtaken extends Error {}

/** The same call with the same key was answered while this one was thinking. */
class Answered extends Error {
  readonly output: unknown
  constructor(output: unknown) {
    super()
    this.output = output
  }
}

/** 7. execute under a deadline, 8. check the answer. */
async function run(judged: Judged, states: States, { within, late }: Limits, commits?: Commits): Promise<unknown> {
  const { tool, input, call } = judged
  const limit = deadline(within, call.options.signal, late)
  try {
    const doing = tool.execute(input, powers(judged, states, limit, commits))
    return checkOutput(tool, doing instanceof Promise ? await limit.within(doing) : doing)
  } finally {
    limit.done()
  }
}

/** The answer this key already got, where it belongs to exactly this input. */
function recall({ road, tool, input, inputDigest }: Judged): { output: unknown } | undefined {
  const key = keyOf(input)
  if (key === undefined) return undefined
  const known = road.ports.idempotency.recall(tool.name, key)
  if (known && known.inputDigest !== inputDigest())
    throw new ToolError('E_CONFLICT', 'This idempotency key was used for a different call', {
      details: { idempotencyKey: scrub(key) },
      hint: 'A key belongs to one exact input. Use a new key for a new change.',
    })
  // The old answer would claim what no longer stands, and a second write would set a person's undo aside.
  if (known?.undone)
    throw new ToolError('E_CONFLICT', 'The change this idempotency key stands for was made, and undone since', {
      details: { idempotencyKey: scrub(key) },
      hint: 'Nothing was written. Read the file as it is now; if the change is still wanted, make it under a new key.',
    })
  return known
}

/** A change that can be rehearsed must have been, in this session, on the world as it is now. */
function mustBeRehearsed(judged: Judged): void | Promise<void> {
  const { road, tool, input, touches, call } = judged
  const rehearsal = tool.rehearsal?.(input)
  if (!rehearsal || rehearsal.dry || !road.config.policies.writeRequiresDiff) return
  const seen = road.ports.sessions.rehearsed(call.caller.session, tool.name, rehearsalDigest(judged, rehearsal.same))
  if (seen === undefined)
    throw new ToolError('E_POLICY_VIOLATION', `${tool.name} needs a dry run of exactly this change first`, {
      details: { policy: 'writeRequiresDiff' },
      hint: 'Call it with dryRun: true and the same path, content and mode, look at the diff, then call it with dryRun: false.',
    })
  const mustBe = (states: States): void => {
    if (seen === digest(states)) return
    throw new ToolError('E_CONFLICT', 'The file changed since the dry run', {
      details: { paths: touches.flatMap((touch) => ('path' in touch ? [touch.path] : [])) },
      hint: 'Read the file again, make the dry run again, look at the new diff, then write.',
    })
  }
  const states = statesOf(road.ports.world, touches)
  return states instanceof Promise ? states.then(mustBe) : mustBe(states)
}

/** Names what must be equal between a dry run and the real one, by the fields the tool lists. */
function rehearsalDigest({ light }: Judged, fields: readonly string[]): string {
  return digest(fields.map((field) => light[field]))
}
