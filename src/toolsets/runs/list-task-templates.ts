import Type from 'typebox'
import { AnyObject, closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

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
            inputsSchema: AnyObject(),
            outputsSchema: AnyObject(),
            exampleInputs: AnyObject(),
            trustLevelSupport: Type.Array(Type.String()),
            executionMode: Type.String(),
            supportsPartialSuccess: Type.Boolean(),
            partialSuccessThreshold: Type.Number(),
            limits: Type.Record(Type.String(), Type.Number()),
            from: Type.Optional(
              Type.Enum(['handrail', 'person', 'project'], {
                type: 'string',
                description:
                  'Whose it is: it comes with Handrail, the person keeps it, or the project brings it and the person trusted it',
              }),
            ),
          },
          closed,
        ),
      ),
      ignored: Type.Optional(
        Type.Object(
          { ignored: Type.Integer({ minimum: 1 }), says: Type.String() },
          { ...closed, description: 'What the project brings and nobody trusted: it cannot be run' },
        ),
      ),
    },
    closed,
  ),
  faults: [],
  examples: [{ says: 'what there is', input: {}, output: {} }],
  async execute(_, { runsApi }) {
    const at = await runsApi()
    const ignored = at.ignoredTemplates()
    return { templates: (await at.templates()) as never, ...(ignored && { ignored }) }
  },
})
