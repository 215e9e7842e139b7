import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { act, Acted, Element, pageFaults, Submit, Tab } from './page.ts'
import { targetOf } from './page-target.ts'
import { chooseIn, defineTool, withoutSending } from './use.ts'

export const pageSelect = defineTool({
  name: 'page_select',
  title: 'Choose from a list',
  description:
    'Chooses from a list of a page, by what it shows or by value, and answers what changed. Nothing is sent unless submit is true, and the person is asked first.',
  risk: ({ submit }) => (submit ? 'R2' : 'R1'),
  input: Type.Object(
    {
      element: Element,
      values: Type.Array(Type.String({ maxLength: 1_000 }), { minItems: 1, maxItems: 100 }),
      tab: Tab,
      submit: Submit,
    },
    closed,
  ),
  output: Acted,
  faults: ['bad-input', 'conflict', 'element-not-found', 'page-script', ...pageFaults],
  examples: [],
  developer: true,
  waits: true,
  target: targetOf,
  card: ({ element, values, submit }) => ({
    title: submit ? `Choose in ${element} on a page and send what comes of it` : `Choose in ${element} on a page`,
    changes: [],
    notes: [`Chosen: ${JSON.stringify(values)}`, ...(submit ? ['What a page sends cannot be taken back.'] : [])],
  }),
  execute: (input, use, call) =>
    act(input, use, call, ({ tab: { page } }) =>
      withoutSending(page, input.submit === true, () => chooseIn(page, input.element, input.values)),
    ),
})
