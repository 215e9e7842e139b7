/** What no value of a setting is longer or larger than. */

/** Longer than any name, address or path that somebody reads to its end. */
export const entry = { maxLength: 1_000 } as const
export const text = { maxLength: 4_096 } as const
export const list = { maxItems: 1_000 } as const
export const whole = { maximum: Number.MAX_SAFE_INTEGER } as const
/** Milliseconds. No timer runs longer: one that is asked to is over at once. */
export const time = { maximum: 2_147_483_647 } as const
/** A hundred years: what counts until then ends at a date there is. */
export const lifetime = { maximum: 3_153_600_000_000 } as const
