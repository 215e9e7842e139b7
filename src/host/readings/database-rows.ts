/** What two states of a database file differ in, for a card. */
export interface DatabaseRows {
  rows: string[]
  /** Rows beyond those. */
  more: number
  /** What lies in the log beside it (`-wal`) is not in it yet. */
  wal: boolean
}

/** Beyond these rows are only counted: comparing them is worth nobody's memory. */
export interface DatabaseLimits {
  rows: number
  told: number
  /** Of one row that is told, in characters: what is beyond is never brought over from the thread. */
  longest: number
}

/**
 * Reads SQLite files by their format, as far as rows of tables go, and says what comes, goes and changes. It is handed to a thread as source, and must
 * not refer to anything outside itself. It reads bytes and nothing else: no SQL of the file is run, no trigger, view, extension or second file is
 * touched, each page is looked at once, and whatever does not fit the format, or could be read in two ways, makes it give up. What differs in any byte
 * is told as different, also where it looks the same.
 */
export function makeDatabaseReader(): (
  before: Uint8Array,
  after: Uint8Array,
  limits: DatabaseLimits,
) => DatabaseRows | undefined {
  type Row = Uint8Array
  interface Table {
    name: string
    columns: string[]
    /** The column that is another name for the number of a row; its value stands nowhere else. */
    key: number
    count: number
    /** By their number, or, in a table without such, by all that is in them; none where there are too many. */
    rows: Map<string, Row> | undefined
    byNumber: boolean
  }
  interface Read {
    /** What programs keep in its head, by name. */
    head: Map<string, string>
    schema: Map<string, string>
    tables: Map<string, Table>
    wal: boolean
    encoding: string
    decoder: (bytes: Uint8Array) => string
  }
  interface Cell {
    type: number
    bytes: Uint8Array
    value: unknown
  }
  /** SQLite itself has no more than this, unless it was built to. */
  const mostColumns = 32_767
  const broken = (): never => {
    throw new Error('no such database')
  }

  const read = (bytes: Uint8Array, most: number): Read => {
    const utf8 = new TextDecoder('utf-8')
    if (bytes.length === 0)
      return {
        head: new Map(),
        schema: new Map(),
        tables: new Map(),
        wal: false,
        encoding: '',
        decoder: (some) => utf8.decode(some),
      }
    if (bytes.length < 512 || utf8.decode(bytes.subarray(0, 16)) !== 'SQLite format 3\0') broken()
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const stated = view.getUint16(16)
    const pageSize = stated === 1 ? 65_536 : stated
    const usable = pageSize - (bytes[20] ?? 0)
    if (pageSize < 512 || (pageSize & (pageSize - 1)) !== 0 || usable < 480) broken()
    const encoding = ['utf-8', 'utf-8', 'utf-16le', 'utf-16be'][view.getUint32(56)] ?? broken()
    const text = new TextDecoder(encoding, { ignoreBOM: true })
    const decoder = (some: Uint8Array): string => text.decode(some)
    const seen = new Set<number>()
    const pageAt = (page: number): number => {
      const at = (page - 1) * pageSize
      if (page < 1 || at + pageSize > bytes.length || seen.has(page)) broken()
      seen.add(page)
      return at
    }
    const numberAt = (from: number): [number, number] => {
      let value = 0
      for (let at = from; at < from + 9; at++) {
        const byte = bytes[at] ?? broken()
        if (at === from + 8) return [value * 256 + byte, at + 1]
        value = value * 128 + (byte & 0x7f)
        if (byte < 0x80) return [value, at + 1]
      }
      return broken()
    }
    /** The number of a row, to its last bit. */
    const rowAt = (from: number): [string, number] => {
      let value = 0n
      for (let at = from; at < from + 9; at++) {
        const byte = bytes[at] ?? broken()
        value = at === from + 8 ? (value << 8n) | BigInt(byte) : (value << 7n) | BigInt(byte & 0x7f)
        if (byte < 0x80 || at === from + 8) return [String(BigInt.asIntN(64, value)), at + 1]
      }
      return broken()
    }
    /** The bytes of a row, with those on pages of their own. */
    const payload = (from: number, length: number, isIndex: boolean): Row => {
      if (length > bytes.length) broken()
      const inPage = isIndex ? Math.floor(((usable - 12) * 64) / 255) - 23 : usable - 35
      if (length <= inPage) {
        if (from + length > bytes.length) broken()
        return bytes.subarray(from, from + length)
      }
      const least = Math.floor(((usable - 12) * 32) / 255) - 23
      const wanted = least + ((length - least) % (usable - 4))
      const local = wanted <= inPage ? wanted : least
      if (from + local + 4 > bytes.length) broken()
      const whole = new Uint8Array(length)
      whole.set(bytes.subarray(from, from + local))
      let done = local
      for (let next = view.getUint32(from + local); done < length;) {
        const at = pageAt(next)
        const part = Math.min(length - done, usable - 4)
        whole.set(bytes.subarray(at + 4, at + 4 + part), done)
        done += part
        next = view.getUint32(at)
      }
      return whole
    }
    /** Every row of a tree. */
    const walk = (root: number, row: (number: string | undefined, bytes: Row) => void): void => {
      const pages = [root]
      let ofIndex: boolean | undefined
      for (let page = pages.pop(); page !== undefined; page = pages.pop()) {
        const start = pageAt(page)
        const head = start + (page === 1 ? 100 : 0)
        const kind = bytes[head]
        if (kind !== 2 && kind !== 5 && kind !== 10 && kind !== 13) broken()
        const isIndex = kind === 2 || kind === 10
        const isInner = kind === 2 || kind === 5
        if ((ofIndex ??= isIndex) !== isIndex) broken()
        const cells = view.getUint16(head + 3)
        const list = head + (isInner ? 12 : 8)
        if (list + 2 * cells > start + pageSize) broken()
        if (isInner) pages.push(view.getUint32(head + 8))
        for (let cell = 0; cell < cells; cell++) {
          let at = start + view.getUint16(list + 2 * cell)
          if (at + 4 > start + pageSize) broken()
          if (isInner) {
            pages.push(view.getUint32(at))
            at += 4
          }
          if (kind === 5) continue
          const [length, after] = numberAt(at)
          if (isIndex) row(undefined, payload(after, length, true))
          else {
            const [number, from] = rowAt(after)
            row(number, payload(from, length, false))
          }
        }
      }
    }

    const found: { type: string; name: string; root: number; sql: string }[] = []
    const schema = new Map<string, string>()
    walk(1, (_, bytesOf) => {
      // Whatever kind of value it is, SQLite takes it as text, and its kind in any case.
      const textAt = (cell: Cell | undefined): string =>
        cell?.value instanceof Uint8Array ? decoder(cell.value) : String(cell?.value ?? '')
      const cells = cellsOf(bytesOf, decoder)
      const [type, name, sql] = [textAt(cells[0]).toLowerCase(), textAt(cells[1]), textAt(cells[4])]
      const key = `${type} ${name}`
      if (found.length > 10_000 || !/^(table|index|view|trigger)$/.test(type) || schema.has(key)) broken()
      schema.set(key, sql)
      found.push({ type, name, root: Number(textAt(cells[3])), sql })
    })
    const tables = new Map<string, Table>()
    let left = most
    for (const { type, name, root, sql } of found) {
      if (type !== 'table' || root === 0) continue
      if (!Number.isInteger(root)) broken()
      const table: Table = { name, ...columnsOf(sql), count: 0, rows: new Map(), byNumber: true }
      walk(root, (number, bytesOf) => {
        table.count++
        if (number === undefined) table.byNumber = false
        if (--left < 0) table.rows = undefined
        // Two rows of one number: which of them a program finds depends on how it looks.
        if (number !== undefined && table.rows?.has(number)) broken()
        table.rows?.set(number ?? keyOf(bytesOf), bytesOf)
      })
      // Their values lie in another order than their columns were named.
      if (!table.byNumber) Object.assign(table, { columns: [], key: -1 })
      tables.set(name, table)
    }
    const wal = bytes[18] === 2 || bytes[19] === 2
    const head = new Map([
      ['encoding', encoding],
      ['user_version', String(view.getInt32(60))],
      ['application_id', String(view.getInt32(68))],
    ])
    return { head, schema, tables, wal, encoding, decoder }
  }

  const keyOf = (row: Row): string => {
    let key = ''
    for (let at = 0; at < row.length; at += 8_192) key += String.fromCharCode(...row.subarray(at, at + 8_192))
    return key
  }

  /** The values of one row, as its own head says they lie. */
  const cellsOf = (row: Row, decoder: (bytes: Uint8Array) => string): Cell[] => {
    const view = new DataView(row.buffer, row.byteOffset, row.byteLength)
    const numberAt = (from: number): [number, number] => {
      let value = 0
      for (let at = from; at < from + 9; at++) {
        const byte = row[at] ?? broken()
        if (at === from + 8) return [value * 256 + byte, at + 1]
        value = value * 128 + (byte & 0x7f)
        if (byte < 0x80) return [value, at + 1]
      }
      return broken()
    }
    const integer = (at: number, length: number): number | bigint => {
      let value = BigInt(view.getInt8(at))
      for (let more = 1; more < length; more++) value = (value << 8n) | BigInt(view.getUint8(at + more))
      return value >= -9_007_199_254_740_991n && value <= 9_007_199_254_740_991n ? Number(value) : value
    }
    const valueOf = (type: number, at: number, own: Uint8Array): unknown => {
      if (type === 0) return null
      if (type === 8 || type === 9) return type - 8
      if (type <= 6) return integer(at, own.length)
      if (type === 7) return view.getFloat64(at)
      return type >= 13 && type % 2 === 1 ? decoder(own) : own
    }
    const [headEnd, begin] = numberAt(0)
    if (headEnd > row.length) broken()
    const cells: Cell[] = []
    let body = headEnd
    for (let at = begin; at < headEnd;) {
      if (cells.length >= mostColumns) broken()
      const [type, next] = numberAt(at)
      at = next
      const length = type >= 12 ? Math.floor((type - 12) / 2) : ([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][type] ?? 0)
      if (body + length > row.length) broken()
      const own = row.subarray(body, body + length)
      cells.push({ type, bytes: own, value: valueOf(type, body, own) })
      body += length
    }
    return cells
  }

  /**
   * Names of columns, by what made the table; where that is beyond this, by their places. A name beside the value of another column would be a lie: what
   * only looks like a column, in a comment or a quoted name, is none, and where a column may be one that is worked out no name is believed.
   */
  const columnsOf = (sql: string): { columns: string[]; key: number } => {
    const none = { columns: [], key: -1 }
    const columns: string[] = []
    if (sql.length > 65_536) return none
    let [depth, part, key] = [0, '', -1]
    // What is opened and not closed goes to the end: whatever is written, each sign is looked at once.
    const signs =
      /--[^\n]*|\/\*[^]*?(?:\*\/|$)|"(?:[^"]|"")*(?:"|$)|'(?:[^']|'')*(?:'|$)|`(?:[^`]|``)*(?:`|$)|\[[^\]]*(?:\]|$)|[^]/g
    for (const [sign] of sql.matchAll(signs)) {
      if (sign === '(') depth++
      else if (sign === ')') depth--
      const ends = depth === 0 ? sign === ')' : depth === 1 && sign === ','
      if (!ends) {
        if (depth === 0 || (depth === 1 && sign === '(' && part === '')) continue
        part += /^(--|\/\*)/.test(sign) ? ' ' : sign
        continue
      }
      part = part.trim()
      if (/\bas\s*\(/i.test(part)) return none
      if (!/^(constraint|primary|unique|check|foreign)\b/i.test(part)) {
        if (/\sinteger\s+(?:constraint\s+\S+\s+)?primary\s+key\b(?!\s+desc\b)/i.test(part)) key = columns.length
        const [name = ''] = /^(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|[^\s("'`[]+)/.exec(part) ?? []
        columns.push(/^["'`[]/.test(name) ? name.slice(1, -1) : name)
      }
      part = ''
      if (depth === 0) break
    }
    return { columns, key }
  }

  const longestValue = 80
  /** So much of a text as is told of it: from its beginning, or from shortly before where it differs from another. */
  const cutOut = (value: string, other: string | undefined, most: number): { part: string; from: number } => {
    let same = 0
    if (other !== undefined) while (same < value.length && value[same] === other[same]) same++
    const from = same < most - 20 || value.length <= most ? 0 : same - 20
    return { part: value.slice(from, from + most), from }
  }
  const shown = (value: unknown, other?: unknown): string => {
    if (value === null) return 'NULL'
    if (value instanceof Uint8Array) {
      let from = 0
      if (other instanceof Uint8Array) while (from < value.length && value[from] === other[from]) from++
      if (from < 8 || from === value.length) from = 0
      let hex = ''
      for (const byte of value.subarray(from, from + 8)) hex += byte.toString(16).padStart(2, '0')
      const begin = from === 0 ? ' ' : `, from byte ${from + 1} on: `
      return `blob of ${value.length} bytes${begin}${hex}${value.length > from + 8 ? '…' : ''}`
    }
    if (typeof value !== 'string') return String(value)
    if (value.length <= longestValue) return JSON.stringify(value)
    const { part, from } = cutOut(value, typeof other === 'string' ? other : undefined, longestValue)
    return `${from > 0 ? '…' : ''}${JSON.stringify(part)}${from + part.length < value.length ? '…' : ''} (${value.length} characters)`
  }
  const isSame = (one: Row, other: Row): boolean => one.length === other.length && one.every((byte, at) => byte === other[at])

  return (before, after, limits) => {
    const [was, is] = [read(before, limits.rows), read(after, limits.rows)]
    const rows: string[] = []
    let more = 0
    const tell = (row: string): void => {
      if (rows.length < limits.told) rows.push(row.slice(0, limits.longest))
      else more++
    }
    const isRecoded = was.encoding !== is.encoding
    const both = <T>(one: Map<string, T>, other: Map<string, T>): string[] =>
      [...new Set([...one.keys(), ...other.keys()])].sort()
    if (was.head.size > 0)
      for (const [name, now] of is.head) {
        const old = was.head.get(name)
        if (old === now) continue
        tell(`- ${name} = ${old}`)
        tell(`+ ${name} = ${now}`)
      }
    for (const name of both(was.schema, is.schema)) {
      const [old, now] = [was.schema.get(name), is.schema.get(name)]
      if (old === now) continue
      const plain = (text: string | undefined): string | undefined => text?.replace(/\s+/g, ' ')
      const sql = (text: string, other: string | undefined): string => {
        const { part, from } = cutOut(text, other, 300)
        return `${from > 0 ? '…' : ''}${part}${from + part.length < text.length ? `… (${text.length} characters)` : ''}`
      }
      if (old !== undefined) tell(`- ${name}: ${sql(plain(old) ?? '', plain(now))}`)
      if (now !== undefined) tell(`+ ${name}: ${sql(plain(now) ?? '', plain(old))}`)
    }
    const nothing: Table = { name: '', columns: [], key: -1, count: 0, rows: new Map(), byNumber: true }
    for (const name of both(was.tables, is.tables)) {
      const [old, now] = [was.tables.get(name) ?? nothing, is.tables.get(name) ?? nothing]
      if (!old.rows || !now.rows) {
        tell(`- ${name}: ${old.count} rows, too many to compare`)
        tell(`+ ${name}: ${now.count} rows, too many to compare`)
        continue
      }
      const line = (table: Table, key: string, row: Row, of: Read, other?: Cell[]): string => {
        const cells = cellsOf(row, of.decoder)
        const beside = other?.length === cells.length && !isRecoded ? other : []
        let said = `${name}${table.byNumber ? ` row ${key}` : ''}: `
        const begin = said.length
        let [told, left] = [0, 0]
        for (const [at, { type, bytes, value }] of cells.entries()) {
          const there = beside[at]
          if (there?.type === type && isSame(there.bytes, bytes)) continue
          const text = value === null && at === table.key ? key : shown(value, there?.value)
          const cell = `${told === 0 ? '' : ', '}${table.columns[at] ?? `column ${at + 1}`} = ${text}`
          // Those for which there is no room are counted, so that none can stand in front of another unseen.
          if (left > 0 || (told > 0 && said.length - begin + cell.length > limits.longest - begin - 40)) left++
          else {
            said += cell
            told++
          }
        }
        return left === 0 ? said : `${said}, … and ${left} more columns`
      }
      for (const [key, row] of old.rows) {
        const later = now.rows.get(key)
        if (later && isSame(row, later) && !isRecoded) continue
        if (!later) tell(`- ${line(old, key, row, was)}`)
        else {
          tell(`- ${line(old, key, row, was, cellsOf(later, is.decoder))}`)
          tell(`+ ${line(now, key, later, is, cellsOf(row, was.decoder))}`)
        }
      }
      for (const [key, row] of now.rows) if (!old.rows.has(key)) tell(`+ ${line(now, key, row, is)}`)
    }
    return { rows, more, wal: is.wal }
  }
}

/** Known by its own first bytes. */
export const isDatabase = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 16) === 'SQLite format 3\0'
