/** Who works beside whom, where all of them share the same processors. */
export interface Turns {
  /** Waits for a turn, though never longer than anybody's patience; says how to give it back. */
  take(): Promise<() => void>
}

/**
 * So many at once, first come, first served. Who has waited for `patienceMs` goes on all the same: one that hangs takes nobody's turn for long,
 * and this only keeps them from slowing each other down.
 */
export function openTurns(most: number, patienceMs: number): Turns {
  let taken = 0
  const waiting = new Set<() => void>()
  const giveBack = (): void => {
    taken--
    const [next] = waiting
    if (next && taken < most) next()
  }
  return {
    async take() {
      if (taken >= most)
        await new Promise<void>((resolve) => {
          const goOn = (): void => {
            clearTimeout(late)
            waiting.delete(goOn)
            resolve()
          }
          const late = setTimeout(goOn, patienceMs)
          waiting.add(goOn)
        })
      taken++
      let isGiven = false
      return () => {
        if (!isGiven) giveBack()
        isGiven = true
      }
    },
  }
}
