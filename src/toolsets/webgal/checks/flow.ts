import type { Finding } from '../finding.ts'
import { commands } from '../grammar/commands.ts'
import type { Statement } from '../grammar/parse.ts'
import { isOpen } from './expressions.ts'

/** Labels of a scene with their lines; the last of two equal ones counts. */
export function labelsOf(statements: readonly Statement[]): Map<string, number> {
  const labels = new Map<string, number>()
  for (const { command, content, line } of statements) if (command === 'label') labels.set(content, line)
  return labels
}

/** What is never reached, and labels that hide each other. */
export function checkFlow(
  statements: readonly Statement[],
  labels: ReadonlyMap<string, number>,
  add: (finding: Finding) => void,
): void {
  const first = new Map<string, number>()
  let left: Statement | undefined
  for (const statement of statements) {
    const { command, content, line } = statement
    if (command === 'comment' || command === 'say') {
      if (left && command === 'say') {
        add({ line, code: 'unreachable', about: { line: left.line, command: left.command } })
        left = undefined
      }
      continue
    }
    if (command === 'label') {
      left = undefined
      const before = first.get(content)
      if (before === undefined) first.set(content, line)
      else add({ line, code: 'duplicate-label', about: { label: content, first: before } })
      continue
    }
    if (left) {
      add({ line, code: 'unreachable', about: { line: left.line, command: left.command } })
      left = undefined
    } else if (commands[command]?.leaves && leavesSurely(statement, labels)) left = statement
  }
}

/** A jump to a label that is not there does not happen. */
function leavesSurely({ args, content, command }: Statement, labels: ReadonlyMap<string, number>): boolean {
  if (args.some(({ key }) => key === 'when')) return false
  if (command === 'jumpLabel') return labels.has(content) || isOpen(content)
  return command === 'end' || command === 'return' || content !== ''
}
