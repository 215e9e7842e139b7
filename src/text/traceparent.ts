const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The place in a caller's trace, in the one form of W3C Trace Context that there is; nothing where it is anything else. */
export const traceparentOf = (value: unknown): string | undefined =>
  typeof value === 'string' && form.test(value) ? value : undefined
