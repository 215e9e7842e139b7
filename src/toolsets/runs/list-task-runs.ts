import Type from 'typebox'
import { RunHeadShape, runBounds, runStatuses } from '../../contracts/run.ts'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const listTaskRuns = defineTool({
  name: 'list_task_runs',
  title: 'List runs',
  description: 'Runs of this project, newest first, without their results. total counts all that fit the filters.',
  risk: 'R0',
  input: Type.Object(
    {
      status: Type.Optional(Type.Enum([...runStatuses], { type: 'string' })),
      templateId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: runBounds.listLimit })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
    },
    closed,
  ),
  output: Type.Object({ runs: Type.Array(RunHeadShape), total: Type.Integer({ minimum: 0 }), hasMore: Type.Boolean() }, closed),
  faults: [],
  examples: [{ says: 'nothing was handed in yet', input: {}, output: { runs: [], total: 0 } }],
  async execute({ status, templateId, limit, offset = 0 }, { runsApi }, call) {
    const { runs, total } = await (await runsApi()).list({ status, templateId, limit, offset }, call)
    return { runs, total, hasMore: offset + runs.length < total }
  },
})
