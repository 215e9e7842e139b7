import { lazy } from './lazy.ts'

/** What a terminal obeys or does not show, and `JSON.stringify` leaves as it is: C1 controls, marks of direction, what is invisible. */
const unseen = lazy(() => /[\x7f-\x9f\u2028\u2029]|\p{Cf}|\p{Default_Ignorable_Code_Point}/gu)

/** JSON as it is printed: the same value for whoever parses it, and nothing in it that a terminal would act on. */
export function terminalJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(unseen(), (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}
