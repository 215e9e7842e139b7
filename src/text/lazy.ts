/**
 * Made when it is first asked for. Patterns that name classes of letters (`\p{…}`) take tables of Unicode to be made: together they were the dearest
 * part of a start, and most commands meet no letter that they are for.
 */
export function lazy<T>(make: () => T): () => T {
  let made: { it: T } | undefined
  return () => (made ??= { it: make() }).it
}
