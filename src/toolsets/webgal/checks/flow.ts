import type { Finding } from '../finding.ts'
import { commands } from '../grammar/commands.ts'
import type { Statement } from '../grammar/parse.ts'

/** Labels of a scene with their lines; the last of two equal ones counts. */
export function labelsOf(statements: readonly Statement[]): Map<string, number> {
  const labels = new Map<string, number>()
  for (const { command, content, line } of statements) if (command === 'label') labels.set(content, line)
  return labels
}

/** What is never reached, and labels that hide each other. */
export function checkFlow(statements: readonly Statement[]): Finding[] {
  const found: Finding[] = []
  const first = new Map<string, number>()
  let left: Statement | undefined
  for (const statement of statements) {
    const { command, content, line } = statement
    if (command === 'comment') continue
    if (command === 'label') {
      left = undefined
      if (first.has(content))
        found.push({ line, code: 'duplicate-label', about: { label: content, first: first.get(content) as number } })
      else first.set(content, line)
      continue
    }
    if (left) {
      found.push({ line, code: 'unreachable', about: { line: left.line, command: left.command } })
      left = undefined
      continue
    }
    if (commands[command]?.leaves && leavesSurely(statement)) left = statement
  }
  return found
}

function leavesSurely({ args, content, command }: Statement): boolean {
  if (args.some(({ key }) => key === 'when')) return false
  return command === 'end' || command === 'return' || content !== ''
}
