import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { act, Acted, pageFaults, Tab } from './page.ts'
import { defineTool, readPage } from './use.ts'

const lookEveryMs = 200

export const pageWait = defineTool({
  name: 'page_wait',
  title: 'Wait for a page',
  description:
    'Waits until a page shows some text, no longer shows it, or is at an address that holds some text; without any of them until it stops changing. Answers what changed.',
  risk: 'R0',
  input: Type.Object(
    {
      text: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
      gone: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
      url: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 120_000, default: 10_000 })),
      tab: Tab,
    },
    closed,
  ),
  output: Acted,
  faults: ['timeout', ...pageFaults],
  examples: [],
  developer: true,
  waits: true,
  execute: ({ text, gone, url, timeoutMs = 10_000, tab }, use, call) =>
    act({ tab, waitsMs: timeoutMs }, use, call, async ({ tab: { page } }) => {
      const until = performance.now() + timeoutMs
      const has = (said: string, words: string | undefined): boolean => words === undefined || said.includes(words)
      for (;;) {
        call.signal.throwIfAborted()
        const needsText = text !== undefined || gone !== undefined
        const said = needsText ? (await readPage(page, { maxChars: 1_000_000, timeoutMs: use.timeoutMs })).markdown : ''
        if (has(said, text) && !(gone !== undefined && said.includes(gone)) && has(page.url(), url)) return
        if (performance.now() > until)
          throw new Fault('timeout', `It did not come to that within ${timeoutMs} ms`, {
            details: { url: page.url().slice(0, 2_000) },
            hint: (name) => `${name('page_snapshot')} shows what the page shows now.`,
          })
        await page.waitForTimeout(lookEveryMs)
      }
    }),
})
