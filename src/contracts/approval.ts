import type { Card, Risk } from './tool.ts'

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'used' | 'void'

/** A question to a person, bound to one exact call on one exact state of the world. */
export interface Approval {
  id: string
  state: ApprovalState
  tool: string
  risk: Risk
  /** Digest of the tool and its exact input. */
  inputDigest: string
  /** Digest of the state of everything it touches, when the card was made. */
  stateDigest: string
  card: Card
  /** The input, with private fields reduced to size and digest. */
  input: unknown
  session: string
  surface: string
  client: string
  createdAt: number
  expiresAt: number
  decidedAt?: number
  decidedBy?: string
  note?: string
}

export interface Decision {
  approve: boolean
  by: string
  note?: string
}
