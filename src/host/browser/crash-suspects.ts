/** Which of two browsers somebody's pages are opened in. */
export type Which = 'usual' | 'apart'

/** Nobody is suspected for longer than this after the last crash that was seen with them. */
const rememberedMs = 1_800_000
const mostGroups = 50
const mostInGroup = 200

export interface CrashSuspects {
  /** A browser ended by itself while these had pages in it. */
  crashed(holders: Iterable<string>): void
  whichFor(holder: string | undefined): Which
}

/** One of them has ended a browser. */
interface Group {
  suspects: string[]
  at: number
}

/**
 * A browser that ends does not say whose page it was. Whoever was there is suspected; one half of them is kept apart from the other and
 * from everybody else, so that the next crash says in which half the cause is. In a few crashes it is alone.
 */
export function openCrashSuspects(now: () => number = () => performance.now()): CrashSuspects {
  let groups: Group[] = []
  const forget = (): void => {
    groups = groups.filter(({ at }) => now() - at <= rememberedMs).slice(-mostGroups)
  }
  return {
    crashed(holders) {
      forget()
      const there = new Set(holders)
      if (there.size === 0) return
      const among = ({ suspects }: Group): number => suspects.filter((one) => there.has(one)).length
      // Somebody who is known to do it explains it; else whoever was suspected already and was there again.
      const known = groups.find((one) => one.suspects.length === 1 && among(one) === 1)
      const likely = known ?? groups.filter((one) => among(one) > 0).toSorted((one, other) => among(other) - among(one))[0]
      if (likely) {
        likely.suspects = likely.suspects.filter((one) => there.has(one))
        likely.at = now()
      } else groups.push({ suspects: [...there].slice(0, mostInGroup), at: now() })
    },
    whichFor(holder) {
      if (holder === undefined || groups.length === 0) return 'usual'
      forget()
      const isApart = ({ suspects }: Group): boolean => {
        const place = suspects.indexOf(holder)
        return place !== -1 && place < Math.max(1, suspects.length / 2)
      }
      return groups.some(isApart) ? 'apart' : 'usual'
    },
  }
}
