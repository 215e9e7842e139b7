import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { pageFaults, Tab } from './page.ts'
import { defineTool } from './use.ts'

export const pageTabs = defineTool({
  name: 'page_tabs',
  title: 'Tabs',
  description: 'Lists the tabs of this session, makes one the current one, or closes one. page_navigate with newTab opens one.',
  risk: 'R0',
  input: Type.Object(
    { action: Type.Optional(Type.Enum(['list', 'select', 'close'], { type: 'string', default: 'list' })), tab: Tab },
    closed,
  ),
  output: Type.Object(
    {
      tabs: Type.Array(
        Type.Object({ id: Type.String(), url: Type.String(), title: Type.String(), active: Type.Boolean() }, closed),
      ),
    },
    closed,
  ),
  faults: ['bad-input', 'session-not-found', ...pageFaults.filter((one) => one !== 'session-not-found')],
  examples: [],
  developer: true,
  waits: true,
  async execute({ action = 'list', tab }, { tabs }, { session }) {
    if (action !== 'list' && tab === undefined)
      throw new Fault('bad-input', 'Which tab?', { hint: 'Give its id; the list has it.' })
    if (action === 'select') await tabs.select(session, tab as string)
    if (action === 'close') await tabs.closeTab(session, tab as string)
    return { tabs: await tabs.list(session) }
  },
})
