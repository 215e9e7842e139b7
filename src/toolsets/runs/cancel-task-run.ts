import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const cancelTaskRun = defineTool({
  name: 'cancel_task_run',
  title: 'Cancel a run',
  description:
    'Stops a run, wherever it is carried out. What it changed before can be undone. A run that has ended is left as it is: success false, with the reason.',
  risk: 'R1',
  input: Type.Object({ runId: Type.String({ minLength: 1, maxLength: 100 }) }, closed),
  output: Type.Object({ success: Type.Boolean(), runId: Type.String(), reason: Type.Optional(Type.String()) }, closed),
  faults: ['run-not-found'],
  examples: [],
  async execute({ runId }, { runsApi }, call) {
    return { runId, ...(await (await runsApi()).cancel(runId, call.caller.client)) }
  },
})
