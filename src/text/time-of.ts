import { Fault } from '../contracts/faults/fault.ts'

const dayMs = 86_400_000

/** A date or time in words, in milliseconds. A date alone is all of that day. */
export function timeOf(text: string | undefined, isEnd: boolean): number | undefined {
  if (text === undefined) return undefined
  const at = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new Fault('bad-input', `No date or time: ${text}`, { hint: 'As 2026-11-18, or 2026-11-18T09:00:00Z.' })
  return isEnd && /^\d{4}-\d\d-\d\d$/.test(text) ? at + dayMs - 1 : at
}
