import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { act, Acted, Element, pageFaults, Submit, Tab } from './page.ts'
import { targetOf } from './page-target.ts'
import { defineTool, typeInto, withoutSending } from './use.ts'

export const pageType = defineTool({
  name: 'page_type',
  title: 'Type',
  description:
    'Puts text into a field of a page in the place of what it holds, and answers what changed. With submit it then presses Enter, which may send the form: the person is asked first. Dates are written as 2026-01-31.',
  risk: ({ submit }) => (submit ? 'R2' : 'R1'),
  input: Type.Object({ element: Element, text: Type.String({ maxLength: 100_000 }), tab: Tab, submit: Submit }, closed),
  output: Acted,
  faults: ['conflict', 'element-not-found', 'page-script', ...pageFaults],
  examples: [],
  // It may be a password.
  private: ['text'],
  developer: true,
  waits: true,
  target: targetOf,
  card: ({ element, text, submit }) => ({
    title: submit ? `Type into ${element} on a page and send its form` : `Type into ${element} on a page`,
    changes: [],
    notes: [`${text.length} characters are typed.`, ...(submit ? ['What a form sends cannot be taken back.'] : [])],
  }),
  execute: (input, use, call) =>
    act(input, use, call, ({ tab: { page } }) =>
      withoutSending(page, input.submit === true, async () => {
        await typeInto(page, input.element, input.text)
        if (input.submit) await page.keyboard.press('Enter')
      }),
    ),
})
