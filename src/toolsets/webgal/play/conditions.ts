import { stringsIn, variablesIn } from '../checks/expressions.ts'

/** Values that make a condition true, as far as it is made of plain comparisons joined by `&&`; nothing where it is not. */
export function opening(condition: string): { key: string; value: string }[] | undefined {
  const found: { key: string; value: string }[] = []
  for (const part of condition.split('&&')) {
    const bare = part
      .trim()
      .replace(/^\((.*)\)$/, '$1')
      .trim()
    const [, not = '', alone] = /^(!?)\s*([\p{L}_][\p{L}\p{N}_]*)$/u.exec(bare) ?? []
    const [, key, sign, raw] = /^([\p{L}_][\p{L}\p{N}_]*)\s*(==|!=|>=|<=|>|<)\s*(.+)$/u.exec(bare) ?? []
    if (alone !== undefined) found.push({ key: alone, value: not === '' ? 'true' : 'false' })
    else if (key !== undefined && sign !== undefined && raw !== undefined) {
      const value = satisfying(sign, raw.trim())
      if (value === undefined) return undefined
      found.push({ key, value })
    } else return undefined
  }
  return found.length > 0 ? found : undefined
}

function satisfying(sign: string, raw: string): string | undefined {
  const word = /^(["'`])(.*)\1$/.exec(raw)?.[2] ?? (/^[\p{L}\p{N}_.-]+$/u.test(raw) ? raw : undefined)
  if (word === undefined || /[;\n\r]/.test(word)) return undefined
  if (sign === '==' || sign === '>=' || sign === '<=') return word
  if (sign === '!=')
    return word === 'true'
      ? 'false'
      : word === 'false'
        ? 'true'
        : Number.isNaN(Number(word))
          ? `${word}x`
          : String(Number(word) + 1)
  if (Number.isNaN(Number(word))) return undefined
  return String(Number(word) + (sign === '>' ? 1 : -1))
}

const mostValues = 6

/** What a player may write so that conditions on it are true, once each, and something that none asks for. */
export function answersFor(variable: string, conditions: readonly string[]): string[] {
  const values = new Set<string>()
  for (const condition of conditions) {
    if (!variablesIn(condition).includes(variable) && !condition.replace(stringsIn, ' ').includes(variable)) continue
    for (const part of condition.split(/&&|\|\|/)) {
      const value = opening(part)?.find(({ key }) => key === variable)?.value
      if (value !== undefined && values.size < mostValues) values.add(value)
    }
  }
  return [...values, 'A']
}
