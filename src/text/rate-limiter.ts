/** Lets through `perSecond` on average and `burst` at once. */
export function openRateLimiter(perSecond: number, burst: number): { take(): boolean } {
  let left = burst
  let at = performance.now()
  return {
    take() {
      const now = performance.now()
      left = Math.min(burst, left + ((now - at) / 1_000) * perSecond)
      at = now
      if (left < 1) return false
      left -= 1
      return true
    },
  }
}
