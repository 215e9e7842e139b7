import type { CardChange } from '../../contracts/tool.ts'

const mostRows = 200
/** Longer ones are cut, and that is seen. */
export const longestRow = 400

/** Rows for a card, as many as somebody reads. */
export function insideOf(
  what: NonNullable<CardChange['inside']>['what'],
  rows: readonly string[] | undefined,
  beyond = 0,
): Pick<CardChange, 'inside'> {
  if (!rows?.length) return {}
  const more = Math.max(0, rows.length - mostRows) + beyond
  const shown = rows.slice(0, mostRows).map((row) => (row.length > longestRow ? `${row.slice(0, longestRow)}…` : row))
  return { inside: { what, rows: shown, ...(more > 0 && { more }) } }
}
