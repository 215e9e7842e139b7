import Type from 'typebox'
import { AnchorIndex } from '../../contracts/anchors.ts'
import { closed } from '../../contracts/shapes.ts'
import { factoriesOf, FactoryInput } from './factories.ts'
import { defineTool, parserFor } from './use.ts'

export const anchorIndex = defineTool({
  name: 'anchor_index',
  title: 'Index what the sources define',
  description:
    'List the routes, schemas, stores, tests and stories that the TypeScript sources define, with their ids and places. Only calls of known factories with a literal id and an object written out in place are entries; what is not is in rawMode, with the reason, and no tool edits it. Nothing is run.',
  risk: 'R0',
  input: Type.Object(
    { path: Type.Optional(Type.String({ maxLength: 4_096, description: 'A folder. Default: the project.' })), ...FactoryInput },
    closed,
  ),
  output: AnchorIndex,
  faults: ['path-denied', 'not-found', 'bad-input', 'busy', 'unsupported', 'io'],
  examples: [
    {
      says: 'a store',
      given: {
        'cart.ts': `import { defineStore } from 'pinia'\nexport const useCart = defineStore('cart', { state: () => ({}) })\n`,
      },
      input: { presets: ['store'] },
      output: { kind: 'AnchorIndex', rawMode: [] },
    },
  ],
  waits: true,
  touches: ({ path = '.' }) => [{ path, access: 'read' }],
  async execute({ path = '', ...wanted }, { files, sources, known }, call) {
    const { indexSources } = await import('./anchors/index-sources.ts')
    return indexSources(files, parserFor(sources, call), await factoriesOf(wanted), {
      folder: files.normal(path),
      known,
      signal: call.signal,
      onProgress: (done, total) => call.progress(done, total),
    })
  },
})
