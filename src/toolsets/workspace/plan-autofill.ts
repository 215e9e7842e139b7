import Type from 'typebox'
import { PatchPlan, PatchPreview } from '../../contracts/anchors.ts'
import { AnyObject, closed } from '../../contracts/shapes.ts'
import { factoriesOf, FactoryInput } from './factories.ts'
import { defineTool, parserFor } from './use.ts'

export const planAutofill = defineTool({
  name: 'plan_autofill',
  title: 'Plan to fill in what definitions lack',
  description:
    'Work out which fields definitions lack that their factory names as fields, and plan to add them; nothing is changed. What the author declared, be it empty, is never touched. apply_patch_plan carries the plan out.',
  risk: 'R0',
  input: Type.Object({ path: Type.Optional(Type.String({ maxLength: 4_096 })), ...FactoryInput }, closed),
  output: Type.Object({ plan: PatchPlan, preview: PatchPreview, changes: Type.Array(AnyObject()) }, closed),
  faults: ['path-denied', 'not-found', 'bad-input', 'too-large', 'busy', 'unsupported', 'io'],
  examples: [
    {
      says: 'nothing to fill in',
      given: { 'cart.ts': `import { defineStore } from 'pinia'\nexport const useCart = defineStore('cart', {})\n` },
      input: {},
      output: { changes: [] },
    },
  ],
  waits: true,
  touches: ({ path = '.' }) => [{ path, access: 'read' }],
  async execute({ path = '', ...wanted }, { files, sources, known }, call) {
    const { autofill } = await import('./anchors/autofill.ts')
    return autofill(files, parserFor(sources, call), await factoriesOf(wanted), {
      folder: files.normal(path),
      signal: call.signal,
      known,
    })
  },
})
