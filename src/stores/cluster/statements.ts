const argumentsOf = (types: string): string[] => types.split(' ')

/** A function of the schema, asked once with a value for each of its arguments. */
export function oneOf(name: string, types: string, columns: string): string {
  const marks = argumentsOf(types).map((_, at) => `$${at + 1}`)
  return `SELECT ${columns} FROM handrail.${name}(${marks.join(', ')})`
}

/** The same for many in one statement, in their order; each argument is a list with the value of each. `first` goes before it. */
export function manyOf(name: string, types: string, columns: string, first = ''): string {
  const all = argumentsOf(types)
  const lists = all.map((type, at) => `$${at + 1}::${type}[]`).join(', ')
  const names = all.map((_, at) => `a${at}`).join(', ')
  const given = all.map((_, at) => `e.a${at}`).join(', ')
  return `${first}SELECT ${columns} FROM unnest(${lists}) WITH ORDINALITY AS e (${names}, at_place)
    CROSS JOIN LATERAL handrail.${name}(${given}) AS x ORDER BY e.at_place`
}

/** Rows as the lists that `manyOf` takes. */
export function listsOf(rows: readonly (readonly unknown[])[]): unknown[] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]))
}
