import { errorTable, errorBodyOf } from '../../contracts/faults/contract-000.ts'
import { toolErrorOf } from '../../contracts/faults/contract-002.ts'
import type { Fault, ToolNames } from '../../contracts/faults/fault.ts'
import type { Dialect } from '../../contracts/dialect.ts'
import type { Attachment, Tool } from '../../contracts/tool.ts'
import { wireName } from '../../text/mount-names.ts'

const drawn = (path: string): { src: string; mimeType: string; sizes: string[] }[] => [
  {
    src: `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="${path}"/></svg>`)}`,
    mimeType: 'image/svg+xml',
    sizes: ['any'],
  },
]

/** Small enough to travel with every list. */
export const icons = {
  handrail: drawn('M1 4h14v2H1zM3 6h1v8H3zM12 6h1v8h-1z'),
  read: drawn('M2 1h9l3 3v11H2zM4 6h8v1H4zM4 9h8v1H4z'),
  change: drawn('M11 1l4 4-9 9H2v-4z'),
  person: drawn('M8 1a3 3 0 1 1 0 7 3 3 0 0 1 0-7zM2 15c0-7 12-7 12 0z'),
}

/** What `tools/list` says of a tool. A hint only: the kernel decides. */
export function describeTool(tool: Tool): Record<string, unknown> {
  const reads = tool.floor === 'R0'
  return {
    name: wireName(tool.name),
    title: tool.title,
    description: tool.description,
    inputSchema: publishable(tool.input),
    // What a mounted server answers is passed on as it answered it.
    // A tool with an output schema must answer with structured content, and then Codex shows its model nothing else: no picture.
    ...(!tool.pictures && tool.definition === undefined && { outputSchema: publishable(tool.output) }),
    annotations: {
      title: tool.title,
      readOnlyHint: reads,
      // What can be undone, and what runs on a stage, destroys nothing; a program that is not confined, or gets the network, has been
      // agreed to by the person before. Clients ask once more, or refuse headless, where this says otherwise.
      destructiveHint: tool.floor === 'R3' || (tool.definition !== undefined && !reads),
      idempotentHint: reads,
      openWorldHint: tool.floor === 'R3' || tool.definition !== undefined,
    },
    icons: tool.asks ? icons.person : reads ? icons.read : icons.change,
  }
}

/**
 * A schema as clients can take it. Claude Code silently drops a tool whose schema combines others at its root; Gemini CLI compiles a schema
 * with an `$id` once and stops checking from then on. The kernel still checks the whole contract.
 */
export function publishable(schema: object): object {
  const { $id: _, oneOf: __, anyOf: ___, allOf: ____, ...rest } = schema as Record<string, unknown>
  return rest
}

/** How much of a model's attention the list of tools takes: clients give it names, descriptions and inputs, and nothing else. */
export function listBytes(tools: readonly Tool[]): number {
  const read = tools.map(describeTool).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  return Buffer.byteLength(JSON.stringify(read))
}

/** Under it an answer of ours names its call. */
export const callKey = 'handrail/call'

/**
 * A good answer: structured for clients that read it, the same JSON as text for those that do not. Where it has pictures there is no
 * structured content, since some clients would pass that on and nothing else. The text is made when it is looked at: `toWire` makes its own.
 */
export function toResult(output: unknown, callId: string, attachments: readonly Attachment[] = []): Record<string, unknown> {
  const pictures = attachments.map(({ mimeType, bytes }) => ({
    type: 'image',
    mimeType,
    data: Buffer.from(bytes).toString('base64'),
  }))
  let json: string | undefined
  const words = {
    type: 'text',
    get text() {
      return (json ??= JSON.stringify(output))
    },
  }
  return {
    content: [words, ...pictures],
    ...(pictures.length === 0 && { structuredContent: output }),
    _meta: { [callKey]: callId },
  }
}

/** What a mounted server answered, in the shape it answered it in: our own is for those who speak to the kernel. */
export function toMountedResult(output: unknown, callId: string, attachments: readonly Attachment[]): Record<string, unknown> {
  const { content, structuredContent, approvalNote } = output as {
    content: ({ type: string; picture?: number } & Record<string, unknown>)[]
    structuredContent?: object
    approvalNote?: string
  }
  const blocks = content.map((block) => {
    const shown = block.type === 'image' && block.picture !== undefined ? attachments[block.picture] : undefined
    return shown ? { type: 'image', mimeType: shown.mimeType, data: Buffer.from(shown.bytes).toString('base64') } : block
  })
  const said = approvalNote === undefined ? [] : [{ type: 'text', text: `What the person said with their yes: ${approvalNote}` }]
  return { content: [...blocks, ...said], ...(structuredContent && { structuredContent }), _meta: { [mountedCallKey]: callId } }
}

/** Not the key of an answer of ours, whose content and structure are one and the same. */
const mountedCallKey = 'handrail/mounted-call'

/** The contract's error object, as text: clients reject it in `structuredContent` where an output schema exists. */
export function toErrorResult(fault: Fault): Record<string, unknown> {
  return { content: [{ type: 'text', text: JSON.stringify(errorBodyOf(fault)) }], isError: true }
}

/** The tools of contract 002 tell their faults with its codes, the others with those of contract 000. */
export function failureOf(tool: Pick<Tool, 'toolset'> | undefined, fault: Fault, names: ToolNames): Record<string, unknown> {
  if (tool?.toolset !== 'runs') return mcp.failure(fault, names)
  return { content: [{ type: 'text', text: JSON.stringify(toolErrorOf(fault, names)) }], isError: true }
}

/** Every tool under the kernel's name and in its shapes, in MCP's envelope; the codes are contract 000's. */
export const mcp: Dialect<Record<string, unknown>> = {
  answer: (result, { callId, attachments }) => toResult(result, callId, attachments),
  failure: toErrorResult,
}

export const instructions = [
  'Handrail lets you work on one project folder. Paths are relative to its root, with forward slashes. Every change can be undone and is written down.',
  'To change a file: make the dry run first (replace_in_file or write_to_file with dryRun: true), read the diff as a reviewer would, correct what you did not mean, then make the same call with dryRun: false. For a small edit use replace_in_file; it sends only what changes.',
  'A dry run costs nothing and asks nobody: use it to see the effect instead of guessing it. It counts only for exactly the same arguments on the same state of the file.',
  'E_CONFLICT: the file changed; read it again and repeat the dry run. E_POLICY_VIOLATION with details.approvalId: a person must agree; tell them, then make exactly the same call again. After a decline do something else; do not repeat it.',
  'Programs run on a stage. Plain changes of files are applied at once and can be undone. Anything more waits for the person: details.ran of the error has the output and what would change, and the same call made again after their yes commits exactly that, without running again. not_applied in an answer says what never happens in the project (git commits, installs): read it before the exit code.',
  'To take a change back: list_snapshots, restore_snapshot for the content, then write_to_file; or tell the person to run `handrail undo`.',
  `Errors are JSON {error:{code,message,hint}}; follow the hint. Codes: ${Object.keys(errorTable).join(', ')}.`,
].join('\n')
