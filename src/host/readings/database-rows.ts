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
}

/**
 * Reads SQLite files by their format, as far as rows of tables go, and says what comes, goes and changes. It is handed to a thread as source, and must
 * not refer to anything outside itself. It reads bytes and nothing else: no SQL of the file is run, no trigger, view, extension or second file is
 * touched, each page is looked at once, and whatever does not fit the format makes it give up.
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
    schema: Map<string, string>
    tables: Map<string, Table>
    wal: boolean
    decoder: (bytes: Uint8Array) => string
  }
  const broken = (): never => {
    throw new Error('no such database')
  }

  const read = (bytes: Uint8Array, most: number): Read => {
    const utf8 = new TextDecoder('utf-8')
    const empty: Read = { schema: new Map(), tables: new Map(), wal: false, decoder: (some) => utf8.decode(some) }
    if (bytes.length === 0) return empty
    if (bytes.length < 512 || utf8.decode(bytes.subarray(0, 16)) !== 'SQLite format 3\0') broken()
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const stated = view.getUint16(16)
    const pageSize = stated === 1 ? 65_536 : stated
    const usable = pageSize - (bytes[20] ?? 0)
    if (pageSize < 512 || (pageSize & (pageSize - 1)) !== 0 || usable < 480) broken()
    const encodings = ['utf-8', 'utf-8', 'utf-16le', 'utf-16be']
    const text = new TextDecoder(encodings[view.getUint32(56)] ?? broken())
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
      for (let page = pages.pop(); page !== undefined; page = pages.pop()) {
        const start = pageAt(page)
        const head = start + (page === 1 ? 100 : 0)
        const kind = bytes[head]
        if (kind !== 2 && kind !== 5 && kind !== 10 && kind !== 13) broken()
        const isIndex = kind === 2 || kind === 10
        const isInner = kind === 2 || kind === 5
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
    walk(1, (_, bytesOf) => {
      const [type, name, , root, sql] = valuesOf(bytesOf, decoder)
      if (found.length > 10_000) broken()
      found.push({ type: String(type), name: String(name), root: Number(root), sql: typeof sql === 'string' ? sql : '' })
    })
    const tables = new Map<string, Table>()
    let left = most
    for (const { type, name, root, sql } of found) {
      if (type !== 'table' || !(root > 1)) continue
      const table: Table = { name, ...columnsOf(sql), count: 0, rows: new Map(), byNumber: true }
      walk(root, (number, bytesOf) => {
        table.count++
        if (number === undefined) table.byNumber = false
        if (--left < 0) table.rows = undefined
        table.rows?.set(number ?? keyOf(bytesOf), bytesOf)
      })
      tables.set(name, table)
    }
    const wal = bytes[18] === 2 || bytes[19] === 2
    return { schema: new Map(found.map(({ type, name, sql }) => [`${type} ${name}`, sql])), tables, wal, decoder }
  }

  const keyOf = (row: Row): string => {
    let key = ''
    for (let at = 0; at < row.length; at += 8_192) key += String.fromCharCode(...row.subarray(at, at + 8_192))
    return key
  }

  /** The values of one row, as its own head says they lie. */
  const valuesOf = (row: Row, decoder: (bytes: Uint8Array) => string): unknown[] => {
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
    const [headEnd, begin] = numberAt(0)
    if (headEnd > row.length) broken()
    const values: unknown[] = []
    let body = headEnd
    for (let at = begin; at < headEnd && values.length < 2_000;) {
      const [type, next] = numberAt(at)
      at = next
      const length = type >= 12 ? Math.floor((type - 12) / 2) : ([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][type] ?? 0)
      if (body + length > row.length) broken()
      if (type === 0) values.push(null)
      else if (type === 8 || type === 9) values.push(type - 8)
      else if (type <= 6) values.push(integer(body, length))
      else if (type === 7) values.push(view.getFloat64(body))
      else if (type >= 13 && type % 2 === 1) values.push(decoder(row.subarray(body, body + length)))
      else values.push(row.subarray(body, body + length))
      body += length
    }
    return values
  }

  /** Names of columns, by what made the table; where that is beyond this, by their places. */
  const columnsOf = (sql: string): { columns: string[]; key: number } => {
    const open = sql.indexOf('(')
    const columns: string[] = []
    let key = -1
    if (open < 0 || sql.length > 65_536 || /\bwithout\s+rowid\b/i.test(sql)) return { columns, key }
    let [depth, from, quote] = [0, open + 1, '']
    for (let at = open; at < sql.length; at++) {
      const sign = sql[at] as string
      if (quote !== '') {
        if (sign === quote) quote = ''
      } else if (sign === '"' || sign === "'" || sign === '`' || sign === '[') quote = sign === '[' ? ']' : sign
      else if (sign === '(') depth++
      else if (sign === ')') depth--
      if (quote === '' && ((sign === ',' && depth === 1) || depth === 0)) {
        const part = sql.slice(from, at).trim()
        const [, quoted, plain] = /^(?:["'`[]([^"'`\]]+)["'`\]]|([^\s("'`[]+))/.exec(part) ?? []
        if (!/^(constraint|primary|unique|check|foreign)\b/i.test(part)) {
          if (/\sinteger\s+(?:constraint\s+\S+\s+)?primary\s+key\b(?!\s+desc\b)/i.test(part)) key = columns.length
          columns.push(quoted ?? plain ?? '')
        }
        from = at + 1
      }
      if (depth === 0) break
    }
    return { columns, key }
  }

  const shown = (value: unknown): string => {
    if (value === null) return 'NULL'
    if (value instanceof Uint8Array) {
      let hex = ''
      for (const byte of value.subarray(0, 8)) hex += byte.toString(16).padStart(2, '0')
      return `blob of ${value.length} bytes ${hex}${value.length > 8 ? '…' : ''}`
    }
    if (typeof value !== 'string') return String(value)
    return value.length > 80 ? `${JSON.stringify(value.slice(0, 80))}… (${value.length} characters)` : JSON.stringify(value)
  }
  const isSame = (one: Row, other: Row): boolean => one.length === other.length && one.every((byte, at) => byte === other[at])

  return (before, after, limits) => {
    const [was, is] = [read(before, limits.rows), read(after, limits.rows)]
    const rows: string[] = []
    let more = 0
    const tell = (row: string): void => {
      if (rows.length < limits.told) rows.push(row)
      else more++
    }
    const both = <T>(one: Map<string, T>, other: Map<string, T>): string[] =>
      [...new Set([...one.keys(), ...other.keys()])].sort()
    for (const name of both(was.schema, is.schema)) {
      const [old, now] = [was.schema.get(name), is.schema.get(name)]
      if (old === now) continue
      const sql = (text: string): string => text.replace(/\s+/g, ' ').slice(0, 300)
      if (old !== undefined) tell(`- ${name}: ${sql(old)}`)
      if (now !== undefined) tell(`+ ${name}: ${sql(now)}`)
    }
    const nothing: Table = { name: '', columns: [], key: -1, count: 0, rows: new Map(), byNumber: true }
    for (const name of both(was.tables, is.tables)) {
      const [old, now] = [was.tables.get(name) ?? nothing, is.tables.get(name) ?? nothing]
      if (!old.rows || !now.rows) {
        tell(`- ${name}: ${old.count} rows, too many to compare`)
        tell(`+ ${name}: ${now.count} rows, too many to compare`)
        continue
      }
      const line = (table: Table, key: string, row: Row, of: Read, other?: unknown[]): string => {
        const values = valuesOf(row, of.decoder)
        const cells = values.flatMap((value, at) => {
          const told = value === null && at === table.key ? key : shown(value)
          const beside = other === undefined || other.length !== values.length ? undefined : shown(other[at])
          return beside === shown(value) ? [] : [`${table.columns[at] ?? `column ${at + 1}`} = ${told}`]
        })
        return `${name}${table.byNumber ? ` row ${key}` : ''}: ${cells.join(', ')}`
      }
      for (const [key, row] of old.rows) {
        const later = now.rows.get(key)
        if (later && isSame(row, later)) continue
        if (!later) tell(`- ${line(old, key, row, was)}`)
        else {
          tell(`- ${line(old, key, row, was, valuesOf(later, is.decoder))}`)
          tell(`+ ${line(now, key, later, is, valuesOf(row, was.decoder))}`)
        }
      }
      for (const [key, row] of now.rows) if (!old.rows.has(key)) tell(`+ ${line(now, key, row, is)}`)
    }
    return { rows, more, wal: is.wal }
  }
}

/** Known by its own first bytes. */
export const isDatabase = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 16) === 'SQLite format 3\0'
