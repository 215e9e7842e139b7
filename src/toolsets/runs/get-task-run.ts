import Type from 'typebox'
import { RunShape } from '../../contracts/run.ts'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const getTaskRun = defineTool({
  name: 'get_task_run',
  title: 'Look at a run',
  description:
    'How far a run is and what came of it. result and error are null before its end; a large result is a summary, and get_artifact has all of it.',
  risk: 'R0',
  input: Type.Object({ runId: Type.String({ minLength: 1, maxLength: 100 }) }, closed),
  output: RunShape,
  faults: ['run-not-found'],
  examples: [],
  execute: async ({ runId }, { runsApi }, call) => (await runsApi()).get(runId, call),
})
