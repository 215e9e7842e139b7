import { join } from 'node:path'
import type { CardChange, Card } from '../../contracts/tool.ts'
import type { LineDiff } from '../../contracts/line-diff.ts'
import { isMountedId } from '../../text/mount-names.ts'
import { cardText, formLimits, oneLine, printableBlock, restLines } from '../../text/printable.ts'
import type { ContentBlock, SessionUpdate, ToolCallContent, ToolCallLocation, ToolKind } from './sdk.ts'

/** Our tools as an editor sorts them. */
const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'read',
  list_snapshots: 'read',
  restore_snapshot: 'read',
  get_runtime_info: 'read',
  search_files: 'search',
  write_to_file: 'edit',
  replace_in_file: 'edit',
  replace_in_files: 'edit',
  apply_patch_plan: 'edit',
  shell: 'execute',
  execute_command: 'execute',
  python_run: 'execute',
  script_run: 'execute',
  agent_run: 'execute',
  run_checks: 'execute',
  browser_action: 'fetch',
  visit_page: 'fetch',
}

export const kindOf = (tool: string): ToolKind => kinds[tool] ?? (isMountedId(tool) ? 'execute' : 'other')

/** What stands above a call: the tool and what it is about. */
export function titleOf(tool: string, input: Readonly<Record<string, unknown>>): string {
  const about = ['path', 'command', 'url', 'query', 'script_path']
    .map((name) => input[name])
    .find((one) => typeof one === 'string')
  return about === undefined ? tool : oneLine(`${tool} ${about as string}`, 120)
}

export function locationsOf(project: string, input: Readonly<Record<string, unknown>>): ToolCallLocation[] {
  const { path } = input
  return typeof path === 'string' && path.length < 4_096 && isInside(project, path) ? [{ path: join(project, path) }] : []
}

/** An editor opens what it is told of: of the project that is, and of no other root (`//name/…`). */
const isInside = (project: string, path: string): boolean =>
  !path.startsWith('//') && join(project, path).startsWith(`${project}/`)

const textOf = (text: string): ToolCallContent => ({ type: 'content', content: { type: 'text', text } })

/** The client's own diff: each place of a change by itself, since that is what is known of it. */
export function diffsOf(project: string, path: string, diff: LineDiff): ToolCallContent[] {
  if (!isInside(project, path)) return []
  return diff.hunks.map(({ linesOld, linesNew, startOld }) => ({
    type: 'diff',
    path: join(project, path),
    oldText: startOld <= 1 && linesOld.length === 0 ? null : linesOld.join('\n'),
    newText: linesNew.join('\n'),
  }))
}

/**
 * A card as the client shows it: in words, with what cannot be seen written out, and beside them its own diffs, which show such characters as
 * they please. Where there is too much for a form, what is known of each change.
 */
export function cardContent(project: string, card: Card): ToolCallContent[] {
  const { title, changes, notes = [] } = card
  const { text } = cardText(card, formLimits)
  const told = changes.flatMap(({ path, says }: CardChange) => (says === undefined ? [] : [`${path}: ${says}`]))
  const words = text === '' ? [...told, ...restLines(card), ...notes].map(printableBlock) : [text]
  return [
    textOf([printableBlock(title), ...words].join('\n')),
    ...changes.flatMap(({ path, diff }) => diffsOf(project, path, diff)),
  ]
}

/** What came of a call, within reason. */
export function resultContent(project: string, result: Readonly<Record<string, unknown>>): ToolCallContent[] {
  const { text, diff, path } = result
  const hunks = (diff as Partial<LineDiff> | undefined)?.hunks
  const diffs = typeof path === 'string' && Array.isArray(hunks) ? diffsOf(project, path, diff as LineDiff) : []
  return [...(typeof text === 'string' && text !== '' ? [textOf(text.slice(0, 20_000))] : []), ...diffs]
}

/** The words of a prompt. What a client embeds is data beside them. */
export function wordsOf(blocks: readonly ContentBlock[]): string {
  return blocks
    .map((block) => {
      if (block.type === 'text') return block.text
      if (block.type === 'resource_link') return `[${block.name}](${block.uri})`
      if (block.type === 'resource' && 'text' in block.resource)
        return `\n<resource uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</resource>\n`
      return ''
    })
    .join('')
    .slice(0, 262_144)
}

export const said = (text: string): SessionUpdate => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
