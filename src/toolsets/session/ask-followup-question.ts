import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

/** More than anybody would read in a form. */
const longest = 10_000

export const askFollowupQuestion = defineTool({
  name: 'ask_followup_question',
  title: 'Ask the person',
  description:
    'Put a question to the person. Where the client can show it, the reply holds their answer; otherwise it is kept with the session: the answer comes in the conversation, or in the reply to the same question asked again later.',
  risk: 'R0',
  input: Type.Object(
    {
      question: Type.String({ minLength: 1 }),
      options: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
          maxItems: 10,
          description: 'Answers to choose from; the person may give another',
        }),
      ),
    },
    { ...named('ask_followup_question', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      ack: Type.Boolean({ const: true }),
      answer: Type.Optional(Type.String({ description: 'What the person answered.' })),
    },
    closed,
  ),
  faults: ['too-large', 'over-limit'],
  examples: [
    {
      says: 'a choice between routes',
      input: { question: 'Should the beach scene come before the festival?' },
      output: { ack: true },
    },
  ],
  private: ['question', 'options'],
  contents: ['question', 'options'],
  asks: ({ question, options = [] }) => ({ text: question, options }),
  execute({ question, options = [] }, { note, ask }, call) {
    if (question.length > longest)
      throw new Fault('too-large', `A question may have ${longest} characters; this one has ${question.length}`, {
        hint: 'Ask about one thing at a time; put long text into a file.',
      })
    note({ session: call.session, kind: 'question', text: question, at: Date.now() })
    const { caller, session } = call
    const { answer } = ask({ session, client: caller.client, text: question, options }, call.answer)
    return { ack: true, ...(answer !== undefined && { answer }) }
  },
})
