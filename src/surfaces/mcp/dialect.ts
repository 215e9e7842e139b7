import { errorTable, type ToolError } from '../../contracts/errors.ts'
import type { Tool } from '../../contracts/tool.ts'

/** What `tools/list` says of a tool. */
export function describeTool(tool: Tool): Record<string, unknown> {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input,
    outputSchema: tool.output,
    annotations: {
      title: tool.title,
      readOnlyHint: tool.floor === 'R0',
      destructiveHint: false,
      idempotentHint: tool.floor === 'R0',
      openWorldHint: false,
    },
  }
}

/** Outputs that were already turned into text, so that it is done once per answer. */
const spelled = new WeakMap<object, string>()

/** A good answer: structured for clients that read it, and the same JSON as text for those that do not. */
export function toResult(output: object, callId: string): Record<string, unknown> {
  const text = JSON.stringify(output)
  spelled.set(output, text)
  return { content: [{ type: 'text', text }], structuredContent: output, _meta: { 'handrail/call': callId } }
}

/** A message as it goes over the wire: `JSON.stringify`, but without spelling out a tool's output a second time. */
export function toWire(message: object): string {
  const { result, ...envelope } = message as { result?: Record<string, unknown> }
  const output = result?.['structuredContent']
  const text = typeof output === 'object' && output !== null ? spelled.get(output) : undefined
  if (text === undefined) return JSON.stringify(message)
  const rest = JSON.stringify({ ...result, structuredContent: undefined })
  return `${JSON.stringify(envelope).slice(0, -1)},"result":${rest.slice(0, -1)},"structuredContent":${text}}}`
}

/** The contract's error object, as text: clients reject it in `structuredContent` where an output schema exists. */
export function toErrorResult(fault: ToolError): Record<string, unknown> {
  return { content: [{ type: 'text', text: JSON.stringify(fault.toBody()) }], isError: true }
}

export const instructions = [
  'Handrail lets you work on one project folder. Paths are relative to its root, with forward slashes.',
  'To change a file: write_to_file with dryRun: true, read the diff, then the same call with dryRun: false. For small edits use replace_in_file.',
  'E_CONFLICT means the file changed: read it again and repeat the dry run. E_POLICY_VIOLATION with details.approvalId means a person must approve: tell them, then make exactly the same call again.',
  `Errors are JSON {error:{code,message,hint}}; follow the hint. Codes: ${Object.keys(errorTable).join(', ')}.`,
].join('\n')
