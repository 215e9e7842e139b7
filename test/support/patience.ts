/**
 * How long something that must come is waited for, before a test says that it did not: no measure of anything, only shorter than a test may
 * take, so that it ends with what was waited for. On a busy machine a test is late, not wrong.
 */
export const patienceMs = 150_000
