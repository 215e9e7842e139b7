import { foldPath } from '../fold-name.ts'
import type { RunRow } from './row.ts'

/** Finds the first row that fits a path. Most names are looked up; only what has a `*` in odd places is compared. */
export function firstFit(rows: readonly RunRow[]): (path: string) => RunRow | undefined {
  /** By the whole last name, by its ending from some dot on, by the name of a folder above, by the whole path. */
  const tables = { name: new Map<string, number>(), ending: new Map<string, number>(), above: new Map<string, number>() }
  const whole = new Map<string, number>()
  const odd: { row: number; files: string[] }[] = []
  rows.forEach((row, index) => {
    const rest: string[] = []
    const note = (table: Map<string, number>, key: string): void => {
      if (!table.has(key)) table.set(key, index)
    }
    for (const file of row.files.toLowerCase().split(' ').flatMap(expand)) {
      if (!isAnywhere(row, file)) {
        if (file.includes('*')) rest.push(file)
        else note(whole, file)
      } else if (/^[^*/]+$/.test(file)) note(tables.name, file)
      else if (/^\*\.[^*/]+$/.test(file)) note(tables.ending, file.slice(1))
      else if (/^[^*/]+\/\*\*$/.test(file)) note(tables.above, file.slice(0, -3))
      else rest.push(file)
    }
    if (rest.length) odd.push({ row: index, files: rest })
  })
  const compared = odd.map(({ row, files }) => ({ row, fits: compile({ ...(rows[row] as RunRow), files: files.join(' ') }) }))
  const any = new RegExp(compared.map(({ fits }) => fits.source).join('|'), 's')

  return (path) => {
    const folded = foldPath(path)
    const names = folded.split('/')
    const last = names.pop() as string
    const found = [whole.get(folded), tables.name.get(last), ...names.map((name) => tables.above.get(name))]
    for (let dot = last.indexOf('.'); dot >= 0; dot = last.indexOf('.', dot + 1)) found.push(tables.ending.get(last.slice(dot)))
    if (any.test(folded)) found.push(compared.find(({ fits }) => fits.test(folded))?.row)
    const first = Math.min(...found.map((one) => one ?? Infinity))
    return rows[first]
  }
}

/** A row as one expression over folded paths. */
export function compile(row: RunRow): RegExp {
  const each = row.files.split(' ').flatMap(expand)
  const those = (files: string[]): string => files.map((file) => pattern(file.toLowerCase())).join('|')
  const [anywhere, top] = [each.filter((file) => isAnywhere(row, file)), each.filter((file) => !isAnywhere(row, file))]
  const source = [...(anywhere.length ? [`(?:^|/)(?:${those(anywhere)})$`] : []), ...(top.length ? [`^(?:${those(top)})$`] : [])]
  return new RegExp(`(?:${source.join('|')})`, 's')
}

const isAnywhere = ({ depth }: RunRow, file: string): boolean => depth !== 'R' || file.startsWith('.')

/** `a{b,c}` as `ab` and `ac`; an alternative may be empty. */
export function expand(file: string): string[] {
  const [found, before = '', inside = '', after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/s.exec(file) ?? []
  return found === undefined ? [file] : inside.split(',').flatMap((one) => expand(before + one + after))
}

function pattern(file: string): string {
  return file
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*/g, (star) => (star === '**/' ? '(?:.*/)?' : star === '**' ? '.+' : '[^/]*'))
}
