import { Fault } from '../../contracts/faults/fault.ts'
import type { ToolContext } from '../../contracts/tool.ts'
import type { MountAnswer } from '../../host/mcp/connection.ts'
import { oneLine } from '../../text/printable.ts'

/** What is handed on of an answer. */
const most = { characters: 1_048_576, blocks: 256, pictures: 8, pictureBytes: 8_388_608, structured: 1_048_576 }

type Block = { type: string } & Record<string, unknown>

export interface MountedOutput {
  content: Block[]
  structuredContent?: Record<string, unknown>
  cut?: true
}

/**
 * What a server answered, as data and within bounds. Pictures go beside it; in their place stands which of those it is. `_meta` is between the
 * server and its client, and stays here.
 */
export function outputOf(
  server: string,
  tool: string,
  { content, structuredContent, isError }: MountAnswer,
  call: Pick<ToolContext, 'attach' | 'keep'>,
  screen: boolean,
): MountedOutput {
  let left = most.characters
  let pictures = 0
  let cut = content.length > most.blocks
  const words = (text: string): string => {
    const part = text.slice(0, left).toWellFormed()
    left -= part.length
    if (part.length < text.length) cut = true
    return part
  }
  const blocks = content.slice(0, most.blocks).map((block): Block => {
    const { type, text, data, mimeType } = block
    if (type === 'text' && typeof text === 'string') return { type, text: words(text) }
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') {
      if (pictures === most.pictures || data.length > most.pictureBytes || !/^image\/[a-z0-9.+-]{1,40}$/.test(mimeType)) {
        cut = true
        return { type: 'text', text: '[a picture that is too large, or one too many, was left out]' }
      }
      const bytes = Buffer.from(data, 'base64')
      call.attach?.({ mimeType, bytes })
      if (screen) call.keep(`screen-${pictures + 1}.${mimeType.slice(6).replace(/\W.*/, '')}`, bytes)
      return { type: 'image', mimeType, picture: pictures++ }
    }
    const { _meta: _, ...rest } = block
    const other = JSON.stringify(rest)
    if (other.length <= left && type !== 'audio') {
      left -= other.length
      return { ...rest, type: String(type) }
    }
    cut = true
    return { type: 'text', text: `[${oneLine(String(type), 40)} was left out]` }
  })
  if (isError) throw refused(server, tool, blocks)
  const structured = isRecord(structuredContent) && JSON.stringify(structuredContent).length <= most.structured
  return {
    content: blocks,
    ...(structured && { structuredContent }),
    ...((cut || (structuredContent !== undefined && !structured)) && { cut: true as const }),
  }
}

/** It said itself that it failed: in its own words, which are data. */
function refused(server: string, tool: string, blocks: readonly Record<string, unknown>[]): Fault {
  const said = blocks.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
  return new Fault('mount-failed', `${tool} of the MCP server ${server} failed. It says: ${said.slice(0, 8_000)}`, {
    details: { server, tool },
    hint: 'The words are the server’s, not Handrail’s. What it had done by then stays done.',
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
