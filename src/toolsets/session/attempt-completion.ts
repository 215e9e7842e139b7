import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { Ack, closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

/** It is kept and shown to the person; what is longer belongs into a file. */
const longest = 200_000

export const attemptCompletion = defineTool({
  name: 'attempt_completion',
  title: 'Say that it is done',
  description: 'Tell the person that the task is done and what came of it. It is kept with the session.',
  risk: 'R0',
  input: Type.Object({ result: Type.String({ minLength: 1 }) }, { ...named('attempt_completion', 'request'), ...closed }),
  output: Ack,
  faults: ['too-large'],
  examples: [{ says: 'a finished scene', input: { result: 'Wrote beach_date.txt with two endings.' }, output: { ack: true } }],
  private: ['result'],
  contents: ['result'],
  execute({ result }, { note }, call) {
    if (result.length > longest)
      throw new Fault('too-large', `A result may have ${longest} characters; this one has ${result.length}`, {
        hint: 'Say what came of it in short; put long text into a file.',
      })
    note({ session: call.session, kind: 'completion', text: result, at: Date.now() })
    return { ack: true }
  },
})
