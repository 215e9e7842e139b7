import Type from 'typebox'
import { Ack, closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const attemptCompletion = defineTool({
  name: 'attempt_completion',
  title: 'Say that it is done',
  description: 'Tell the person that the task is done and what came of it. It is kept with the session.',
  risk: 'R0',
  input: Type.Object({ result: Type.String({ minLength: 1 }) }, { ...named('attempt_completion', 'request'), ...closed }),
  output: Ack,
  errors: [],
  examples: [{ says: 'a finished scene', input: { result: 'Wrote beach_date.txt with two endings.' }, output: { ack: true } }],
  private: ['result'],
  execute({ result }, { note }, call) {
    note({ session: call.session, kind: 'completion', text: result, at: Date.now() })
    return { ack: true }
  },
})
