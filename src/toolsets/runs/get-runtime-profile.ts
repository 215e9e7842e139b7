import Type from 'typebox'
import { RuntimeProfile } from '../../contracts/run.ts'
import { closed } from '../../contracts/shapes.ts'
import { defineTool, originOf } from './use.ts'

export const getRuntimeProfile = defineTool({
  name: 'get_runtime_profile',
  title: 'Limits of runs',
  description: 'How many runs at once, how long they may take, and how long they and their artifacts are kept.',
  risk: 'R0',
  input: Type.Object({}, closed),
  output: RuntimeProfile,
  faults: [],
  examples: [
    {
      says: 'what is in force',
      input: {},
      output: { maxConcurrentRuns: 5, syncTimeoutMs: 300_000, asyncTimeoutMs: 600_000, trustLevel: 'local', isRemote: false },
    },
  ],
  execute: async (_, { runsApi }, call) => (await runsApi()).profile(originOf(call)),
})
