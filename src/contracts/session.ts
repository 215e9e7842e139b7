export interface Session {
  id: string
  surface: string
  client: string
  startedAt: number
  lastAt: number
}

/** Something an agent said to the person: a question, or that it is done. */
export interface SessionNote {
  session: string
  kind: 'question' | 'completion'
  text: string
  at: number
}
