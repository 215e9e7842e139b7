/** Something of which there are only so many, and whose it is. */
export interface Place {
  peer: string
  usedAt: number
}

export function byPeer<P extends { peer: string }>(places: Iterable<P>): Map<string, P[]> {
  const held = new Map<string, P[]>()
  for (const place of places) {
    const mine = held.get(place.peer)
    if (mine) mine.push(place)
    else held.set(place.peer, [place])
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
export function whoGivesWay<P extends Place>(places: Iterable<P>, newcomer: string): P | undefined {
  const held = byPeer(places)
  const most = largest(held.values())
  if (most.length <= (held.get(newcomer)?.length ?? 0)) return undefined
  return most.reduce((one, other) => (other.usedAt < one.usedAt ? other : one))
}
