import { validatorOf } from '../text/validator.ts'

/** Templates there are at a time, and some that were. */
const mostKnown = 500
const known = new Map<string, object>()

/** A run brings its template as it was handed in, as text each time: schemas that are the same are compiled once. */
export function validatorFor(schema: object): ReturnType<typeof validatorOf> {
  const text = JSON.stringify(schema)
  const same = known.get(text) ?? schema
  known.delete(text)
  known.set(text, same)
  if (known.size > mostKnown) known.delete(known.keys().next().value as string)
  return validatorOf(same)
}
