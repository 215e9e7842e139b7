import type { Card, Touch } from '../contracts/tool.ts'

/** The sites a call sends pages to that the person has not allowed, each once, in order. */
export function newSites(touches: readonly Touch[], mayVisit: (host: string) => boolean): string[] {
  const hosts = new Set(touches.flatMap((touch) => ('host' in touch ? [touch.host] : [])))
  return [...hosts].filter((host) => !mayVisit(host)).sort()
}

/** All of them stand on the card: whoever agrees has read where pages go. */
export function tellSites(card: Card, sites: readonly string[]): Card {
  if (sites.length === 0) return card
  const named = sites.length === 1 ? 'This site' : `These ${sites.length} sites`
  const notes = [
    `${named} would be visited, and learn what is in the addresses: ${sites.join(', ')}.`,
    'You will not be asked again for them in this session. `handrail grants` takes it back.',
  ]
  return { ...card, notes: [...notes, ...(card.notes ?? [])] }
}
