import { foldLines } from './grammar/fold.ts'
import { parseStatement, type Reading, type Statement } from './grammar/parse.ts'

/** A scene as it was checked last, for whoever checks it again and again while it is typed. */
export interface Memory {
  statements: readonly Statement[]
  /** For each of them: nothing was said about it, and nothing will be as long as it stays as it is. */
  quiet: readonly boolean[]
}

export const noMemory = (): Memory => ({ statements: [], quiet: [] })

/** The statements of a scene; taken apart anew are only those between what is the same at its beginning and at its end. */
export function recall(
  { statements: before, quiet: wasQuiet }: Memory,
  text: string,
  reading: Reading,
): { statements: Statement[]; quiet: boolean[]; isQuiet(index: number): boolean } {
  const folds = [...foldLines(text, reading.continues)]
  const isSame = (old: Statement | undefined, index: number): boolean => {
    const now = folds[index]
    return (
      old !== undefined &&
      now !== undefined &&
      !now.cut &&
      old.text === now.text &&
      old.endLine - old.line === now.endLine - now.line
    )
  }
  let head = 0
  while (isSame(before[head], head)) head++
  const shift = folds.length - before.length
  let tail = folds.length
  while (tail > head && tail - 1 - shift >= head && isSame(before[tail - 1 - shift], tail - 1)) tail--
  const statements = folds.map(({ text: body, line, endLine, cut }, index): Statement => {
    const old = index < head ? before[index] : index >= tail ? before[index - shift] : undefined
    if (old) return old.line === line ? old : { ...old, line, endLine }
    const statement = parseStatement(body, line, endLine, reading)
    return cut ? { ...statement, cut } : statement
  })
  return {
    statements,
    quiet: [],
    isQuiet: (index) => (index < head ? wasQuiet[index] : index >= tail ? wasQuiet[index - shift] : false) === true,
  }
}
