import Type from 'typebox'
import { PatchPlan, PatchPreview, TransformDelta } from '../../contracts/anchors.ts'
import { AnyObject, closed } from '../../contracts/shapes.ts'
import { factoriesOf, FactoryInput } from './factories.ts'
import { defineTool, parserFor } from './use.ts'

export const planTransform = defineTool({
  name: 'plan_transform',
  title: 'Plan changes of object literals',
  description:
    'Plan to add properties to object literals in TypeScript sources, named by file and constant or id; nothing is changed. What is declared already is left as it is. apply_patch_plan carries the plan out.',
  risk: 'R0',
  input: Type.Object({ deltas: Type.Array(TransformDelta, { maxItems: 200 }), ...FactoryInput }, closed),
  output: Type.Object({ plan: PatchPlan, preview: PatchPreview, ops: Type.Array(AnyObject()) }, closed),
  faults: ['path-denied', 'bad-input', 'too-large', 'busy', 'unsupported', 'io'],
  examples: [
    {
      says: 'one property',
      given: { 'a.ts': 'export const limits = { files: 3 }\n' },
      input: {
        deltas: [{ target: { file: 'a.ts', exportName: 'limits' }, ops: [{ op: 'addProperty', name: 'bytes', value: '10' }] }],
      },
      output: { ops: [{ file: 'a.ts', op: 'addProperty', path: 'bytes', status: 'planned' }] },
    },
  ],
  waits: true,
  touches: ({ deltas }) => deltas.map(({ target }) => ({ path: target.file, access: 'read' as const })),
  async execute({ deltas, ...wanted }, { files, sources }, call) {
    const { transform } = await import('./anchors/transform.ts')
    return transform(files, parserFor(sources, call), await factoriesOf(wanted), deltas, call.signal)
  },
})
