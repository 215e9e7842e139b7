import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { pageFaults, Text } from './page.ts'
import { defineTool, readPage } from './use.ts'
import { mustBePage, sitesOf, Url, withPage } from './visit.ts'

/** More than anybody reads in a terminal; what is beyond is said. */
const mostChars = 2_000_000

export const browsePage = defineTool({
  name: 'browse_page',
  title: 'Read a page',
  description: 'What a page says, as an agent would read it, for a person at the command line.',
  risk: 'R0',
  input: Type.Object({ url: Url, main: Type.Optional(Type.Boolean()), linkIds: Type.Optional(Type.Boolean()) }, closed),
  output: Type.Object({ url: Type.String(), title: Type.String(), status: Type.Integer(), ...Text }, closed),
  faults: ['bad-input', ...pageFaults],
  examples: [],
  waits: true,
  audience: 'person',
  touches: ({ url }) => sitesOf([url]),
  execute: ({ url, main = false, linkIds = false }, use, call) =>
    withPage({ url }, use, call, async (leased, address) => {
      const arrival = await leased.go(address)
      await mustBePage(arrival, leased, call)
      const reading = await readPage(leased.page, { main, linkIds, maxChars: mostChars, timeoutMs: use.timeoutMs })
      const { markdown, title, next, totalChars, dropped, digest } = reading
      const more = next !== undefined && { next }
      const text = { text: markdown, untrusted: true as const, ...more, totalChars, dropped: { ...dropped }, digest }
      return { url: arrival.url, title, status: arrival.status, ...text }
    }),
})
