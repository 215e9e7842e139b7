import { Fault, type ToolNames } from './faults/fault.ts'
import type { Attachment } from './tool.ts'

type Fields = Readonly<Record<string, unknown>>

/** One act as a surface's callers know it: another name and other shapes for a tool of the kernel, which checks and does everything. */
export interface DialectRow {
  /** The kernel's tool. */
  tool: string
  /** The caller's input as that tool takes it. Nothing has been checked yet; the kernel checks what comes of it. Absent: as it is. */
  input?: (given: Fields) => Fields
  /** That tool's output as the caller knows it. Absent: as it is. */
  result?: (output: Fields, given: Fields) => unknown
}

/** A surface's names and shapes, as data: its rows, its envelope for a result, its table of faults. Adding one adds no tool. */
export interface Dialect<Answer> {
  /** By the caller's name for the act. Absent: every tool, under the kernel's name and in its shapes. */
  rows?: Readonly<Record<string, DialectRow>>
  answer(result: unknown, done: { callId: string; attachments: readonly Attachment[] }): Answer
  /** By the contract's table from reasons to codes; `names` is for the hint. */
  failure(fault: Fault, names: ToolNames): Answer
}

/** An act of a caller, as the kernel knows it. */
export interface Act {
  tool: string
  input: unknown
  result(output: unknown): unknown
}

/** What a caller asks for by a name and with an input of its own. */
export function actIn({ rows }: Pick<Dialect<unknown>, 'rows'>, name: string, given: unknown): Act {
  if (!rows) return { tool: name, input: given, result: (output) => output }
  const row = Object.hasOwn(rows, name) ? rows[name] : undefined
  if (!row)
    throw new Fault('unknown-tool', `No such tool: ${name.slice(0, 100)}`, {
      details: { tools: Object.keys(rows) },
      hint: 'Choose one of the listed tools.',
    })
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Fault('bad-input', `Bad arguments for ${name}: they must be an object`, { hint: 'Send the fields by their names.' })
  const { tool, input = (fields: Fields) => fields, result = (output: Fields) => output } = row
  return { tool, input: input(given as Fields), result: (output) => result(output as Fields, given as Fields) }
}

/** How the callers of a dialect call our tools. Where two names lead to one tool, the first is the one they are told. */
export function namesIn({ rows }: Pick<Dialect<unknown>, 'rows'>): ToolNames {
  if (!rows) return (tool) => tool
  return (tool) => Object.keys(rows).find((name) => rows[name]?.tool === tool)
}
