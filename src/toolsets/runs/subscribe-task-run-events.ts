import Type from 'typebox'
import { RunEvent } from '../../contracts/run.ts'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const subscribeTaskRunEvents = defineTool({
  name: 'subscribe_task_run_events',
  title: 'Events of a run',
  description:
    'What happened to a run after a cursor, and the address of it as a resource: subscribe to that to be told of news, then ask on from cursor.',
  risk: 'R0',
  input: Type.Object(
    {
      runId: Type.String({ minLength: 1, maxLength: 100 }),
      after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
    },
    closed,
  ),
  output: Type.Object({ uri: Type.String(), cursor: Type.Integer({ minimum: 0 }), events: Type.Array(RunEvent) }, closed),
  faults: ['run-not-found'],
  examples: [],
  execute: async ({ runId, after = 0 }, { runsApi }) => (await runsApi()).events(runId, after),
})
