import Type from 'typebox'
import { Ack, closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const askFollowupQuestion = defineTool({
  name: 'ask_followup_question',
  title: 'Ask the person',
  description:
    'Put a question to the person. It is kept with the session for them to read; the answer comes in the conversation, not in this reply.',
  risk: 'R0',
  input: Type.Object({ question: Type.String({ minLength: 1 }) }, { ...named('ask_followup_question', 'request'), ...closed }),
  output: Ack,
  errors: [],
  examples: [
    {
      says: 'a choice between routes',
      input: { question: 'Should the beach scene come before the festival?' },
      output: { ack: true },
    },
  ],
  private: ['question'],
  execute({ question }, { note }, call) {
    note({ session: call.session, kind: 'question', text: question, at: Date.now() })
    return { ack: true }
  },
})
