import type { Call } from '../contracts/call.ts'
import { ToolError } from '../contracts/errors.ts'
import type { Acting, FileChange, Tool, Touch } from '../contracts/tool.ts'
import type { Config } from '../contracts/config.ts'
import { checkInput, checkOutput } from './check.ts'
import { consent } from './consent.ts'
import { deadline, type Deadline } from './deadline.ts'
import { contentHash, digest } from './digest.ts'
import type { Policy } from './policy.ts'
import type { Ports } from './ports.ts'
import { scrub } from './record.ts'
import { follow, keyOf, type Trace } from './trace.ts'
import type { Turns } from './turns.ts'

/** What every call has at hand. */
export interface Road {
  ports: Ports
  policy: Policy
  turns: Turns
  config: Config
  offered: readonly string[]
}

export interface Performed {
  callId: string
  output: unknown
  snapshots: string[]
}

/** The one road every act takes. Read it top to bottom; there is no other. */
export async function perform(road: Road, tool: Tool, raw: unknown, call: Call): Promise<Performed> {
  const { ports, policy } = road
  const trace = follow(ports.audit, tool, raw, call)
  try {
    // 1. contract
    const input = checkInput(tool, raw)
    // 2. policy
    const touches = (await tool.touches(input)).map((touch) =>
      'path' in touch ? { ...touch, path: ports.world.normal(touch.path) } : touch,
    )
    policy.judge(tool, touches)
    // 3. risk
    const failures = (path: string): number => ports.sessions.failures(call.caller.session, path)
    const risk = policy.risk(tool.risk(input), touches, failures, call.options.raisedRisk)
    const changes = touches.some((touch) => 'path' in touch && touch.access === 'write')
    trace.know({ input, touches, risk, changes: changes || risk !== 'R0' })
    const inputDigest = (): string => digest(tool.name, input)
    if (changes) {
      const known = recall(road, tool, input, inputDigest)
      if (known) {
        trace.replayed()
        trace.end()
        return { callId: call.id, output: known.output, snapshots: [] }
      }
    }
    const rehearsal = tool.rehearsal?.(input)
    if (rehearsal && !rehearsal.dry) mustBeRehearsed(road, tool, rehearsal.same, touches, call)
    // A dry run is remembered with the state it was made on; fixed before it runs, so that a change in between shows.
    const rehearsedOn = rehearsal?.dry ? digest(statesOf(road, touches)) : undefined
    // 4. consent
    if (policy.asks(risk) && call.caller.role !== 'person') {
      const stateDigest = digest(statesOf(road, touches))
      const question = { tool, input, inputDigest: inputDigest(), stateDigest, risk, caller: call.caller, options: call.options }
      trace.approved(await consent(ports, road.config.limits, question), stateDigest)
    }
    // 5. audit: the start line, on disk before anything is done
    trace.start(inputDigest)
    const output = await road.turns.take(touches, call.options.signal, () =>
      changes
        ? ports.world.exclusive(() => act(road, tool, input, touches, call, trace, inputDigest), call.options.signal)
        : run(road, tool, input, call, touches, {}, trace),
    )
    if (rehearsal && rehearsedOn !== undefined)
      ports.sessions.rehearse(call.caller.session, tool.name, digest(rehearsal.same), rehearsedOn)
    const verdict = tool.verdict?.(input, output)
    if (verdict) ports.sessions.checked(call.caller.session, ports.world.normal(verdict.path), verdict.passed)
    // 9. audit: the end line
    trace.end()
    return { callId: call.id, output, snapshots: trace.snapshots }
  } catch (thrown) {
    throw trace.fail(thrown)
  }
}

/** A change, with the project to itself: the same key gives the same answer, and the world must be as it was judged. */
async function act(
  road: Road,
  tool: Tool,
  input: unknown,
  touches: Touch[],
  call: Call,
  trace: Trace,
  inputDigest: () => string,
): Promise<unknown> {
  const { ports } = road
  const known = recall(road, tool, input, inputDigest)
  if (known) {
    trace.replayed()
    return known.output
  }
  const rehearsal = tool.rehearsal?.(input)
  if (rehearsal && !rehearsal.dry) mustBeRehearsed(road, tool, rehearsal.same, touches, call)
  // 6. snapshot: the state before is fixed here; `commit` keeps it, and the state after, with the change itself
  const states = statesOf(road, touches)
  if (trace.approvedState !== undefined && digest(states) !== trace.approvedState)
    throw new ToolError('E_CONFLICT', 'What this call touches changed after it was approved', {
      hint: 'Look at the files again and make the call again.',
    })
  const output = await run(road, tool, input, call, touches, states, trace)
  const key = keyOf(input)
  if (key !== undefined) ports.idempotency.remember(tool.name, key, inputDigest(), output)
  for (const touch of touches)
    if ('path' in touch && touch.access === 'write') ports.sessions.repaired(call.caller.session, touch.path)
  return output
}

/** The answer this key already got, where it belongs to exactly this input. */
function recall(road: Road, tool: Tool, input: unknown, inputDigest: () => string): { output: unknown } | undefined {
  const key = keyOf(input)
  if (key === undefined) return undefined
  const known = road.ports.idempotency.recall(tool.name, key)
  if (known && known.inputDigest !== inputDigest()) throw keyReused(key)
  return known
}

/** 7. execute under a deadline, 8. check the answer. */
async function run(
  road: Road,
  tool: Tool,
  input: unknown,
  call: Call,
  touches: Touch[],
  states: States,
  trace: Trace,
): Promise<unknown> {
  const limit = deadline(road.config.limits.callTimeoutMs, call.options.signal)
  try {
    const doing = tool.execute(input, powers(road, call, touches, states, trace, limit))
    return checkOutput(tool, doing instanceof Promise ? await limit.within(doing) : doing)
  } finally {
    limit.done()
  }
}

/** What the tool may do in this call, and nothing more. */
function powers(road: Road, call: Call, touches: Touch[], states: States, trace: Trace, limit: Deadline): Acting {
  const { ports, policy } = road
  return {
    id: call.id,
    session: call.caller.session,
    caller: call.caller,
    tools: road.offered,
    get signal() {
      return limit.signal()
    },
    progress: (done, total, message) => call.options.onProgress?.(done, total, message),
    async change(changes: readonly FileChange[]) {
      limit.signal().throwIfAborted()
      const planned = changes.map(({ path: given, content, undoes }) => {
        const path = ports.world.normal(given)
        const declared = touches.some((touch) => 'path' in touch && touch.access === 'write' && touch.path === path)
        if (!declared || !Object.hasOwn(states, path))
          throw new Error(`a tool tried to change ${path}, which it had not declared`)
        policy.judgeSize(path, ports.world.read(path), content, call.caller)
        return {
          path,
          expect: states[path] ?? null,
          after: content === null ? null : Buffer.from(content),
          ...(undoes && { undoes }),
        }
      })
      const written = ports.world.commit(planned, { call: call.id, session: call.caller.session, idempotencyKey: trace.key })
      trace.wrote(written.map((one) => one.snapshotId))
      for (const { path, after } of planned) states[path] = after === null ? null : contentHash(after)
      return written
    },
  }
}

/** Content hash by path; null is "no such file". */
type States = Record<string, string | null>

function statesOf(road: Road, touches: readonly Touch[]): States {
  const states: States = {}
  for (const touch of touches) {
    if (!('path' in touch)) continue
    const content = readable(road, touch)
    states[touch.path] = content === undefined ? null : contentHash(content)
  }
  return states
}

/** A folder that is only read has no content of its own. */
function readable(road: Road, touch: { path: string; access: 'read' | 'write' }): Buffer | undefined {
  try {
    return road.ports.world.read(touch.path)
  } catch (fault) {
    if (touch.access === 'read' && fault instanceof ToolError && fault.code === 'E_IO') return undefined
    throw fault
  }
}

/** A change that can be rehearsed must have been, in this session, on the world as it is now. */
function mustBeRehearsed(road: Road, tool: Tool, same: unknown, touches: readonly Touch[], call: Call): void {
  if (!road.config.policies.writeRequiresDiff) return
  const seen = road.ports.sessions.rehearsed(call.caller.session, tool.name, digest(same))
  if (seen === undefined)
    throw new ToolError('E_POLICY_VIOLATION', `${tool.name} needs a dry run of exactly this change first`, {
      details: { policy: 'writeRequiresDiff' },
      hint: 'Call it with dryRun: true and the same path, content and mode, look at the diff, then call it with dryRun: false.',
    })
  if (seen !== digest(statesOf(road, touches)))
    throw new ToolError('E_CONFLICT', 'The file changed since the dry run', {
      details: { paths: touches.flatMap((touch) => ('path' in touch ? [touch.path] : [])) },
      hint: 'Read the file again, make the dry run again, look at the new diff, then write.',
    })
}

function keyReused(key: string): ToolError {
  return new ToolError('E_CONFLICT', 'This idempotency key was used for a different call', {
    details: { idempotencyKey: scrub(key) },
    hint: 'A key belongs to one exact input. Use a new key for a new change.',
  })
}
