import { parseChoices, type Statement } from './grammar/parse.ts'
import { labelsOf } from './checks/flow.ts'

/** Most options that are looked at: a scene has a few. */
const mostSteps = 200_000

/** Written at a question on the way. */
const anything = 'A'

/**
 * The options to take, by their words, on the shortest way from the beginning of a scene to a line: fewest choices first. Nothing where no choice
 * stands before it, or where no way leads there: then a jump does as well.
 */
export function wayToLine(statements: readonly Statement[], line: number): string[] | undefined {
  const target = statements.findIndex(({ endLine }) => endLine >= line)
  const labels = labelsOf(statements)
  const byLine = new Map(statements.map((one, index) => [one.line, index]))
  const indexOf = (label: string): number | undefined => {
    const at = labels.get(label)
    return at === undefined ? undefined : byLine.get(at)
  }
  const reached = new Set<number>()
  let level: { at: number; taken: readonly string[] }[] = [{ at: 0, taken: [] }]
  let steps = 0
  while (level.length > 0 && steps < mostSteps) {
    const next: typeof level = []
    for (const start of level) {
      // Along the lines without a choice first, so that fewest choices win.
      const open = [start]
      for (let here = open.pop(); here && steps++ < mostSteps; here = open.pop()) {
        const { at, taken } = here
        if (at === target) return taken.length > 0 ? [...taken] : undefined
        const statement = statements[at]
        if (!statement || reached.has(at)) continue
        reached.add(at)
        const { command, content, args } = statement
        const isMaybe = args.some(({ key }) => key === 'when')
        if (command === 'choose') {
          for (const { target: to, words } of parseChoices(content)) {
            const place = to.includes('.') ? undefined : (indexOf(to) ?? at + 1)
            if (place !== undefined) next.push({ at: place, taken: [...taken, words] })
          }
          if (isMaybe) open.push({ at: at + 1, taken })
          continue
        }
        const leaves = command === 'end' || command === 'changeScene' || command === 'return'
        const jump = command === 'jumpLabel' ? indexOf(content) : undefined
        const after = command === 'getUserInput' ? [...taken, anything] : taken
        if (jump !== undefined) open.push({ at: jump, taken })
        if ((!leaves && jump === undefined) || isMaybe) open.push({ at: at + 1, taken: after })
      }
    }
    level = next
  }
  return undefined
}
