import type { AuditLine } from '../../contracts/audit.ts'
import { oneLine, table } from './print.ts'
import { columns } from './screen-rows.ts'
import { shortId } from './whole-id.ts'

/** Lines of the log under headings, each with the command it is about where a line among them says it. */
export function auditTable(lines: readonly AuditLine[]): string {
  const commands = new Map(
    lines.flatMap((line) => (line.call !== undefined && commandIn(line) ? [[line.call, commandIn(line)]] : [])),
  )
  return table(
    headings(),
    lines.map((line) => auditRow(line, line.call === undefined ? undefined : commands.get(line.call))),
  )
}

const isScreen = (): boolean => Number.isFinite(columns())

/** A screen has no room for a column of who did it: there it stands before what was done. */
const headings = (): string[] => [
  'line',
  'time',
  'event',
  'outcome',
  ...(isScreen() ? [] : ['by']),
  'id',
  isScreen() ? '' : 'what',
]

export function auditRow(line: AuditLine, command = commandIn(line)): string[] {
  const did = [line.tool, command, pathsIn(line).join(', '), line.evidence?.join(', ')].filter(Boolean).join(' ')
  const by = oneLine(line.by ?? line.client ?? '', 24)
  const what = [...(isScreen() ? [by] : []), did, line.message].filter(Boolean).join(': ')
  return [
    String(line.seq),
    timeOf(line.at),
    line.event,
    outcomeOf(line),
    ...(isScreen() ? [] : [by]),
    shortId(line.call ?? line.approval ?? line.session ?? ''),
    oneLine(what, 120),
  ]
}

/** At a screen the day is said only where it is another one than today. */
function timeOf(at: string): string {
  const isToday = at.slice(0, 10) === new Date().toISOString().slice(0, 10)
  return isScreen() && isToday ? `${at.slice(11, 19)}Z` : at.slice(0, 19).replace('T', ' ')
}

/** A program that failed was called all right, and is not all right. */
function outcomeOf({ error, outcome, approved, details }: AuditLine): string {
  if (error !== undefined) return error
  const { exitCode } = (details ?? {}) as { exitCode?: unknown }
  if (typeof exitCode === 'number' && exitCode !== 0) return `exited ${exitCode}`
  return outcome ?? (approved === undefined ? '' : approved ? 'approved' : 'denied')
}

function commandIn({ input }: AuditLine): string | undefined {
  const given = (input ?? {}) as Record<string, unknown>
  const said = ['command', 'script_path', 'templateId', 'url'].map((name) => given[name]).find((one) => typeof one === 'string')
  const args = Array.isArray(given['args']) ? given['args'].filter((one) => typeof one === 'string') : []
  return said === undefined ? undefined : oneLine([said, ...args].join(' '), 80)
}

export function pathsIn(line: AuditLine): string[] {
  const touches = Array.isArray(line.touches) ? (line.touches as { path?: string }[]) : []
  return touches.flatMap(({ path }) => path || [])
}
