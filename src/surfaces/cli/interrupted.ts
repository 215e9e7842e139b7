/** The person pressed Ctrl-C at a question: the command ends, quietly, as a program does that was interrupted. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}
