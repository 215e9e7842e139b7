import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

const schema = Type.Record(Type.String(), Type.Unknown())

export const listTaskTemplates = defineTool({
  name: 'list_task_templates',
  title: 'List task templates',
  description:
    'What run_task_template can do here: each template with the schemas of its inputs and results, its version and limits.',
  risk: 'R0',
  input: Type.Object({}, closed),
  output: Type.Object(
    {
      templates: Type.Array(
        Type.Object(
          {
            templateId: Type.String(),
            version: Type.String(),
            name: Type.String(),
            description: Type.String(),
            inputsSchema: schema,
            outputsSchema: schema,
            exampleInputs: Type.Unknown(),
            trustLevelSupport: Type.Array(Type.String()),
            executionMode: Type.String(),
            supportsPartialSuccess: Type.Boolean(),
            partialSuccessThreshold: Type.Number(),
            limits: Type.Record(Type.String(), Type.Number()),
          },
          closed,
        ),
      ),
    },
    closed,
  ),
  faults: [],
  examples: [{ says: 'what there is', input: {}, output: {} }],
  execute: async (_, { desk }) => ({ templates: (await (await desk()).templates()) as never }),
})
