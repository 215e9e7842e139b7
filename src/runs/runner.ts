import type { AgentCaller } from '../contracts/gate.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { JournalledStep, KeptArtifact, RunBody, RunEnd, RunRecord } from '../contracts/run-ports.ts'
import { runBounds, type RunError } from '../contracts/run.ts'
import type { TemplateStep } from '../contracts/template.ts'
import type { Attachment } from '../contracts/tool.ts'
import { onAbort } from '../text/aborts.ts'
import { executeSteps, errorOf, Lost, type Begun, type Outcome, type StepPorts } from './execute-steps.ts'
import { isLarger } from './expressions.ts'
import { tellLog, type RunPorts } from './ports.ts'

/** Handrail is closed here: the run is put down, and whoever opens the project next takes it up. */
export class Closing extends Error {}

/** What the steps of a run may leave beside their answers, in all. */
const mostKept = 134_217_728
/** How often a batch says in the log how far it is, at most. */
const tellEveryMs = 500

type Contents = { id: string; bytes: Uint8Array }[]

/** A run in this process's hands. */
export interface LiveRun {
  run: RunRecord
  stop: AbortController
  /** It waits for a person, or for a slot after that. */
  parked: boolean
  /** Steps under way that may not be done twice. */
  held?: number
  /** Bytes of what its steps left beside their answers, in this process. */
  kept?: number
  /** What its journal names of that, once it was read. */
  left?: KeptArtifact[]
  /** It is put down after the step that is under way. */
  closing?: true
  slotFreed?: () => void
  done: Promise<void>
}

export interface Runner {
  /** From where it is to its end, or until it is taken from us. */
  carry(live: LiveRun): Promise<void>
  fail(live: LiveRun, error: RunError): Promise<void>
}

export function openRunner(ports: RunPorts): Runner {
  const { store, artifacts, worker, log, limits, questions } = ports

  /** On the disk before a run names it, or in the same step; what a process that dies here leaves is named by nobody. */
  const putJson = async (value: unknown, contents: Contents): Promise<KeptArtifact> => {
    const bytes = new TextEncoder().encode(JSON.stringify(value))
    const artifact = { id: ports.newId('art'), mimeType: 'application/json', bytes: bytes.length }
    if (bytes.length <= (store.contentsWithEnd ?? -1)) contents.push({ id: artifact.id, bytes })
    else await artifacts.put(artifact.id, bytes)
    return artifact
  }
  const finish = async (live: LiveRun, outcome: Exclude<Outcome, { kind: 'waits' }>, activeMs: number): Promise<void> => {
    const { artifactTtlMs } = limits()
    const { id, origin } = live.run
    const contents: Contents = []
    const end: RunEnd = { status: outcome.status, artifacts: [], activeMs, artifactTtlMs, contents }
    if ('error' in outcome) end.error = outcome.error
    const left = live.left ?? leftIn(await store.steps(id))
    if (outcome.result === undefined) end.artifacts = left
    else {
      const artifact = await putJson(outcome.result, contents)
      const { bytes } = artifact
      end.artifacts = [artifact, ...('raw' in outcome ? [await putJson(outcome.raw, contents)] : []), ...left]
      if (!('error' in outcome))
        end.result = bytes <= runBounds.inlineBytes ? outcome.result : summaryOf(outcome.result, artifact)
    }
    // What its journal names is whoever's the run is now; the result is nobody's.
    if (!(await store.finish(id, worker, end))) return removeAll(end.artifacts.filter((one) => !left.includes(one)))
    void tellLog(log, {
      event: 'run.ended',
      run: id,
      session: origin.session,
      details: { status: end.status, ...(end.error && { errorCode: end.error.errorCode }) },
    })
  }

  const removeAll = async (some: readonly KeptArtifact[]): Promise<void> => {
    for (const { id } of some) await artifacts.remove(id)
  }

  /** Until the question is answered and a slot is free. Throws what ends the run. */
  const waitForAnswer = async (live: LiveRun, approval: string): Promise<void> => {
    const { signal } = live.stop
    await questions.settled(approval, signal).catch((fault: unknown) => {
      signal.throwIfAborted()
      throw fault
    })
    const asked = questions.find(approval)
    if (asked?.state === 'denied') throw declined(approval, asked.note)
    if (!asked || asked.state === 'expired') throw lapsed(approval)
    const stopListening = onAbort(signal, () => live.slotFreed?.())
    try {
      for (;;) {
        signal.throwIfAborted()
        // Before it is asked for: one that becomes free while the answer is on its way is not missed.
        const freed = new Promise<void>((resolve) => (live.slotFreed = resolve))
        const got = await store.unpark(live.run.id, worker, limits().maxConcurrentRuns)
        if (got === 'lost') throw new Lost()
        if (got === 'running') break
        await freed
      }
    } finally {
      stopListening()
      delete live.slotFreed
    }
    live.parked = false
    void tellLog(log, {
      event: 'run.resumed',
      run: live.run.id,
      approval,
      session: live.run.origin.session,
      details: { status: 'running' },
    })
  }

  const stretch = async (live: LiveRun, body: RunBody): Promise<Outcome | undefined> => {
    const { run, stop } = live
    const [before, began] = [run.activeMs, performance.now()]
    const active = (): number => Math.round(before + performance.now() - began)
    const late = setTimeout(() => stop.abort(tooLate(run.timeoutMs)), Math.max(1, run.timeoutMs - before))
    /** What calls left and no step names yet. */
    const unnamed = new Map<string, KeptArtifact[]>()
    try {
      const journalled = await store.steps(run.id)
      live.left = leftIn(journalled)
      const outcome = await executeSteps(body, journalled, stepPorts(live, unnamed, active), stop.signal)
      run.activeMs = active()
      if (outcome.kind !== 'waits') {
        await finish(live, outcome, run.activeMs)
        return undefined
      }
      if (!(await store.park(run.id, worker, outcome.approval, run.activeMs))) throw new Lost()
      live.parked = true
      live.run.waiting = outcome.approval
      void tellLog(log, {
        event: 'run.waiting',
        run: run.id,
        approval: outcome.approval,
        session: run.origin.session,
        details: { status: 'running' },
      })
      return outcome
    } catch (thrown) {
      run.activeMs = active()
      throw thrown
    } finally {
      clearTimeout(late)
      await removeAll([...unnamed.values()].flat())
    }
  }

  const stepPorts = (live: LiveRun, unnamed: Map<string, KeptArtifact[]>, active: () => number): StepPorts => {
    const { id, origin } = live.run
    const caller = { ...origin, role: 'agent' } as AgentCaller
    let told = 0
    /** Beyond what a run may leave, nothing is kept. */
    const keep = async (call: string, attachments: readonly Attachment[]): Promise<void> => {
      const kept: KeptArtifact[] = []
      for (const { mimeType, bytes } of attachments) {
        live.kept = (live.kept ?? 0) + bytes.length
        if (live.kept > mostKept) return
        const artifact = { id: ports.newId('art'), mimeType, bytes: bytes.length }
        await artifacts.put(artifact.id, bytes)
        kept.push(artifact)
        unnamed.set(call, kept)
      }
    }
    return {
      async call(step, input, { id: call, place }, signal) {
        // One that hands in another would never come to an end.
        if (toolOf(step.tool)?.toolset === 'runs') throw nested(step)
        const isHeld = mayRepeat(step, input) ? 0 : 1
        live.held = (live.held ?? 0) + isHeld
        const attachments: Attachment[] = []
        try {
          const given = withKey(step, input, `${id}:${place}`)
          return await ports.gate.call(step.tool, given, caller, {
            id: call,
            run: id,
            signal,
            sharesAnswer: true,
            ...(step.risk !== undefined && { raisedRisk: step.risk }),
            // Nobody waits for a person inside a step: the run gives its slot back, and makes the call again after the answer.
            onApproval: () => AbortSignal.abort(),
            onAttachment: (one) => void attachments.push(one),
          })
        } finally {
          live.held -= isHeld
          if (live.closing) live.stop.abort(new Closing('closed'))
          else await keep(call, attachments)
        }
      },
      left(call) {
        const kept = unnamed.get(call) ?? []
        unnamed.delete(call)
        return kept
      },
      mayRepeat,
      begun: (call) => begunIn(log.newestOf(call)?.event),
      taskAgent: () => ports.taskAgent?.(),
      problems: (schema, value) => ports.problems(schema, value, origin.peer ?? origin.session),
      newCall: () => ports.newId('call'),
      async journal(step, done, total) {
        const { artifacts: some = [] } = step
        if (!(await store.journal(id, worker, step, { done, total, activeMs: active() }))) {
          await removeAll(some)
          throw new Lost()
        }
        live.left?.push(...some)
        if (step.state === 'begun' || (step.item !== undefined && performance.now() - told < tellEveryMs)) return
        told = performance.now()
        const progress = { doneSteps: done, totalSteps: total }
        void tellLog(log, {
          event: 'run.progress',
          run: id,
          session: origin.session,
          details: { status: 'running', step: step.step, progress },
        })
      },
    }
  }

  const toolOf = (name: string) => ports.gate.tools.find((tool) => tool.name === name)
  const takesKey = (name: string): boolean =>
    'idempotencyKey' in ((toolOf(name)?.input as { properties?: object } | undefined)?.properties ?? {})
  const mayRepeat = (step: TemplateStep, input: unknown): boolean => {
    if (step.repeat !== undefined) return step.repeat
    const tool = toolOf(step.tool)
    // What reads may be read again; what takes a key is done once under it, however often it is asked for.
    return tool === undefined || takesKey(step.tool) || riskOf(tool, input) === 'R0'
  }
  const withKey = (step: TemplateStep, input: unknown, key: string): unknown =>
    takesKey(step.tool) ? { idempotencyKey: key, ...(input as object) } : input

  return {
    async carry(live) {
      const { run, stop } = live
      try {
        const kept = await store.body(run.id)
        if (!kept) throw new Lost()
        const body = { ...kept, ...(run.sessionId !== undefined && { sessionId: run.sessionId }) }
        for (;;) {
          if (run.waiting !== undefined) await waitForAnswer(live, run.waiting)
          delete run.waiting
          if (!(await stretch(live, body))) return
        }
      } catch (thrown) {
        if (thrown instanceof Lost) return
        const why: unknown = stop.signal.aborted ? stop.signal.reason : thrown
        if (why instanceof Closing) return await store.release(run.id, worker)
        if (why instanceof Fault && why.reason === 'cancelled') return
        await this.fail(
          live,
          errorOf(why instanceof Fault ? why : new Fault('internal', 'The run could not be carried out', { cause: why })),
        )
      }
    },
    fail: (live, error) => finish(live, { kind: 'ended', status: 'failed', error }, live.run.activeMs),
  }
}

const leftIn = (journalled: readonly JournalledStep[]): KeptArtifact[] => journalled.flatMap(({ artifacts = [] }) => artifacts)

/** By the newest line about a call, which is on the disk before anything is done. */
function begunIn(event: string | undefined): Begun {
  const notYet = [undefined, 'approval.requested', 'approval.decided', 'call.suspended']
  return notYet.includes(event) ? 'never' : 'unknown'
}

function riskOf(tool: { risk(input: unknown): string }, input: unknown): string {
  try {
    return tool.risk(input)
  } catch {
    // It does not fit the contract: the call will say so.
    return 'R2'
  }
}

/** What is shown of a result that is too large to be shown. */
function summaryOf(result: unknown, { id, bytes }: { id: string; bytes: number }): Record<string, unknown> {
  const small = (value: unknown): boolean => !isLarger(value, 2_048)
  const fields = Object.entries(result as Record<string, unknown>).slice(0, 50)
  return {
    large: true,
    artifactId: id,
    bytes,
    summary: Object.fromEntries(fields.map(([name, value]) => [name, small(value) ? value : leftOut(value)])),
  }
}

function leftOut(value: unknown): unknown {
  return Array.isArray(value) ? { leftOut: true, items: value.length } : { leftOut: true }
}

function nested({ id, tool }: TemplateStep): Fault {
  return new Fault('disabled', `Step ${id} calls ${tool}: a run cannot hand in, cancel or look at runs`, {
    hint: 'Put the steps of both into one template.',
  })
}

function tooLate(ms: number): Fault {
  return new Fault('timeout', `The run took longer than ${ms} ms`, { details: { timeoutMs: ms } })
}

function declined(approval: string, note: string | undefined): Fault {
  return new Fault('declined', note === undefined ? 'A person said no' : `A person said no: ${note}`, {
    details: { approvalId: approval, declined: true, ...(note !== undefined && { note }) },
    hint: 'Follow what the person said; do not hand in the same again.',
  })
}

function lapsed(approval: string): Fault {
  return new Fault('needs-approval', 'Nobody answered the question that this run waited for', {
    details: { approvalId: approval },
    hint: 'Hand it in again when somebody is there to answer.',
  })
}
