/** What a tool counts when it says a column. */
export type ColumnUnit = 'utf-16' | 'bytes' | 'code-points'

/** oxlint counts bytes, Biome counts characters, everybody else counts as JavaScript does. */
export const columnUnits: Readonly<Record<string, ColumnUnit>> = { oxlint: 'bytes', biome: 'code-points' }

/** The same column in UTF-16 units, given the line it is on. Both count from 1. */
export function inUtf16(column: number, line: string, unit: ColumnUnit): number {
  if (unit === 'utf-16') return column
  let counted = 1
  let units = 1
  for (const character of line) {
    if (counted >= column) break
    counted += unit === 'bytes' ? Buffer.byteLength(character) : 1
    units += character.length
  }
  return units
}
