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

const callKey = 'handrail/call'

/** A good answer: structured for clients that read it, and the same JSON as text for those that do not. */
export function toResult(output: unknown, callId: string): Record<string, unknown> {
  return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output, _meta: { [callKey]: callId } }
}

/** A message as it goes over the wire. Where it is an answer of ours, its text *is* the JSON of its structured content and is not made twice. */
export function toWire(message: object): string {
  const { result, ...envelope } = message as {
    result?: { _meta?: object; content?: { text?: string }[]; structuredContent?: unknown }
  }
  const text = result?._meta && callKey in result._meta && result.structuredContent ? result.content?.[0]?.text : undefined
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
