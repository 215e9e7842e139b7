import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { within, pageFaults, Tab, leaveFor, Where } from './page.ts'
import { defineTool, isNear } from './use.ts'
import { isSameSite, sitesOf, Url, webAddress } from './visit.ts'

export const pageNavigate = defineTool({
  name: 'page_navigate',
  title: 'Go to a page',
  description:
    'Sends a tab to an address and waits until the page stops changing. Pages of this machine are opened at once; a site outside is asked about first. Then use page_snapshot to see what can be acted on, or page_extract to read.',
  risk: 'R0',
  input: Type.Object({ url: Url, tab: Tab, newTab: Type.Optional(Type.Boolean({ default: false })) }, closed),
  output: Type.Object(
    { ...Where, status: Type.Integer(), settled: Type.Boolean({ description: 'Whether it stopped changing' }) },
    closed,
  ),
  faults: ['bad-input', 'busy', ...pageFaults],
  examples: [],
  developer: true,
  waits: true,
  touches: ({ url }) => sitesOf([url]),
  execute({ url, tab, newTab = false }, use, call) {
    const { host, url: address } = webAddress(url)
    if (use.trustOf(call.client) === 'remote' && isNear(host))
      throw new Fault('policy', `Address not allowed: ${address.href.slice(0, 200)}`, {
        hint: 'Callers from another machine reach the internet only, nothing of this machine or its network.',
      })
    return use.tabs.withTab({ ...within(use, call), host, isNew: newTab, ...(tab !== undefined && { tab }) }, async (open) => {
      open.last = ''
      const leave = leaveFor(open, use, call)
      const mayVisit = (asked: string): boolean => isSameSite(asked, host) || leave.mayVisit(asked)
      const { status, settled } = await open.tab.go(address.href, { ...leave, mayVisit })
      const title = await open.tab.inspect(() => open.tab.page.title())
      return { tab: open.id, url: open.tab.page.url(), title: title.slice(0, 300), status, settled }
    })
  },
})
