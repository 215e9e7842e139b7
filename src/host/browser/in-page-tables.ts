import type { Dom, PageDom } from './in-page-dom.ts'
import type { Inherited, Level, PageWriter, Table } from './in-page-writer.ts'

export type PageTables = ReturnType<typeof pageTables>

/** Tables as rows of cells, where they are tables and not a way to lay a page out. Runs in the page. */
export function pageTables({ of, attributeOf, query }: PageDom, out: PageWriter) {
  /** Cells that are taken from above. */
  const fill = (table: Table): void => {
    while ((table.spans[table.column] ?? 0) > 0 && table.column < 200) {
      table.spans[table.column] = (table.spans[table.column] as number) - 1
      if (table.column > 0) out.push('\u0004')
      table.column++
    }
  }
  const cellsIn = (row: Dom | undefined): number =>
    row ? (of('HTMLTableRowElement', 'cells')(row) as unknown as ArrayLike<Dom>).length : 0
  const enterTable = (at: Level): void => {
    const rows = of('HTMLTableElement', 'rows')(at.element) as unknown as ArrayLike<Dom>
    if (rows.length > 1 && Math.max(cellsIn(rows[0]), cellsIn(rows[1])) > 1) at.table = { first: true, spans: [], column: 0 }
  }
  const enterRow = (at: Level, outer: Inherited): void => {
    const { table } = outer
    out.flush(outer)
    if (!table) return out.after(at, () => out.flush(at))
    at.inline = 1
    table.column = 0
    out.after(at, () => {
      fill(table)
      const was = [out.kind, out.level] as const
      ;[out.kind, out.level] = ['tr', table.first ? 1 : 0]
      if (out.words > 0) table.first = false
      out.flush({ ...at, inline: 0 })
      ;[out.kind, out.level] = was
    })
  }
  const enterCell = (at: Level, table: Table): void => {
    fill(table)
    if (table.column > 0) out.push('\u0004')
    const span = (name: string, up: number): number => Math.min(up, Math.max(1, Number(attributeOf(at.element, name)) || 1))
    const [across, down] = [span('colspan', 20), span('rowspan', 1_000)]
    if (table.column < 200)
      for (let column = table.column; column < table.column + across; column++) table.spans[column] = down - 1
    table.column += across
    out.after(at, () => out.push('\u0004'.repeat(across - 1)))
  }
  return {
    enter(at: Level, outer: Inherited, tag: string, role: string | null): void {
      const isData = role !== 'presentation' && role !== 'none'
      if (tag === 'table' && outer.inline === 0 && isData && !query(at.element, 'table,pre,h1,h2,h3')) enterTable(at)
      if (tag === 'tr' && outer.inline === 0) enterRow(at, outer)
      if ((tag === 'td' || tag === 'th') && outer.inline === 1 && outer.table) enterCell(at, outer.table)
    },
  }
}
