import type { Caller } from '../contracts/call.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { redactLong } from '../text/redact/long.ts'
import type { Program, ProgramResult } from '../contracts/stage.ts'
import type { Staged } from '../contracts/staged.ts'
import { isInRoot } from '../text/root-path.ts'
import { each, runInSlices } from '../text/steps.ts'
import type { Card, Risk, ToolContext, Touch, Written } from '../contracts/tool.ts'
import { checkOutput } from './check.ts'
import { consent, JustDone, withdraw } from './consent.ts'
import { deadline } from './deadline.ts'
import { digest, digestLong } from './digest.ts'
import { behindLinks, type BehindLinks } from './behind-links.ts'
import { judgeEffects } from './judge-effects.ts'
import { declinedPaths } from './declined-paths.ts'
import { askedAbout, askedOnce, boundTo, newAmong, reasons, tellMarks, type Mark } from './marks.ts'
import { highest } from './policy.ts'
import { cardAfter } from './program-card.ts'
import { Unanswered } from './question-faults.ts'
import { openToolContext } from './tool-context.ts'
import type { CallContext, ProgramContext } from './call-context.ts'
import { statesOf } from './states.ts'

/** What is known of a program before it runs. */
export async function prepareProgram(context: CallContext): Promise<ProgramContext | undefined> {
  const { kernel, tool, input, call } = context
  const program = await tool.program?.(input)
  if (!program) return undefined
  mustFit(program)
  mustBeInProject(program)
  const { stages } = kernel.ports
  const asksAfter = kernel.policy.asks(highest(tool.risk(input), 'R1'))
  const confinement = await stages.confinement()
  if (program.discards && !confinement.confined)
    throw new Fault('unsupported', `What ${tool.name} changes cannot be thrown away here: ${confinement.says}`, {
      hint: 'Leave that wish out: it is then run after a person agreed, and what it changed can be undone.',
    })
  kernel.ports.approvals.lapse()
  const waiting = await stages.waiting(context.inputDigest(), call.caller.session)
  // A server says by itself that it needs a stage; what ran on one already is committed or thrown away.
  if (!confinement.confined && kernel.config.stage.unconfined === 'refuse' && !program.serves && !waiting)
    throw new Fault('unsupported', `Programs are not run here, since nothing confines them. ${confinement.says}`, {
      hint: '`handrail doctor` says what is missing. stage.unconfined "ask" would run it after a person agreed.',
    })
  return { program, ...confinement, waiting, asksAfter }
}

/** Stages are of the project alone. */
function mustBeInProject({ cwd, changes = '' }: Program): void {
  const outside = [cwd, changes].find(isInRoot)
  if (outside === undefined) return
  throw new Fault('path-denied', `Path not allowed: ${outside}: programs run in the project alone`, {
    details: { path: outside },
    hint: 'Name a folder of the project.',
  })
}

/** What Linux takes as one argument, and less than it takes of them together. */
const longestArgument = 131_071
const mostArgumentBytes = 1_048_576

/** What the system would refuse to start is refused in words. */
function mustFit({ argv }: Program): void {
  const sizes = argv.map((word) => Buffer.byteLength(word))
  const all = sizes.reduce((sum, size) => sum + size, 0)
  if (Math.max(...sizes) <= longestArgument && all <= mostArgumentBytes) return
  throw new Fault(
    'bad-input',
    `A program gets ${longestArgument} bytes in one argument and ${mostArgumentBytes} bytes in all of them at most; this is ${Math.max(...sizes)} and ${all}`,
    { hint: 'Write the data or the script into a file and pass its name. Letters beyond ASCII count as several bytes.' },
  )
}

/**
 * The risk of letting a program run. A stage shows what it did before any of it counts, so running it there is none, whatever
 * its words are; the network, a program that nothing confines, and one that spends or publishes are asked about first.
 */
export function riskBefore({ program, confined }: ProgramContext, floor: Risk): Risk {
  // A server that cannot be confined is not run, so there is nothing to ask.
  const bare = !confined && program.serves === undefined
  return program.network || bare || floor === 'R3' ? highest(floor, 'R2') : 'R0'
}

/** The part of the project a program sees. */
export function scopeOf({ program, confined }: ProgramContext): string {
  return confined && program.alone ? (program.changes ?? '') : ''
}

/** Runs a program that was agreed to beforehand on exactly the project the person saw, and lets no agent change that under it. */
async function runPinned<T>(context: CallContext, programContext: ProgramContext, run: () => Promise<T>): Promise<T> {
  const { kernel, tool, call } = context
  const { world } = kernel.ports
  if (programContext.seen === undefined) return run()
  const scope = scopeOf(programContext)
  const pinMs = programContext.program.timeoutMs + kernel.config.limits.callTimeoutMs
  const release = await world.pin({ call: call.id, tool: tool.name, scope }, pinMs, call.options.signal)
  try {
    if ((await world.fingerprint(scope, call.options.signal)) !== programContext.seen)
      throw new Fault('conflict', 'The project changed after a person agreed to this run, so it was not run', {
        hint: 'A yes to a run is a yes to the files as they were. Make the call again; a new card will be shown.',
      })
    return await run()
  } finally {
    release()
  }
}

/** The road of a program: run on a stage, judged by what it did there and not by its words, asked about, committed like any write. */
export async function stage(context: CallContext, programContext: ProgramContext): Promise<unknown> {
  const { program, confined, waiting } = programContext
  const { kernel, tool, input, call, callAudit } = context
  const { ports } = kernel
  const { signal } = call.options
  const origin = { call: call.id, session: call.caller.session, person: call.caller.role === 'person', idempotencyKey: null }
  let staged = waiting
  let written: readonly Written[] = []
  const evidence: string[] = []
  const run = async (): Promise<Staged> => {
    staged = await ports.stages.run(
      program,
      { ...origin, tool: tool.name, inputDigest: context.inputDigest(), asker: askerOf(call.caller) },
      signal,
      call.options.onPrinted,
    )
    // Not confined, so it has happened: what it takes to undo it is kept, however it ended.
    if (!staged.ran.confined) written = await ports.world.record(staged.made(), origin)
    return staged
  }
  const progress = tick(call.options.onProgress, program)
  try {
    const pinned = (): Promise<Staged> =>
      runPinned(context, programContext, () => (confined ? run() : ports.world.exclusive(run, signal)))
    staged ??= await kernel.scheduler.run({ caller: call.caller, lane: 'programs', touches: [], signal }, pinned)
    progress.stop()
    callAudit.ran(staged.ran)
    callAudit.wrote(written.map((one) => one.snapshotId))
    for (const { kind, text } of (await tool.evidence?.(input, staged.ran, staged.sides)) ?? [])
      evidence.push(ports.evidence.keep(call.id, kind, await redactLong(text)))
    callAudit.kept(evidence)
    mustHaveEnded(staged.ran, tool.name)
    if (staged.ran.confined && staged.ran.effects.length && !program.discards) written = await commitStage(context, staged)
    staged.discard()
  } catch (fault) {
    // A question that stands keeps its stage: the same call, made again after the answer, commits exactly what was shown.
    if (!(fault instanceof Unanswered)) staged?.discard()
    if (staged?.ran.ended === undefined && staged?.ran.confined) await tellWhatRan(fault, context, { ran: staged.ran, evidence })
    throw fault
  } finally {
    progress.stop()
  }
  return answer(context, { ran: staged.ran, committed: written, evidence })
}

/** Whose the places are that waiting programs take: a process, where it is known, else a name. */
function askerOf({ surface, client, peer }: Caller): string {
  return peer ?? `${surface} ${client.replace(/\/[^/]*$/, '')}`
}

/** What the tool makes of its program, as its contract says. */
async function answer(context: CallContext, facts: Pick<ToolContext, 'ran' | 'committed' | 'evidence'>): Promise<unknown> {
  const { kernel, tool, input, call } = context
  const limit = deadline(kernel.config.limits.callTimeoutMs, call.options.signal)
  const given = Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, { value }]))
  try {
    const doing = tool.execute(input, Object.defineProperties(openToolContext(context, {}, limit), given))
    return checkOutput(tool, doing instanceof Promise ? await limit.within(doing) : doing)
  } finally {
    limit.done()
  }
}

/** A program has run, whatever becomes of its changes: the agent learns at once what it printed, how it ended and what it would change. */
async function tellWhatRan(fault: unknown, context: CallContext, facts: Pick<ToolContext, 'ran' | 'evidence'>): Promise<void> {
  // What the same call has done meanwhile is applied.
  if (!(fault instanceof Fault) || fault instanceof JustDone || context.call.options.signal?.aborted) return
  const ran = await answer(context, { ...facts, committed: [] }).catch(() => undefined)
  if (ran === undefined) return
  const { hint } = fault
  const said = 'It has run: details.ran has what it printed and what it would change. None of that is applied.'
  Object.assign(fault, {
    details: { ...fault.details, ran: { applied: false, ...ran } },
    hint:
      hint === undefined
        ? said
        : typeof hint === 'string'
          ? `${hint} ${said}`
          : (name: (tool: string) => string) => `${hint(name)} ${said}`,
  })
}

async function commitStage(context: CallContext, staged: Staged): Promise<Written[]> {
  const { kernel, tool, input, redactedInput, call, callAudit } = context
  const { ports, policy, config } = kernel
  const { session, role } = call.caller
  const touches = await runInSlices(each(Object.keys(staged.states), (path): Touch => ({ path, access: 'write' })))
  await runInSlices(policy.authorizeAll(tool, touches))
  const inputDigest = await digestLong(context.inputDigest(), staged.ran.effects)
  const state = await digestLong(staged.states)
  const stateNow = async (): Promise<string> => digestLong(await statesOf(ports.world, touches))
  const found = await statesOf(ports.world, touches)
  if ((await digestLong(found)) !== state) {
    withdraw(ports, inputDigest, session)
    const moved = Object.keys(found).filter((path) => found[path] !== staged.states[path])
    throw new Fault('conflict', 'Files this program changed were changed by somebody else since it ran', {
      details: { paths: moved.slice(0, 20) },
      hint: 'None of it was applied. Make the call again to run it on the files as they are now.',
    })
  }
  const judging = judgeEffects(context, staged, touches)
  // A stage that cannot be read as it was shown is none that anybody agreed to.
  judging.catch((fault: unknown) => fault instanceof Fault && withdraw(ports, inputDigest, session))
  const { risk, marks, extent, begins, why, namesSum } = await judging
  callAudit.setFacts({ input, redactedInput, touches, marks, risk, changes: true })
  callAudit.measured([...why, ...reasons(marks)])
  // What a person has said no to is not applied unasked, whatever it has come to count as since.
  const asks = role !== 'person' && (policy.asks(risk) || ports.approvals.refusal(inputDigest, call.caller) !== undefined)
  const behind = (): Promise<BehindLinks> => behindLinks(ports.world, staged.ran.effects, marks, call.options.signal)
  const links = asks ? await behind() : undefined
  const led = links ? digest(links.states) : ''
  if (asks) {
    const bound = (on: string, behind: string): Promise<string> => digestLong(on, behind, boundTo(marks))
    const stateDigest = await bound(state, led)
    const sensitive = askedAbout(marks)
    const card = async (): Promise<Card> =>
      tellMarks(await cardAfter(await tool.card(input), staged, { sensitive, links, why }), marks)
    const question = {
      ...call,
      duplicates: kernel.duplicates,
      callAudit,
      closing: kernel.closing,
      sensitive,
      keeps: await runInSlices(declinedPaths(staged.ran.effects, sensitive)),
      beforeRun: false,
      stateNow: async () => bound(await stateNow(), digest((await behind()).states)),
      tool,
      input,
      redactedInput,
      inputDigest,
      stateDigest,
      risk,
      card,
      onAsked: (id: string) => staged.keep(id),
      // What ran already and was agreed to is not lost because another program runs: the same call, made again, commits it.
      ready() {
        const pinned = ports.world.pinConflict(Object.keys(staged.states), call.id)
        if (pinned)
          throw new Unanswered(pinned.reason, pinned.message, {
            ...(pinned.details && { details: pinned.details }),
            hint: pinned.hint,
          })
      },
    }
    await staged.mayWait(ports.approvals.makeWay)
    const approval = await consent(ports, config.limits, question)
    callAudit.approved(approval, stateDigest)
    if (risk !== 'R3') ports.grants.letChange(session, askedOnce(marks), approval)
    // Who agreed to something else has not seen what adds up.
    if (namesSum) ports.unasked.clear()
    staged.take(call.id)
  } else if (role !== 'person') {
    // A question that stands about it has come to nothing, since what it was asked for is granted by now; the stage goes with it, unless it is taken.
    if (ports.approvals.about(inputDigest, session)) {
      staged.take(call.id)
      withdraw(ports, inputDigest, session)
    }
    ports.unasked.add(extent)
  }
  return kernel.scheduler.run({ caller: call.caller, lane: 'changes', touches, signal: call.options.signal }, () =>
    ports.world.exclusive(async () => {
      if (role !== 'person') {
        const now = await kernel.marksNow({ touches, effects: staged.ran.effects, drafts: () => [...begins] })
        const news = newAmong(now, asks ? marks : [], (mark) => !asks && ports.grants.mayChange(session, mark))
        if (news.length > 0 || (asks && digest((await behind()).states) !== led)) throw surroundingsChanged(news)
      }
      const changes = await staged.changes()
      const origin = { call: call.id, session, person: role === 'person', idempotencyKey: null }
      const written = await ports.world.commit(changes, origin, undefined, () => callAudit.landed(changes.length))
      callAudit.wrote(written.map((one) => one.snapshotId))
      if (ports.sessions.failing(session)) await runInSlices(each(changes, ({ path }) => ports.sessions.repaired(session, path)))
      return written
    }, call.options.signal),
  )
}

function surroundingsChanged(news: readonly Mark[]): Fault {
  return new Fault('conflict', 'What lies around the files this program changed is not what it was judged by', {
    details: { paths: news.slice(0, 20).map(({ path }) => path) },
    hint: 'None of it was applied. Make the call again; a person is asked where that is due now.',
  })
}

function mustHaveEnded(ran: ProgramResult, tool: string): void {
  if (ran.ended === undefined) return
  throw new Fault(ran.endedFor ?? 'over-limit', `${tool} was ended: ${ran.ended}`, {
    details: { stdout: ran.stdout.text.slice(-2_048), stderr: ran.stderr.text.slice(-2_048), ms: ran.ms },
    hint: ran.confined
      ? 'Nothing it did was applied. Ask for less at once, or for more time where the tool lets you.'
      : 'What it had changed by then is kept for undo: handrail undo --last.',
  })
}

/** Long work shows that it goes on. */
function tick(onProgress: CallContext['call']['options']['onProgress'], { timeoutMs }: Program): { stop(): void } {
  if (!onProgress) return { stop: () => undefined }
  const began = performance.now()
  const total = Math.ceil(timeoutMs / 1_000)
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - began) / 1_000)
    onProgress(seconds, total, `running for ${seconds} s of at most ${total} s`)
  }, 1_000)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
