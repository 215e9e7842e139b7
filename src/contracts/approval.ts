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
  /** The call that asks, and goes on after the answer. */
  call?: string
  /** A word for whoever asks, whatever sessions they open: questions are counted by it. */
  asker?: string
  /** Whether the card shows all it asks for. */
  whole: boolean
  createdAt: number
  expiresAt: number
  decidedAt?: number
  decidedBy?: string
  note?: string
}

/** A question without what is shown of it, for lists: however large a card is, this is small. */
export interface ApprovalHead extends Omit<Approval, 'card' | 'input'> {
  card: { title: string; changes: { path: string }[]; count: number }
}

/** Which of many: the newest that came before `before`, at most `limit`. */
export interface Page {
  limit?: number
  before?: string
}

/** A part of the full text of one change. */
export interface TextPart {
  text: string
  /** Where the next part starts; absent at the end. */
  next?: number
  /** Every line begins with its sign: what goes, what comes. Without, it is a text as it will be. */
  signed?: true
  /** The sign of the line in the middle of which this part begins. */
  within?: string
}

export interface Decision {
  approve: boolean
  by: string
  note?: string
  /** The person's own choice to agree to what the card does not show. */
  unread?: boolean
}
