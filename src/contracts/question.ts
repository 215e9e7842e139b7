/** Something an agent wants to know of the person, in words; see `ask_followup_question`. */
export interface Question {
  id: string
  session: string
  client: string
  text: string
  /** Answers to choose from; another one may be given all the same. */
  options: string[]
  askedAt: number
  answer?: string
  answeredBy?: string
  answeredAt?: number
}
