/** An answer that is a no, thrown from anywhere while a request is looked at. */
export class Refusal extends Error {
  readonly status: number
  /** Where to go instead, for a 303. */
  readonly location: string | undefined
  constructor(status: number, message: string, location?: string) {
    super(message)
    this.status = status
    this.location = location
  }
}
