import type { AgentRecord } from '../contracts/agent.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { Tool } from '../contracts/tool.ts'
import { failuresIn, newFailures, type Checked } from './failed-before.ts'
import { fenced } from './fence.ts'
import { makeCall, newCallId, type CallPorts, type Made } from './make-call.ts'

const isScene = (path: string): boolean => /(^|\/)game\/scene\/.+\.txt$/i.test(path)
const isCode = (path: string): boolean => /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs|vue|svelte|json|css)$/i.test(path)

/** What an act left behind that its check does not like, in words for the model. */
export interface Verdict {
  failing: readonly string[]
  text: string
  /** Failures of the project's checks that were there before the turn wrote anything. */
  old: number
}

type Call = (name: string, input: Record<string, unknown>) => Promise<Made | undefined>

/**
 * Checks what was written since the last time: scenes as scripts and then in the preview, code by the project's own checks. What the project has no
 * check for counts as well.
 */
export async function checkWritten(record: AgentRecord, step: number, ports: CallPorts): Promise<Verdict> {
  const { gate } = ports
  const paths = record.unchecked
  record.unchecked = []
  const failing: string[] = []
  const said: string[] = []
  const call = callWith(record, step, ports)
  for (const path of paths.filter(isScene)) {
    const checked = await call('validate_script', { path })
    if (checked && !passed(checked, 'valid')) {
      failing.push(path)
      said.push(checked.text)
      continue
    }
    const shown = checked && (await call('preview_scene', { scenePath: path }))
    const { firstErrorLine } = (shown?.output ?? {}) as { firstErrorLine?: number }
    if (firstErrorLine !== undefined) {
      failing.push(path)
      said.push(shown?.text ?? '')
    }
  }
  const code = paths.filter(isUnderChecks)
  let old = 0
  if (code.length > 0) {
    const results = await runChecks(call, gate)
    const found = newFailures(results, record.failedBefore ?? {})
    old = found.old
    if (found.fresh.length > 0) {
      failing.push(...code)
      const others = old > 0 ? `\n${old} more failed before you began: they are not yours, leave them alone unless asked.` : ''
      said.push(fenced('run_checks', JSON.stringify(found.fresh)) + others)
    }
  }
  return { failing, text: said.join('\n'), old }
}

const isUnderChecks = (path: string): boolean => isCode(path) && !isScene(path)

/** Before code is written for the first time in a turn: what fails already is not the agent's doing. */
export async function lookBefore(tool: Tool, input: unknown, record: AgentRecord, step: number, ports: CallPorts): Promise<void> {
  if (record.failedBefore !== undefined) return
  const touches = await Promise.resolve(tool.touches(input)).catch(() => [])
  if (!touches.some((touch) => 'path' in touch && touch.access === 'write' && isUnderChecks(touch.path))) return
  record.failedBefore = failuresIn(await runChecks(callWith(record, step, ports), ports.gate))
}

const callWith =
  (record: AgentRecord, step: number, ports: CallPorts): Call =>
  async (name, input) => {
    const tool = ports.gate.tools.find((one) => one.name === name)
    if (!tool || !ports.gate.offers(name) || !ports.gate.accepts(name, input)) return undefined
    return makeCall(tool, { call: { id: name, name, input }, id: newCallId() }, step, record, ports)
  }

/** A check that is not set up finds no error, and is nobody's fault. */
async function runChecks(call: Call, gate: Pick<AgentGate, 'listed'>): Promise<Checked[]> {
  if (!gate.listed().some(({ name }) => name === 'run_checks')) return []
  const { results = [] } = ((await call('run_checks', { checks: ['typecheck', 'lint'] }))?.output ?? {}) as {
    results?: Checked[]
  }
  return results.filter(({ ok }) => !ok)
}

const passed = ({ ok, output }: Made, field: string): boolean =>
  ok && (output as Record<string, unknown> | undefined)?.[field] === true
