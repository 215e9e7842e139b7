/** What the listener itself shuts somebody out for: by another name than ours, from somebody else's page, or with a credential that is none. */
export type RejectedBy = 'Host' | 'Origin' | 'token'

export interface RejectedRequest {
  by: RejectedBy
  /** How often it happened since the last one that was told. */
  untold?: number
}

const everyMs = 600_000

/** Tells the first of each kind at once, and then one in ten minutes: whoever tries all day leaves a trace, and fills no log. */
export function openRejectedRequests(
  tell: (one: RejectedRequest) => void,
  now = (): number => performance.now(),
): (by: RejectedBy) => void {
  const kinds = new Map<RejectedBy, { toldAt: number; untold: number }>()
  return (by) => {
    const known = kinds.get(by)
    if (known && now() - known.toldAt < everyMs) return void known.untold++
    kinds.set(by, { toldAt: now(), untold: 0 })
    tell({ by, ...(known && known.untold > 0 && { untold: known.untold }) })
  }
}
