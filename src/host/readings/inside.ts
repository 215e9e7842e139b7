import type { CardChange } from '../../contracts/tool.ts'

const mostRows = 200
const longestRow = 400

/** Rows for a card, as many as somebody reads. */
export function insideOf(what: 'packages' | 'archive', rows: readonly string[] | undefined): Pick<CardChange, 'inside'> {
  if (!rows?.length) return {}
  const more = rows.length - mostRows
  const shown = rows.slice(0, mostRows).map((row) => (row.length > longestRow ? `${row.slice(0, longestRow)}…` : row))
  return { inside: { what, rows: shown, ...(more > 0 && { more }) } }
}
