import type { ScriptRange, ScriptSymbol } from '../../../contracts/script-editor.ts'
import { short } from '../finding.ts'
import type { Language } from '../language.ts'
import { readStatements, type Occurrence } from './occurrences.ts'

/** More than an outline shows. */
const most = 5_000

export const labelsIn = (occurrences: readonly Occurrence[]): string[] => [
  ...new Set(occurrences.filter(({ kind, defines }) => kind === 'label' && defines).map(({ name }) => name)),
]

/** The outline of a scene: labels, and below each what is decided there. */
export function symbolsOf(text: string, language: Language): ScriptSymbol[] {
  const found: ScriptSymbol[] = []
  let label: ScriptSymbol | undefined
  let count = 0
  let last = { line: 0, character: 0 }
  for (const { statement, folded } of readStatements(text, language)) {
    const { command, content, line, endLine } = statement
    last = { line: endLine - 1, character: line === endLine ? folded.text.length : 0 }
    if (command !== 'label' && label) label.range = { start: label.range.start, end: last }
    const kind = kinds[command]
    if (!kind || content === '' || count++ >= most) continue
    const range: ScriptRange = { start: { line: line - 1, character: 0 }, end: last }
    const symbol: ScriptSymbol = { name: short(content, 80), kind, range }
    if (command === 'label') found.push((label = { ...symbol, children: [] }))
    else (label?.children ?? found).push(symbol)
  }
  return found
}

const kinds: Readonly<Record<string, ScriptSymbol['kind'] | undefined>> = {
  label: 'label',
  choose: 'choice',
  changeScene: 'scene',
  callScene: 'scene',
  setVar: 'variable',
  getUserInput: 'variable',
}
