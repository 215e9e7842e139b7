import type { AgentRecord } from '../contracts/agent.ts'
import { makeCall, newCallId, type CallPorts, type Made } from './make-call.ts'

const isScene = (path: string): boolean => /(^|\/)game\/scene\/.+\.txt$/i.test(path)
const isCode = (path: string): boolean => /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs|vue|svelte|json|css)$/i.test(path)

/** What an act left behind that its check does not like, in words for the model; nothing where all is well. */
export interface Verdict {
  failing: readonly string[]
  text: string
}

/**
 * Checks what was written since the last time: scenes as scripts and then in the preview, code by the project's own checks. What the project has no
 * check for counts as well.
 */
export async function checkWritten(record: AgentRecord, step: number, ports: CallPorts): Promise<Verdict | undefined> {
  const { gate } = ports
  const paths = record.unchecked
  record.unchecked = []
  const failing: string[] = []
  const said: string[] = []
  const call = async (name: string, input: Record<string, unknown>): Promise<Made | undefined> => {
    const tool = gate.tools.find((one) => one.name === name)
    if (!tool || !gate.offers(name) || !gate.accepts(name, input)) return undefined
    return makeCall(tool, { call: { id: name, name, input }, id: newCallId() }, step, record, ports)
  }
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
  const code = paths.filter((path) => isCode(path) && !isScene(path))
  if (code.length > 0 && gate.listed().some(({ name }) => name === 'run_checks')) {
    const checked = await call('run_checks', { checks: ['typecheck', 'lint'] })
    const { results = [] } = (checked?.output ?? {}) as {
      results?: { ok: boolean; diagnostics: { severity: string }[] }[]
    }
    // A check that is not set up finds no error, and is nobody's fault.
    const isWrong = ({ severity }: { severity: string }): boolean => severity === 'error'
    if (checked && results.some(({ ok, diagnostics }) => !ok && diagnostics.some(isWrong))) {
      failing.push(...code)
      said.push(checked.text)
    }
  }
  return failing.length > 0 ? { failing, text: said.join('\n') } : undefined
}

const passed = ({ ok, output }: Made, field: string): boolean =>
  ok && (output as Record<string, unknown> | undefined)?.[field] === true
