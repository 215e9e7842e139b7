import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { act, Acted, Element, pageFaults, Submit, Tab } from './page.ts'
import { targetOf } from './page-target.ts'
import { clickElement, defineTool, withoutSending } from './use.ts'

export const pageClick = defineTool({
  name: 'page_click',
  title: 'Click',
  description:
    'Clicks an element of a page by its id and answers what changed. Where the click would send a form, or scripts would send something, nothing is sent unless submit is true, and the person is asked first.',
  // A page has a profile of its own that is thrown away. What was sent cannot be taken back.
  risk: ({ submit }) => (submit ? 'R2' : 'R1'),
  input: Type.Object({ element: Element, tab: Tab, submit: Submit }, closed),
  output: Acted,
  faults: ['conflict', 'element-not-found', 'page-script', ...pageFaults],
  examples: [],
  developer: true,
  waits: true,
  target: targetOf,
  card: ({ element, submit }) => ({
    title: submit ? `Click ${element} on a page and send its form` : `Click ${element} on a page`,
    changes: [],
    notes: submit ? ['What a form sends cannot be taken back.'] : [],
  }),
  execute: (input, use, call) =>
    act(input, use, call, ({ tab: { page } }) =>
      withoutSending(page, input.submit === true, () => clickElement(page, input.element)),
    ),
})
