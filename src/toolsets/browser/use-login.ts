import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { oneLine } from '../../text/printable.ts'
import { defineTool } from './use.ts'

export const useLogin = defineTool({
  name: 'use_login',
  title: 'Use a saved login',
  description:
    'Lets this client use a login that was saved: its browser session, as it is known at its sites. A person is asked each time. Runs that name such a session begin with it.',
  // An account is touched.
  risk: 'R3',
  input: Type.Object({ session: Type.String({ minLength: 1, maxLength: 100 }) }, closed),
  output: Type.Object({ site: Type.String(), sessionId: Type.String() }, closed),
  faults: ['session-not-found', 'trust-level'],
  examples: [],
  card: ({ session }, { logins }) => {
    const saved = logins.get(session)
    return {
      title: saved ? `Use the login saved for ${oneLine(saved.site, 200)}` : 'Use a saved login',
      changes: [],
      notes: [
        'Pages are then opened as the one who signed in there, by this client and no other, until you remove the login: handrail logins remove.',
        ...(saved ? [`Saved ${new Date(saved.savedAt).toISOString()}, used last ${new Date(saved.usedAt).toISOString()}.`] : []),
      ],
    }
  },
  execute({ session }, { logins, trustOf }, call) {
    const saved = trustOf(call.client) === 'remote' ? undefined : logins.admit(session, call.session)
    if (saved) return { site: saved.site, sessionId: saved.id }
    throw notSaved(session)
  },
})

function notSaved(id: string): Fault {
  return new Fault('session-not-found', 'There is no such session of the browser', {
    details: { sessionId: id.slice(0, 100) },
    hint: 'It was removed, or was not used for long. Sign in again.',
  })
}
