import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'
import { sitesOf, Url } from './visit.ts'

export const allowSites = defineTool({
  name: 'allow_sites',
  title: 'Visit sites',
  description:
    'Asks the person once about all sites that a task will visit and that they have not allowed yet. Visits nothing. Sites that are allowed are not asked about.',
  risk: 'R0',
  input: Type.Object({ urls: Type.Array(Url, { minItems: 1, maxItems: 1_000 }) }, closed),
  output: Type.Object({ sites: Type.Integer({ minimum: 0, description: 'How many different ones' }) }, closed),
  faults: [],
  examples: [
    { says: 'a page of this machine needs no asking', input: { urls: ['http://localhost:3000/'] }, output: { sites: 1 } },
  ],
  touches: ({ urls }) => sitesOf(urls),
  card: ({ urls }) => ({ title: urls.length === 1 ? 'Visit a site' : `Visit ${urls.length} pages`, changes: [], notes: [] }),
  execute: ({ urls }) => ({ sites: sitesOf(urls).length }),
})
