import { Fault } from '../contracts/faults/fault.ts'

/** What paths lead into. */
export type Scope = Readonly<Record<string, unknown>>

/** More values than any input or result has; what a template makes of its inputs must have an end. */
const mostValues = 100_000
const deepest = 40
const path = /^[A-Za-z_]\w{0,63}(\.\w{1,64}){0,15}$/

export const isPath = (text: string): boolean => path.test(text)

/** What stands at a path: own fields and places in lists, nothing that a language puts there by itself. */
export function at(scope: Scope, where: string): unknown {
  let value: unknown = scope
  for (const part of where.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

/** The path of `{"$": "inputs.file"}`. */
export function pathIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { $: where, ...rest } = value as { $?: unknown }
  return typeof where === 'string' && Object.keys(rest).length === 0 ? where : undefined
}

/** A value with what its paths lead to in their place. A field whose path leads nowhere is left out; in a list it is null. */
export function fillIn(value: unknown, scope: Scope): unknown {
  let left = mostValues
  const fill = (one: unknown, depth: number): unknown => {
    if (--left < 0 || depth > deepest)
      throw new Fault('over-limit', `A template made more than ${mostValues} values, or nested them deeper than ${deepest}`, {
        hint: 'Take fewer items, or less of each.',
      })
    const where = pathIn(one)
    if (where !== undefined) return at(scope, where)
    if (Array.isArray(one)) return one.map((entry) => fill(entry, depth + 1) ?? null)
    if (typeof one !== 'object' || one === null) return one
    const filled = Object.entries(one).map(([name, entry]) => [name, fill(entry, depth + 1)] as const)
    return Object.fromEntries(filled.filter(([, entry]) => entry !== undefined))
  }
  return fill(value, 0)
}

/** Every path in a value. */
export function pathsIn(value: unknown): string[] {
  const where = pathIn(value)
  if (where !== undefined) return [where]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(pathsIn) : []
}

/** Whether a value takes more characters as JSON than this. */
export const isLarger = (value: unknown, most: number): boolean => weightOf(value, most) > most

/** About how many characters a value takes as JSON; looks no further than it has to where that is more than `most`. */
export function weightOf(value: unknown, most: number): number {
  let left = most
  const weigh = (one: unknown): void => {
    if (left < 0) return
    if (typeof one === 'string') left -= one.length + 2
    else if (typeof one !== 'object' || one === null) left -= 5
    else if (Array.isArray(one)) for (const entry of one) weigh(entry)
    else
      for (const [name, entry] of Object.entries(one)) {
        left -= name.length + 4
        weigh(entry)
        if (left < 0) return
      }
    left -= 2
  }
  weigh(value)
  return most - left
}
