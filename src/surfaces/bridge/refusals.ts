import type { Reason } from '../../contracts/faults/fault.ts'

/** A request that was turned away here, before anything of it was a call. Nothing in it was said by somebody who showed nothing. */
export interface Refused {
  connection: string
  reason: Reason
  requestId?: string
  method?: string
  /** Others that were not told of since the last one. */
  untold?: number
}

const most = 30
const windowMs = 60_000

/** Of each connection the first of each reason, and of all of them so many a minute: nobody fills the log by being refused. */
export function openRefusals(
  tell: (refused: Refused) => void,
  now = (): number => performance.now(),
): { refuse(refused: Refused): void; forget(connection: string): void } {
  const told = new Map<string, Set<Reason>>()
  let began = now()
  let count = 0
  let untold = 0
  return {
    refuse(refused) {
      const { connection, reason } = refused
      const known = told.get(connection) ?? new Set()
      told.set(connection, known)
      if (now() - began > windowMs) [began, count] = [now(), 0]
      if (known.has(reason) || count >= most) return void untold++
      known.add(reason)
      count++
      tell({ ...refused, ...(untold > 0 && { untold }) })
      untold = 0
    },
    forget: (connection) => void told.delete(connection),
  }
}
