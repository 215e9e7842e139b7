import {
  bridgeBounds,
  bridgeMethods,
  bridgeProtocol,
  type BridgeMethod,
  type DevInfo,
  type PayloadOf,
  type WorkspaceFacts,
} from '../../contracts/bridge.ts'
import type { CliPlane } from '../../contracts/command-result.ts'
import type { CheckEvent, CheckName, CheckResult } from '../../contracts/diagnostic.ts'
import { asFault, Fault } from '../../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import { fitConfig, fitOutcome } from './fit.ts'
import type { Flight } from './flight.ts'
import { argvIn, checksIn, fieldsIn, numberIn, switchIn, traceIn } from './params.ts'
import { tellTrace, type Trace } from './trace.ts'

/** What the bridge is opened with. */
export interface Ground {
  version: string
  /** Where it was started. */
  cwd: string
  /** The same from the project's root: checks are of the package there. */
  folder: string
  /** Whether commands may write source; decided by the person who started it. */
  write: boolean
  gate: AgentGate
  commands: CliPlane
  workspace(): WorkspaceFacts
}

/** Who asks: one connection is one session. Opened with the first act. */
export type Asker = () => Promise<AgentCaller>

export function infoOf({ version, cwd, write }: Ground): DevInfo {
  return {
    protocol: bridgeProtocol,
    version,
    cwd,
    capabilities: { write },
    methods: Object.keys(bridgeMethods),
    columns: 'utf-16',
  }
}

/** The work of a method: `cancel` and `stop` are about other requests and the server, and not here. */
export type Work = (ground: Ground, params: unknown, flight: Flight, asker: Asker) => Promise<object>

export const works: Record<Exclude<BridgeMethod, 'dev.info' | 'dev.cancel' | 'dev.stop'>, { heavy: boolean; work: Work }> = {
  'dev.workspace.snapshot': { heavy: false, work: snapshot },
  'dev.run': { heavy: true, work: run },
  'dev.runChecks': { heavy: true, work: runChecks },
}

async function snapshot(ground: Ground, params: unknown): Promise<object> {
  const maxBytes = numberIn(fieldsIn(params), 'maxBytes', bridgeBounds.maxBytes)
  return {
    ...ground.workspace(),
    cwd: ground.cwd,
    devserver: { protocol: bridgeProtocol, version: ground.version },
    cliConfig: fitConfig(ground.commands.config(), maxBytes),
  }
}

async function run({ commands, gate, write }: Ground, params: unknown, flight: Flight, asker: Asker): Promise<object> {
  const fields = fieldsIn(params)
  const words = argvIn(fields)
  const inject = switchIn(fields, 'injectRunId', true)
  const trace = traceIn(fields)
  const parsed = commands.parse(words)
  // What it does counts, not how it is spelt.
  if (parsed.writes && !write)
    throw new Fault('read-only', `${parsed.command} would write source, and this server is read-only`, {
      details: { command: parsed.command },
      hint: 'Leave out `--mode write` to see the plan. Only the person who starts the server can let it write: `handrail devserver start --allowWrite`.',
    })
  if (parsed.stdin)
    throw new Fault('bad-input', 'There is no standard input here', { hint: 'Name a file in the project instead of "-".' })
  const argv = inject && parsed.runId === undefined && !parsed.help ? ['--runId', flight.id, ...words] : words
  const caller = await asker()
  flight.signal.throwIfAborted()
  const outcome = await commands.run(argv, { signal: flight.signal, allowWrite: write, caller })
  flight.signal.throwIfAborted()
  if (trace) {
    let finish: ((payload: PayloadOf<'dev.event.trace.finished'>) => void) | undefined
    await tellTrace(outcome, (path) => readTrace(gate, path, caller), trace, {
      started: (payload) => {
        finish = flight.begin(['dev.event.trace.started', payload], 'dev.event.trace.finished', () => ({
          schemaVersion: 1,
          kind: 'DevServerTraceFinished',
          available: false,
        }))
      },
      chunk: async (payload) => (await flight.tell('dev.event.trace.chunk', payload)) && !flight.signal.aborted,
      finished: (payload) => finish?.(payload),
    })
  }
  return { outcome: fitOutcome(outcome) }
}

/** What a command wrote, read as any agent would. */
async function readTrace(gate: AgentGate, path: string, caller: AgentCaller): Promise<Trace | undefined> {
  try {
    const { output } = await gate.call('read_file', { path, maxBytes: bridgeBounds.traceMaxBytes.most, cut: true }, caller)
    const { content, bytes } = output as { content: string; bytes: number }
    return { text: content, totalBytes: bytes }
  } catch (thrown) {
    if (asFault(thrown).reason === 'internal') throw thrown
    return undefined
  }
}

async function runChecks({ gate, folder }: Ground, params: unknown, flight: Flight, asker: Asker): Promise<object> {
  const fields = fieldsIn(params)
  const checks = checksIn(fields)
  const timeoutMs = numberIn(fields, 'timeoutMs', bridgeBounds.timeoutMs)
  const caller = await asker()
  let finish: ReturnType<typeof begin> | undefined
  const begin = (check: CheckName) => {
    const began = performance.now()
    return flight.begin(['dev.event.check.started', { check }], 'dev.event.check.finished', () => ({
      check,
      ok: false,
      exitCode: interrupted,
      durationMs: Math.round(performance.now() - began),
    }))
  }
  /** What the tool tells of itself, as this protocol has it. */
  const onEvent = ({ kind, payload }: CheckEvent): void => {
    if (kind === 'check.started') finish = begin(payload.check)
    else if (kind === 'check.finished') finish?.(payload)
    else void flight.tell('dev.event.check.diagnostics', payload)
  }
  try {
    const input = { checks, timeoutMs, ...(folder !== '' && { cwd: folder }) }
    const { output } = await gate.call('run_checks', input, caller, {
      signal: flight.signal,
      onEvent: (event) => onEvent(event as CheckEvent),
    })
    return { results: (output as { results: CheckResult[] }).results }
  } catch (thrown) {
    // What had ended by then is not lost.
    const { results } = asFault(thrown).details ?? {}
    if (results !== undefined) flight.partial = { results }
    throw thrown
  }
}

/** What a shell gives a program that was interrupted. */
const interrupted = 130
