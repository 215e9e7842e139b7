/** Something that takes one of a bounded number of slots, and whose it is. */
export interface SlotHolder {
  peer: string
  usedAt: number
}

/** What the system does not tell of who calls: see `host/peer.ts`. */
const nobodyKnown = /^connection /

/**
 * Who has one share of what there is. Whoever hides counts as one with all others who do: a process that nobody can tell from others would
 * otherwise have as many shares as it opens connections, and whoever does not hide would hold most.
 */
export function holderOf(peer: string): string {
  return nobodyKnown.test(peer) ? 'unknown process' : peer
}

export function byHolder<P extends { peer: string }>(places: Iterable<P>): Map<string, P[]> {
  const held = new Map<string, P[]>()
  for (const place of places) {
    const holder = holderOf(place.peer)
    const mine = held.get(holder)
    if (mine) mine.push(place)
    else held.set(holder, [place])
  }
  return held
}

/** What the one who holds most has. */
export function largest<P>(shares: Iterable<P[]>): P[] {
  let most: P[] = []
  for (const share of shares) if (share.length > most.length) most = share
  return most
}

/**
 * Who gives way where every place is taken: of the process that holds most of them, the one it used longest ago. Nobody does for a newcomer
 * that holds as many itself.
 */
export function chooseVictim<P extends SlotHolder>(places: Iterable<P>, newcomer: string): P | undefined {
  const held = byHolder(places)
  const most = largest(held.values())
  if (most.length <= (held.get(holderOf(newcomer))?.length ?? 0)) return undefined
  return most.reduce((one, other) => (other.usedAt < one.usedAt ? other : one))
}
