import type { AgentCaller } from '../contracts/gate.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { RunBody, RunEnd, RunRecord } from '../contracts/run-ports.ts'
import { runBounds, type RunError } from '../contracts/run.ts'
import type { TemplateStep } from '../contracts/template.ts'
import { onAbort } from '../text/aborts.ts'
import { carryOut, errorOf, Lost, type Begun, type Outcome, type StepPorts } from './carry-out.ts'
import { isLarger } from './expressions.ts'
import { tellLog, type RunPorts } from './ports.ts'

/** Handrail is closed here: the run is put down, and whoever opens the project next takes it up. */
export class Closing extends Error {}

/** How often a batch says in the log how far it is, at most. */
const tellEveryMs = 500

/** A run in this process's hands. */
export interface LiveRun {
  run: RunRecord
  stop: AbortController
  /** It waits for a person, or for a slot after that. */
  parked: boolean
  /** Set while a step is under way that may not be done twice. */
  mayStop?: boolean
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

  const finish = async (live: LiveRun, outcome: Exclude<Outcome, { kind: 'waits' }>, activeMs: number): Promise<void> => {
    const { artifactTtlMs } = limits()
    const { id, origin } = live.run
    const end: RunEnd = { status: outcome.status, artifacts: [], activeMs, artifactTtlMs }
    if ('error' in outcome) end.error = outcome.error
    else {
      const bytes = new TextEncoder().encode(JSON.stringify(outcome.result))
      const artifact = { id: ports.newId('art'), mimeType: 'application/json', bytes: bytes.length }
      // On the disk before a run names it; what a process that dies here leaves is named by nobody.
      await artifacts.put(artifact.id, bytes)
      end.artifacts = [artifact]
      end.result = bytes.length <= runBounds.inlineBytes ? outcome.result : summaryOf(outcome.result, artifact)
    }
    if (!(await store.finish(id, worker, end))) {
      for (const artifact of end.artifacts) await artifacts.remove(artifact.id)
      return
    }
    tellLog(log, {
      event: 'run.ended',
      run: id,
      session: origin.session,
      details: { status: end.status, ...(end.error && { errorCode: end.error.errorCode }) },
    })
  }

  /** Until the question is answered and a slot is free. Throws what ends the run. */
  const waitForAnswer = async (live: LiveRun, approval: string): Promise<void> => {
    const { signal } = live.stop
    await questions.settled(approval, signal).catch((fault: unknown) => {
      signal.throwIfAborted()
      throw fault
    })
    const asked = questions.look(approval)
    if (asked?.state === 'denied') throw declined(approval, asked.note)
    if (!asked || asked.state === 'expired') throw lapsed(approval)
    for (;;) {
      signal.throwIfAborted()
      const got = await store.unpark(live.run.id, worker, limits().maxConcurrentRuns)
      if (got === 'lost') throw new Lost()
      if (got === 'running') break
      await new Promise<void>((resolve) => {
        const stop = onAbort(signal, resolve)
        live.slotFreed = () => {
          stop()
          resolve()
        }
      })
      delete live.slotFreed
    }
    live.parked = false
    tellLog(log, {
      event: 'run.resumed',
      run: live.run.id,
      approval,
      session: live.run.origin.session,
      details: { status: 'running' },
    })
  }

  const stretch = async (live: LiveRun, body: RunBody): Promise<Outcome | undefined> => {
    const { run, stop } = live
    const began = performance.now()
    const active = (): number => Math.round(run.activeMs + performance.now() - began)
    const late = setTimeout(() => stop.abort(tooLate(run.timeoutMs)), Math.max(1, run.timeoutMs - run.activeMs))
    try {
      const outcome = await carryOut(body, await store.steps(run.id), stepPorts(live, active), stop.signal)
      run.activeMs = active()
      if (outcome.kind !== 'waits') {
        await finish(live, outcome, run.activeMs)
        return undefined
      }
      if (!(await store.park(run.id, worker, outcome.approval, run.activeMs))) throw new Lost()
      live.parked = true
      live.run.waiting = outcome.approval
      tellLog(log, {
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
    }
  }

  const stepPorts = (live: LiveRun, active: () => number): StepPorts => {
    const { id, origin } = live.run
    const caller = { ...origin, role: 'agent' } as AgentCaller
    // Nobody waits for a person inside a step: the run gives its slot back, and makes the call again after the answer.
    const patience = AbortSignal.abort()
    let told = 0
    return {
      async call(step, input, { id: call, place }, signal) {
        // One that hands in another would never come to an end.
        if (toolOf(step.tool)?.toolset === 'runs') throw nested(step)
        live.mayStop = mayRepeat(step, input)
        try {
          const given = withKey(step, input, `${id}:${place}`)
          return await ports.gate.call(step.tool, given, caller, { id: call, signal, onApproval: () => patience })
        } finally {
          live.mayStop = true
          if (live.closing) live.stop.abort(new Closing('closed'))
        }
      },
      mayRepeat,
      begun: (call) => begunIn(log.newestOf(call)?.event),
      newCall: () => ports.newId('call'),
      async journal(step, done, total) {
        if (!(await store.journal(id, worker, step, { done, total, activeMs: active() }))) throw new Lost()
        if (step.state === 'begun' || (step.item !== undefined && performance.now() - told < tellEveryMs)) return
        told = performance.now()
        const progress = { doneSteps: done, totalSteps: total }
        tellLog(log, {
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
        const body = await store.body(run.id)
        if (!body) throw new Lost()
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
