import type { RunOrigin, TrustLevel } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'

/** Whoever comes from another machine is remote; on this one a process must show the project's token. */
export function levelOf({ peer }: Pick<RunOrigin, 'peer'>): TrustLevel {
  const address = peer?.startsWith('address ') ? peer.slice('address '.length) : undefined
  return address === undefined || /^(127\.|::1$|::ffff:127\.|$)/.test(address) ? 'local' : 'remote'
}

export const trustOf = ({ trust }: Template): TrustLevel[] => [...(trust ?? ['local'])]
